package music

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
)

// filterOf returns the filter in the query of a request.
func filterOf(c echo.Context) (library.ListenFilter, error) {
	f := library.ListenFilter{User: core.UserOf(c).ID, Artist: strings.TrimSpace(c.QueryParam("artist"))}
	for name, at := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		text := c.QueryParam(name)
		if text == "" {
			continue
		}
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return f, &core.Problem{Status: http.StatusBadRequest, Title: "Not a time",
				Detail: "Write " + name + " like 2026-11-20T21:00:00Z. You get the listens from the time " +
					"in from up to, but not including, the time in to."}
		}
		*at = parsed.UTC().Truncate(time.Millisecond)
	}
	return f, nil
}

func (h *Handler) listens(c echo.Context) (page []library.StoredListen, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	f, err := filterOf(c)
	if err != nil {
		return nil, "", err
	}
	return h.store.FindListens(c.Request().Context(), f, c.QueryParam("before"), n)
}

func (h *Handler) listensAPI(c echo.Context) error {
	page, next, err := h.listens(c)
	if err != nil {
		return err
	}
	cursor, err := json.Marshal(core.Text(next))
	if err != nil {
		return err
	}
	return h.core.Stream(c, `{"listens":[`, `],"next":`+string(cursor)+"}", func(offset int) ([]any, error) {
		return core.ViewAll(page[offset:], func(l library.StoredListen) any { return l.Record() }), nil
	})
}

type listensView struct {
	Listens []Row
	Artist  string // of the filter; empty without one
	Found   bool   // there is a filter, and Total counts what it selects
	Newest  string // address of the newest page
	Earlier string // address of the next page; empty at the end
	First   bool   // this is the newest page
	Total   int
}

func (h *Handler) listensPage(c echo.Context) error {
	page, next, err := h.listens(c)
	if err != nil {
		return err
	}
	rows, err := h.rows.Of(c.Request().Context(), core.UserOf(c).ID, page)
	if err != nil {
		return err
	}
	f, err := filterOf(c)
	if err != nil {
		return err
	}
	total, err := h.store.CountFound(c.Request().Context(), f)
	if err != nil {
		return err
	}
	v := listensView{Listens: rows, Artist: f.Artist, Found: f != library.ListenFilter{User: f.User},
		First: c.QueryParam("before") == "", Total: total}
	query := url.Values{}
	for _, name := range []string{"artist", "from", "to"} {
		if text := c.QueryParam(name); text != "" {
			query.Set(name, text)
		}
	}
	v.Newest = "/listens"
	if len(query) > 0 {
		v.Newest += "?" + query.Encode()
	}
	if next != "" {
		query.Set("before", next)
		v.Earlier = "/listens?" + query.Encode()
	}
	return h.core.Render(c, http.StatusOK, "listens", "Listens", v)
}
