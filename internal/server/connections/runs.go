package connections

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/providers"
	"reprise/internal/server/core"
)

// runs answers for the runs of a connection.
type runs struct {
	core     *core.Core
	store    Store
	statuses *Statuses
}

// runView is a run in the API and on pages.
type runView struct {
	Stream    string  `json:"stream"`
	StartedAt string  `json:"started_at"`
	TookMS    int64   `json:"took_ms"`
	Rows      int     `json:"rows"`
	Result    string  `json:"result"`
	Category  *string `json:"category"`
	Words     *string `json:"words"`
	Detail    *string `json:"detail"`
	Took      string  `json:"-"`
	Brought   string  `json:"-"`
	Outcome   string  `json:"-"` // as in cellView
}

func viewRun(ctx context.Context, r library.Run) runView {
	v := runView{Stream: r.Stream, StartedAt: library.Stamp(r.Started), TookMS: r.Took.Milliseconds(), Rows: r.Rows,
		Result: r.Result, Category: core.Text(r.Category),
		Words: core.Text(r.Words.T(ctx)), Detail: core.Text(r.Detail), Took: core.Took(r.Took),
		Brought: broughtBy(r.Stream, r.Rows), Outcome: r.Result}
	switch {
	case r.Result == "ok" && r.Rows > 0:
		v.Outcome = "full"
	case r.Result == "ok":
		v.Outcome = "empty"
	}
	return v
}

// runsPart is the part of a connection's page about its runs.
type runsPart struct {
	From   string
	Strips []stripView
	Runs   []runView // the newest
	More   bool
}

// newestRuns is the number of runs on a connection's page.
const newestRuns = 30

// part returns the runs of a connection in the last 24 hours; nil if nothing is read there.
func (h *runs) part(ctx context.Context, c library.Connection, p *providers.Provider) (*runsPart, error) {
	if len(p.Streams) == 0 {
		return nil, nil
	}
	from := time.Now().Truncate(metrics.QuarterLength).Add(-time.Duration(dayCells-1) * metrics.QuarterLength)
	quarters, err := h.store.RunQuarters(ctx, c.User, c.ID, from)
	if err != nil {
		return nil, err
	}
	v := &runsPart{From: library.Stamp(from), Strips: strips(p.Streams, quarters, from)}
	page, next, err := h.store.Runs(ctx, c.User, c.ID, from, "", newestRuns)
	v.Runs, v.More = core.ViewsFor(ctx, page, viewRun), next != ""
	return v, err
}

// asked returns a connection and the page of its runs that a request selects.
func (h *runs) asked(c echo.Context) (v View, page []runView, next string, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	id, _, err := h.core.Connection(c)
	if err != nil {
		return v, nil, "", err
	}
	if v, err = h.statuses.One(ctx, user, id); err != nil {
		return v, nil, "", err
	}
	n, err := core.Limit(c)
	if err != nil {
		return v, nil, "", err
	}
	all, next, err := h.store.Runs(ctx, user, id, time.Now().Add(-24*time.Hour), c.QueryParam("before"), n)
	return v, core.ViewsFor(ctx, all, viewRun), next, err
}

func (h *runs) api(c echo.Context) error {
	_, all, next, err := h.asked(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"runs": all, "next": core.Text(next)})
}

func (h *runs) page(c echo.Context) error {
	v, all, next, err := h.asked(c)
	if err != nil {
		return err
	}
	earlier := ""
	if next != "" {
		earlier = c.Request().URL.Path + "?before=" + url.QueryEscape(next)
	}
	return h.core.Render(c, http.StatusOK, "runs", v.DisplayName+", runs",
		map[string]any{"Connection": v, "Runs": all, "Earlier": earlier})
}
