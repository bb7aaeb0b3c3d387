package server

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
	syncer "reprise/internal/sync"
)

// EnrichmentStore is what pages and API read of what is known of the music.
type EnrichmentStore interface {
	EnrichmentProgress(context.Context) (map[string]enrich.Progress, error)
	Links(ctx context.Context, tracks []library.Track) ([]enrich.Links, error)
	Music(ctx context.Context, user int64, kind string, id int64) (enrich.Music, error)
}

// notSetUp is the state of a source of facts that the installation has not set up.
const notSetUp = "off"

// sourceView is a source of facts.
type sourceView struct {
	Provider      string   `json:"provider"`
	DisplayName   string   `json:"display_name"`
	State         string   `json:"state"`
	Message       string   `json:"message"`
	NextAttemptAt *string  `json:"next_attempt_at"`
	Missing       []string `json:"missing_settings,omitempty"`
	Total         int      `json:"total"`
	Asked         int      `json:"asked"`
	Done          int      `json:"done"`
	NotThere      int      `json:"not_there"`
	Waiting       int      `json:"waiting"`
	Failed        int      `json:"failed"`
	Retry         bool     `json:"-"` // "Try again" may change something
}

func (s *Server) sources(ctx context.Context) ([]sourceView, error) {
	views := []sourceView{}
	if s.Enrichment == nil {
		return views, nil
	}
	progress, err := s.Store.EnrichmentProgress(ctx)
	for _, source := range s.Enrichment.Sources() {
		views = append(views, s.viewSource(source, progress[source.Provider.Name]))
	}
	return views, err
}

func (s *Server) viewSource(source enrich.Source, p enrich.Progress) sourceView {
	v := sourceView{Provider: source.Provider.Name, DisplayName: source.Provider.DisplayName, Total: p.Total(), Asked: p.Asked(), Done: p.Done, NotThere: p.NotThere,
		Waiting: p.Waiting, Failed: p.Failed}
	if source.Enricher == nil {
		v.State, v.Message, v.Missing = notSetUp, source.SettingUp, source.Missing
		return v
	}
	state, words := s.Guard.StateForAll(source.Provider)
	v.Message, v.Retry = words.Message, state.Kind == resilience.Stopped || state.Kind == resilience.Waiting || p.PutOff > 0 && state.Kind == resilience.Ready
	switch {
	case state.Kind == resilience.Stopped:
		v.State = string(syncer.NeedsAdmin)
	case state.Kind == resilience.Held:
		v.State, v.NextAttemptAt = string(syncer.Held), moment(state.Until)
	case state.Kind == resilience.Waiting:
		v.State, v.NextAttemptAt = string(syncer.Waiting), moment(state.Until)
	case s.Enrichment.Running(v.Provider):
		v.State, v.Message = string(syncer.Syncing), source.Provider.DisplayName+" is being asked."
	case s.Enrichment.Trouble(v.Provider) != "":
		v.State, v.Message, v.Retry = string(syncer.NeedsAdmin), s.Enrichment.Trouble(v.Provider), true
	default:
		v.State, v.Message = string(syncer.Healthy), idle(p)
		switch {
		case !p.NextAt.After(time.Now()):
		case p.PutOff > 0:
			v.NextAttemptAt = moment(p.PutOffUntil)
		default:
			v.NextAttemptAt = moment(p.NextAt)
		}
	}
	return v
}

// idle says why a source is not being asked.
func idle(p enrich.Progress) string {
	switch {
	case p.Total() == 0:
		return "Nothing has been heard yet that it could be asked about."
	case !p.NextAt.IsZero() && !p.NextAt.After(time.Now()):
		return "It is asked in a moment."
	case p.PutOff == 1:
		return "It has been asked about everything else there is; one thing is put off because asking about it failed."
	case p.PutOff > 1:
		return fmt.Sprintf("It has been asked about everything else there is; %d things are put off because asking about them failed.", p.PutOff)
	}
	return "It has been asked about everything there is to ask it now."
}

func (s *Server) enrichmentAPI(c echo.Context) error {
	views, err := s.sources(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"sources": views})
}

func (s *Server) retryEnrichmentForm(c echo.Context) error {
	ctx := c.Request().Context()
	if s.Enrichment == nil {
		return httpProblem(http.StatusNotFound)
	}
	all := s.Enrichment.Sources()
	i := slices.IndexFunc(all, func(e enrich.Source) bool { return e.Provider.Name == c.Param("provider") && e.Enricher != nil })
	if i < 0 {
		return httpProblem(http.StatusNotFound)
	}
	p := all[i].Provider
	state, held := s.Guard.RetryForAll(ctx, p)
	if err := s.Enrichment.Retry(ctx, p.Name); err != nil {
		return err
	}
	said := p.DisplayName + " is being asked again."
	if held {
		said = p.DisplayName + " has asked us to wait until " + library.Stamp(state.Until) + ", and we do."
	}
	s.sessions.Put(ctx, flashKey, said)
	return c.Redirect(http.StatusSeeOther, "/settings#enrichment")
}
