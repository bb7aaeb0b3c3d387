package music

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// filterOf returns the filter in the query of a request. Its bounds may be days if there is a zone.
func filterOf(c echo.Context, zone *time.Location) (library.ListenFilter, error) {
	f := library.ListenFilter{User: core.UserOf(c).ID, Artist: strings.TrimSpace(c.QueryParam("artist"))}
	for name, at := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		text := c.QueryParam(name)
		if text == "" {
			continue
		}
		if zone != nil {
			parsed, err := bound(name, text, zone)
			if err != nil {
				return f, err
			}
			*at = parsed
			continue
		}
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return f, core.NotATime(name)
		}
		*at = parsed.UTC().Truncate(time.Millisecond)
	}
	return f, nil
}

func (h *Handler) listens(c echo.Context, zone *time.Location) (page []library.StoredListen, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	f, err := filterOf(c, zone)
	if err != nil {
		return nil, "", err
	}
	return h.store.FindListens(c.Request().Context(), f, c.QueryParam("before"), n)
}

func (h *Handler) listensAPI(c echo.Context) error {
	page, next, err := h.listens(c, nil)
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

// listensView is the page of listens.
type listensView struct {
	Title            string
	Lead             string // what is listed; without listens, why there are none
	New              bool   // there are no listens at all
	All              bool   // Lead is followed by a link to all listens
	Next             []ui.Action
	Days             []ui.Day
	Filter           string // names what is asked for
	Artist, From, To string // of the filter
	Pages            ui.Pages
	Do               []ui.Link // what else can be done with listens
	Select           *choice   // nil unless listens are being chosen
}

// found is a page of listens with what was asked for.
type found struct {
	Artist string // of the filter; empty without one
	Some   bool   // there is a filter
	Then   bool   // with a time
	Total  int    // of what the filter selects
}

// heading puts what was found into words.
func (v *listensView) heading(ctx context.Context, f found) {
	v.All, v.Filter = f.Some, v.filter(ctx)
	if f.Some && f.Total == 0 {
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.show_all"), URL: "/listens"}}
	}
	switch {
	case f.Total > 0 && f.Artist != "":
		v.Lead = words.T(ctx, "listens.by", "Count", f.Total, "Artist", f.Artist)
	case f.Total > 0:
		v.Lead = words.T(ctx, "listens.all", "Count", f.Total)
	case f.Artist != "" && f.Then:
		v.Lead = words.T(ctx, "listens.none_by_then", "Artist", f.Artist)
	case f.Artist != "":
		v.Lead = words.T(ctx, "listens.none_by", "Artist", f.Artist)
	case f.Some:
		v.Lead = words.T(ctx, "listens.none_then")
	default:
		v.New = true
		v.Lead = words.T(ctx, "listens.none")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.connect"), URL: "/", Main: true},
			{Label: words.T(ctx, "listens.import"), URL: "/imports"}}
	}
}

// filter says in a line what is asked for: "Filter: Enya · from 20 November 2026".
func (v *listensView) filter(ctx context.Context) string {
	l := words.From(ctx)
	var asked []string
	if v.Artist != "" {
		asked = append(asked, words.Isolate(v.Artist))
	}
	if day, err := time.Parse(time.DateOnly, v.From); err == nil {
		asked = append(asked, words.T(ctx, "listens.since", "Day", l.Day(day)))
	}
	if day, err := time.Parse(time.DateOnly, v.To); err == nil {
		asked = append(asked, words.T(ctx, "listens.until", "Day", l.Day(day)))
	}
	if len(asked) == 0 {
		return words.T(ctx, "listens.filter")
	}
	return words.T(ctx, "listens.filtered", "What", strings.Join(asked, " · "))
}

func (h *Handler) listensPage(c echo.Context) error {
	ctx, zone := c.Request().Context(), core.Zone(c)
	page, next, err := h.listens(c, zone)
	if err != nil {
		return err
	}
	rows, err := h.rows.Of(ctx, core.UserOf(c).ID, page)
	if err != nil {
		return err
	}
	f, asked, err := Asked(c)
	if err != nil {
		return err
	}
	total, err := h.store.CountFound(ctx, f)
	if err != nil {
		return err
	}
	v := listensView{Title: words.T(ctx, "listens.title"), Days: daysOf(ctx, rows, time.Now().In(zone)),
		Pages: pagesOf(c, next), Artist: f.Artist,
		From: dayIn("from", c.QueryParam("from"), zone), To: dayIn("to", c.QueryParam("to"), zone)}
	v.heading(ctx, found{Artist: f.Artist, Some: f != library.ListenFilter{User: f.User}, Total: total,
		Then: !f.From.IsZero() || !f.To.IsZero()})
	v.choose(ctx, c.QueryParam(selecting) != "", rows, total, asked)
	return h.core.Show(c, http.StatusOK, v.Title, listensList(v))
}

// pagesOf returns the way to the other pages of what a request asks for.
func pagesOf(c echo.Context, next string) (p ui.Pages) {
	query := url.Values{}
	for _, name := range append(filterNames, selecting) {
		if text := c.QueryParam(name); text != "" {
			query.Set(name, text)
		}
	}
	if c.QueryParam("before") != "" {
		p.Newest = "/listens"
		if len(query) > 0 {
			p.Newest += "?" + query.Encode()
		}
	}
	if next != "" {
		query.Set("before", next)
		p.Earlier = "/listens?" + query.Encode()
	}
	return p
}
