package music

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
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
	g.POST("/settings/enrichment/:provider/retry", h.retry, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Sources) API(g *echo.Group) { g.GET("/enrichment", h.list) }

// notSetUp is the state of a source of facts without its settings.
const notSetUp = "off"

// SourceView is a source of facts.
type SourceView struct {
	Provider      string   `json:"provider"`
	DisplayName   string   `json:"display_name"`
	State         string   `json:"state"`
	Category      *string  `json:"category"` // of the failure that stands against it; nil without one
	Message       string   `json:"message"`
	NextAttemptAt *string  `json:"next_attempt_at"`
	Missing       []string `json:"missing_settings"`
	Total         int      `json:"total"`
	Asked         int      `json:"asked"`
	Done          int      `json:"done"`
	NotThere      int      `json:"not_there"`
	Waiting       int      `json:"waiting"`
	Failed        int      `json:"failed"`
	Retry         bool     `json:"-"` // "Try again" may change something
}

func (h *Sources) All(ctx context.Context) ([]SourceView, error) {
	views := []SourceView{}
	if h.enrichment == nil {
		return views, nil
	}
	progress, err := h.store.EnrichmentProgress(ctx)
	for _, source := range h.enrichment.Sources() {
		views = append(views, h.viewSource(source, progress[source.Provider.Name]))
	}
	return views, err
}

func (h *Sources) viewSource(source enrich.Source, p enrich.Progress) SourceView {
	v := SourceView{Provider: source.Provider.Name, DisplayName: source.Provider.DisplayName, Total: p.Total(),
		Asked: p.Asked(), Done: p.Done, NotThere: p.NotThere,
		Waiting: p.Waiting, Failed: p.Failed, Missing: []string{}}
	if source.Enricher == nil {
		v.State, v.Message, v.Missing = notSetUp, source.SettingUp, append(v.Missing, source.Missing...)
		return v
	}
	state, w := h.guard.StateForAll(source.Provider)
	v.Message, v.Retry = w.Message.String(), state.Kind == resilience.Stopped || state.Kind == resilience.Waiting ||
		p.PutOff > 0 && state.Kind == resilience.Ready
	v.Category = core.Text(state.Category.String())
	switch {
	case state.Kind == resilience.Stopped:
		v.State = string(syncer.NeedsAdmin)
	case state.Kind == resilience.Held:
		v.State, v.NextAttemptAt = string(syncer.Held), core.Moment(state.Until)
	case state.Kind == resilience.Waiting:
		v.State, v.NextAttemptAt = string(syncer.Waiting), core.Moment(state.Until)
	case h.enrichment.Running(v.Provider):
		v.State, v.Message = string(syncer.Syncing), source.Provider.DisplayName+" is being asked."
	case h.enrichment.Trouble(v.Provider) != "":
		v.State, v.Message, v.Retry = string(syncer.NeedsAdmin), h.enrichment.Trouble(v.Provider), true
		v.Category = core.Text(resilience.Unknown.String())
	default:
		v.State, v.Message = string(syncer.Healthy), idle(p)
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

// idle says why a source is not being asked now.
func idle(p enrich.Progress) string {
	switch {
	case p.Total() == 0:
		return "Nothing has been heard yet that it could be asked about."
	case !p.NextAt.IsZero() && !p.NextAt.After(time.Now()):
		return "It is asked in a moment."
	case p.PutOff == 1:
		return "It has been asked about everything else there is; one thing is put off because asking " +
			"about it failed."
	case p.PutOff > 1:
		return fmt.Sprintf("It has been asked about everything else there is; %d things are put off because "+
			"asking about them failed.", p.PutOff)
	}
	return "It has been asked about everything there is to ask it now."
}

func (h *Sources) list(c echo.Context) error {
	views, err := h.All(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"sources": views})
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
	said := p.DisplayName + " is being asked again."
	if held {
		said = p.DisplayName + " has asked us to wait until " + library.Stamp(state.Until) + ", and we do."
	}
	return h.core.Done(c, "/settings#enrichment", words.Plain(said))
}
