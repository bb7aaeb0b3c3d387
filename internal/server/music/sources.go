package music

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// SourceStore is what Sources read.
type SourceStore interface {
	EnrichmentProgress(context.Context) (map[string]enrich.Progress, error)
}

// Sources answers for the sources of facts about music.
type Sources struct {
	core       *core.Core
	store      SourceStore
	enrichment *enrich.Runner
	guard      *syncer.Guard
}

// NewSources returns Sources. enrichment may be nil: there are none then.
func NewSources(k *core.Core, store SourceStore, enrichment *enrich.Runner, guard *syncer.Guard) *Sources {
	return &Sources{core: k, store: store, enrichment: enrichment, guard: guard}
}

// Pages adds the routes of the pages.
func (h *Sources) Pages(g *echo.Group) {
	g.POST("/settings/server/metadata/:provider/retry", h.retry, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Sources) API(a *core.API) {
	core.Get(a, "/enrichment", h.list, core.Call{
		ID:      "listEnrichmentSources",
		Summary: "The sources of facts and pictures, and their progress",
		Answer:  "In the order in which Reprise uses them.",
	})
}

// notSetUp is the state of a source of facts without its settings.
const notSetUp = "off"

// EnrichmentSource is a source of facts.
type EnrichmentSource struct {
	Provider      string         `json:"provider"`
	DisplayName   string         `json:"display_name"`
	State         string         `json:"state" enum:"healthy,syncing,waiting,held,needs_admin,off" doc:"Off when it is not set up."`
	Category      *string        `json:"category" doc:"Of the failure; null without one."`
	Message       string         `json:"message" doc:"A plain sentence."`
	NextAttemptAt core.MaybeTime `json:"next_attempt_at"`
	Missing       []string       `json:"missing_settings"`
	Total         int            `json:"total" doc:"How many entities there are to ask it about."`
	Asked         int            `json:"asked" doc:"How many it has answered for."`
	Done          int            `json:"done"`
	NotThere      int            `json:"not_there" doc:"How many it does not know."`
	Waiting       int            `json:"waiting"`
	Failed        int            `json:"failed" doc:"Postponed after a failure that concerns that one entity."`
	Retry         bool           `json:"-"` // "Try again" may change something
	Behind        bool           `json:"-"` // not all has been asked, and nothing is in the way
}

// All returns the sources of facts about music, with how far each has been asked.
func (h *Sources) All(ctx context.Context) ([]EnrichmentSource, error) {
	views := []EnrichmentSource{}
	if h.enrichment == nil {
		return views, nil
	}
	progress, err := h.store.EnrichmentProgress(ctx)
	for _, source := range h.enrichment.Sources() {
		views = append(views, h.viewSource(ctx, source, progress[source.Provider.Name]))
	}
	return views, err
}

func (h *Sources) viewSource(ctx context.Context, source enrich.Source, p enrich.Progress) EnrichmentSource {
	v := EnrichmentSource{Provider: source.Provider.Name, DisplayName: source.Provider.DisplayName, Total: p.Total(),
		Asked: p.Asked(), Done: p.Done, NotThere: p.NotThere,
		Waiting: p.Waiting, Failed: p.Failed, Missing: []string{}}
	if source.Enricher == nil {
		v.State, v.Message, v.Missing = notSetUp, source.SettingUp.T(ctx), append(v.Missing, source.Missing...)
		return v
	}
	state, w := h.guard.StateForAll(source.Provider)
	v.Message, v.Retry = w.Message.T(ctx), state.Kind == backoff.Stopped || state.Kind == backoff.Waiting ||
		p.PutOff > 0 && state.Kind == backoff.Ready
	v.Category = core.Text(state.Category.String())
	switch {
	case state.Kind == backoff.Stopped:
		v.State = string(syncer.NeedsAdmin)
	case state.Kind == backoff.Held:
		v.State, v.NextAttemptAt = string(syncer.Held), core.Moment(state.Until)
	case state.Kind == backoff.Waiting:
		v.State, v.NextAttemptAt = string(syncer.Waiting), core.Moment(state.Until)
	case h.enrichment.Running(v.Provider):
		v.State = string(syncer.Syncing)
		v.Message = words.T(ctx, "metadata.asking", "Service", source.Provider.DisplayName)
	case !h.enrichment.Trouble(v.Provider).IsZero():
		v.State, v.Message, v.Retry = string(syncer.NeedsAdmin), h.enrichment.Trouble(v.Provider).T(ctx), true
		v.Category = core.Text(resilience.Unknown.String())
	default:
		v.State, v.Message, v.Behind = string(syncer.Healthy), idle(p).T(ctx), behind(p)
		switch {
		case !p.NextAt.After(time.Now()):
		case p.PutOff > 0:
			v.NextAttemptAt = core.Moment(p.PutOffUntil)
		default:
			v.NextAttemptAt = core.Moment(p.NextAt)
		}
	}
	return v
}

// mark returns the state in a word. A source that nobody asks now is up to date only when all has been asked.
func (s EnrichmentSource) mark(ctx context.Context) ui.Mark {
	m := ui.StateMark(ctx, s.State)
	if s.State == string(syncer.Healthy) && s.Behind {
		m = ui.Mark{Shape: string(syncer.Syncing), Word: words.T(ctx, "metadata.idle.mark")}
	}
	return m
}

// behind reports whether there is something that the source is asked about next.
func behind(p enrich.Progress) bool {
	return p.Waiting > 0 && !p.NextAt.IsZero() && !p.NextAt.After(time.Now())
}

// idle says why a source is not being asked now.
func idle(p enrich.Progress) words.Text {
	switch {
	case p.Total() == 0:
		return words.New("metadata.idle.nothing")
	case behind(p):
		return words.New("metadata.idle.behind", "Count", p.Waiting)
	case p.PutOff > 0:
		return words.New("metadata.idle.put_off", "Count", p.PutOff)
	}
	return words.New("metadata.idle.done")
}

type listEnrichmentSourcesAnswer struct {
	Sources []EnrichmentSource `json:"sources"`
}

func (h *Sources) list(c echo.Context, _ *core.None) (out listEnrichmentSourcesAnswer, _ error) {
	views, err := h.All(c.Request().Context())
	if err != nil {
		return out, err
	}
	return listEnrichmentSourcesAnswer{Sources: views}, nil
}

func (h *Sources) retry(c echo.Context) error {
	ctx := c.Request().Context()
	if h.enrichment == nil {
		return core.HTTPProblem(http.StatusNotFound)
	}
	all := h.enrichment.Sources()
	i := slices.IndexFunc(all, func(e enrich.Source) bool {
		return e.Provider.Name == c.Param("provider") &&
			e.Enricher != nil
	})
	if i < 0 {
		return core.HTTPProblem(http.StatusNotFound)
	}
	p := all[i].Provider
	state, held := h.guard.RetryForAll(ctx, p)
	if err := h.enrichment.Retry(ctx, p.Name); err != nil {
		return err
	}
	if held {
		return h.core.Done(c, sourcesPage, words.New("problem.not_now.until", "Service", p.DisplayName,
			"Until", state.Until))
	}
	return h.core.Done(c, sourcesPage, words.New("metadata.again", "Service", p.DisplayName))
}

// sourcesPage is where administrators see the sources.
const sourcesPage = "/settings/server#enrichment"

// Part returns the sources as a part of a page; nothing if there are none.
func (h *Sources) Part(ctx context.Context) (templ.Component, error) {
	all, err := h.All(ctx)
	return sourcesPart(all), err
}

// next says when the source is asked next; empty if that is not known.
func (v EnrichmentSource) next(ctx context.Context) string {
	if v.NextAttemptAt.IsZero() {
		return ""
	}
	return ui.WithColon(ctx, words.T(ctx, "metadata.next")) + library.Stamp(v.NextAttemptAt.Time)
}
