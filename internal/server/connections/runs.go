package connections

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// runs answers for the runs of a connection.
type runs struct {
	core     *core.Core
	store    Store
	statuses *Statuses
}

// Run is a run in the API and on pages.
type Run struct {
	Stream    string    `json:"stream" enum:"listens,playlists"`
	StartedAt core.Time `json:"started_at"`
	TookMS    int64     `json:"took_ms"`
	Rows      int       `json:"rows" doc:"New listens, or playlists read."`
	Result    string    `json:"result" enum:"ok,retriable,fatal"`
	Category  *string   `json:"category" doc:"Of the failure."`
	Words     *string   `json:"words" doc:"What went wrong, for a person."`
	Detail    *string   `json:"detail" doc:"What the provider said."`
	Name      string    `json:"-"` // of the stream
	Took      string    `json:"-"`
	Came      string    `json:"-"` // what it came to
	Outcome   string    `json:"-"` // as in ui.Slot
}

func viewRun(ctx context.Context, r library.Run) Run {
	v := Run{Stream: r.Stream, StartedAt: core.Stamp(r.Started), TookMS: r.Took.Milliseconds(), Rows: r.Rows,
		Result: r.Result, Category: core.Text(r.Category),
		Words: core.Text(r.Words.T(ctx)), Detail: core.Text(r.Detail), Took: core.Took(ctx, r.Took),
		Name: words.Each("part.", r.Stream).T(ctx), Outcome: r.Result, Came: cameTo(ctx, r)}
	switch {
	case r.Result == "ok" && r.Rows > 0:
		v.Outcome = "full"
	case r.Result == "ok":
		v.Outcome = "empty"
	}
	return v
}

// cameTo says what a run came to.
func cameTo(ctx context.Context, r library.Run) string {
	read, after := brought(ctx, map[string]int{r.Stream: r.Rows}), ""
	if r.Words.IsZero() {
		return read
	}
	switch r.Result {
	case "retriable":
		after = words.T(ctx, "run.ran_again")
	case "fatal":
		after = words.T(ctx, "run.waited")
	}
	if r.Rows > 0 {
		read = words.T(ctx, "run.after", "Trouble", r.Words, "Brought", read)
	} else {
		read = r.Words.T(ctx)
	}
	if after != "" {
		read += "; " + after
	}
	return read
}

// runsPart is the part of a connection's page about its runs.
type runsPart struct {
	From   time.Time
	Strips []dayOf
	Runs   []Run  // the newest
	All    string // address of the page of all; empty if these are all
}

// dayOf is the last day of a stream.
type dayOf struct {
	Name, Sum string
	Slots     []ui.Slot
}

// newestRuns is the number of runs on a connection's page.
const newestRuns = 30

// part returns the runs of a connection in the last 24 hours; nil if nothing is read there.
func (h *runs) part(ctx context.Context, st syncer.Status) (*runsPart, error) {
	if st.Reading == nil {
		return nil, nil
	}
	c := st.Connection
	from := dayStart(time.Now(), quarterHour)
	quarters, err := h.store.RunQuarters(ctx, c.User, c.ID, from)
	if err != nil {
		return nil, err
	}
	v := &runsPart{From: from}
	for _, s := range st.Streams {
		if s.Stream == library.Deliveries {
			continue
		}
		some := ofStream(quarters, s.Stream)
		v.Strips = append(v.Strips, dayOf{Name: words.Each("part.", s.Stream).T(ctx), Sum: runWords(ctx, some),
			Slots: slots(ctx, some, from, quarterHour)})
	}
	page, next, err := h.store.Runs(ctx, c.User, c.ID, from, "", newestRuns)
	v.Runs = core.ViewAll(page, func(r library.Run) Run { return viewRun(ctx, r) })
	if next != "" {
		v.All = "/connections/" + string(c.ID) + "/runs"
	}
	return v, err
}

// asked returns a connection and the page of its runs that a request selects.
func (h *runs) asked(c echo.Context) (v Connection, page []Run, next string, err error) {
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
	return v, core.ViewAll(all, func(r library.Run) Run { return viewRun(ctx, r) }), next, err
}

type listRunsRequest struct {
	core.ConnectionID
	core.Paged
}

type listRunsAnswer struct {
	Runs []Run   `json:"runs"`
	Next *string `json:"next" doc:"Cursor of the next page; null at the end."`
}

func (h *runs) api(c echo.Context, _ *listRunsRequest) (out listRunsAnswer, _ error) {
	_, all, next, err := h.asked(c)
	if err != nil {
		return out, err
	}
	return listRunsAnswer{Runs: all, Next: core.Text(next)}, nil
}

// runsView is the page of a connection's runs.
type runsView struct {
	Head  ui.Heading
	Runs  []Run
	Back  string // the connection's page
	Pages ui.Pages
}

func (h *runs) page(c echo.Context) error {
	ctx := c.Request().Context()
	v, all, next, err := h.asked(c)
	if err != nil {
		return err
	}
	page := runsView{Runs: all, Back: "/connections/" + v.ID}
	page.Head = ui.Heading{Title: words.T(ctx, "connection.runs_of_day"), Sub: v.DisplayName, Back: page.Back,
		BackTo: v.DisplayName}
	if c.QueryParam("before") != "" {
		page.Pages.Newest = c.Request().URL.Path
	}
	if next != "" {
		page.Pages.Earlier = c.Request().URL.Path + "?before=" + url.QueryEscape(next)
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "connection.runs_title", "Name", v.DisplayName), runsPage(page))
}
