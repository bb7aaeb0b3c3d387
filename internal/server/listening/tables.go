package listening

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
)

// tables are the names of the tables of statistics, in their order.
var tables = []string{"artists", "albums", "tracks", "discoveries", "back", "over", "days", "hours", "sources"}

// everything is more rows than any list has.
const everything = 1 << 30

// table returns one of the tables of an answer.
func (h *Handler) table(ctx context.Context, name string, found listening.Answer) (export.Sheet, error) {
	t := export.Sheet{Name: name}
	add := func(cells ...string) { t.Rows = append(t.Rows, cells) }
	switch name {
	case "over":
		t.Heading = []string{"from", "listens"}
		for _, p := range found.Over {
			add(p.From.Format(time.DateOnly), strconv.Itoa(p.Listens))
		}
	case "days":
		t.Heading = []string{"date", "listens"}
		for _, d := range found.Days {
			add(listening.Date(d.Day).Format(time.DateOnly), strconv.Itoa(d.Listens))
		}
	case "hours":
		t.Heading = []string{"weekday", "hour", "listens"}
		for d, day := range found.Hours {
			for hour, n := range day {
				if n > 0 {
					add(strconv.Itoa(d+1), strconv.Itoa(hour), strconv.Itoa(n))
				}
			}
		}
	case "sources":
		t.Heading = []string{"connection", "listens", "only"}
		for _, s := range found.Sources {
			add(string(s.Connection), strconv.Itoa(s.Listens), strconv.Itoa(s.Only))
		}
	default:
		return h.ranked(ctx, t, found)
	}
	return t, nil
}

// ranked fills in a table of artists, albums or tracks.
func (h *Handler) ranked(ctx context.Context, t export.Sheet, found listening.Answer) (export.Sheet, error) {
	rows := map[string][]listening.Row{"artists": found.Artists, "albums": found.Albums, "tracks": found.Tracks,
		"discoveries": found.New, "back": found.Back}[t.Name]
	names, err := h.namesOf(ctx, nil, rows)
	if err != nil {
		return t, err
	}
	t.Heading = []string{"artist"}
	switch t.Name {
	case "albums":
		t.Heading = append(t.Heading, "album")
	case "tracks":
		t.Heading = append(t.Heading, "track", "album")
	}
	t.Heading = append(t.Heading, "listens", "before", "seconds")
	if t.Name == "back" {
		t.Heading = append(t.Heading, "days_away")
	}
	for _, r := range rows {
		e := names[r.ID]
		cells := []string{e.Artist}
		switch e.Kind {
		case library.KindAlbum:
			cells = append(cells, e.Title)
		case library.KindTrack:
			cells = append(cells, e.Title, e.Album)
		}
		cells = append(cells, strconv.Itoa(r.Listens), strconv.Itoa(r.Before),
			strconv.FormatInt(int64(r.Time/time.Second), 10))
		if t.Name == "back" {
			cells = append(cells, strconv.Itoa(int(r.Away.Hours()/24)))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t, nil
}

// tableAPI sends one table of what a call asks for.
func (h *Handler) tableAPI(c echo.Context) error {
	name, ok := strings.CutSuffix(c.Param("file"), ".csv")
	if !ok || !slices.Contains(tables, name) {
		return core.HTTPProblem(http.StatusNotFound)
	}
	a, found, err := h.answer(c, everything)
	if err != nil {
		return err
	}
	if a.other {
		return core.HTTPProblem(http.StatusNotFound)
	}
	t, err := h.table(c.Request().Context(), name, found)
	if err != nil {
		return err
	}
	file := "reprise-" + core.UserOf(c).Name + "-" + name + a.dates() + ".csv"
	header := c.Response().Header()
	header.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": file}))
	header.Set("Cache-Control", "no-store")
	header.Set(echo.HeaderContentType, export.SheetType)
	c.Response().WriteHeader(http.StatusOK)
	_, err = t.Write(c.Response())
	return err
}

// dates returns the end of the name of a file about the span.
func (a *asked) dates() string {
	if a.Span.Name == listening.All {
		return ""
	}
	return "-" + a.Span.From.Format(time.DateOnly) + "-" + a.Span.To.AddDate(0, 0, -1).Format(time.DateOnly)
}

// csv returns the address of a table of what the page shows; others have none for it.
func (a *asked) csv(name string) string {
	if a.other {
		return ""
	}
	_, query, _ := strings.Cut(a.query("", ""), "?")
	return "/api/v1/export/stats/" + name + ".csv?" + query
}

// Tables returns all tables about everything that a person has heard, as of now in its zone; none without a listen.
func (h *Handler) Tables(ctx context.Context, user int64, now time.Time) (all []export.Sheet, err error) {
	span, err := listening.NewSpan(listening.All, now)
	if err != nil {
		return nil, err
	}
	found, err := h.count(ctx, user, listening.Question{Span: span, Now: now, Most: everything})
	if err != nil || found.Totals.Listens == 0 {
		return nil, err
	}
	for _, name := range tables {
		if name == "discoveries" { // of all time, each was one
			continue
		}
		t, err := h.table(ctx, name, found)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
