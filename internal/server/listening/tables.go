package listening

import (
	"context"
	"io"
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

// tables are the names of the tables, in the order of the page.
var tables = []string{"artists", "albums", "tracks", "discoveries", "back", "over", "days", "hours", "sources",
	"players"}

// everything is higher than the length of any list.
const everything = 1 << 30

// namesAtOnce is how many names of a table are read at once: few enough for a small machine, however long they are.
const namesAtOnce = 200

// table returns a table of an answer.
func (h *Handler) table(ctx context.Context, name string, found listening.Answer) export.Sheet {
	switch name {
	case "over":
		return sheet(name, found.Over, func(p listening.Piece) []string {
			return []string{p.From.Format(time.DateOnly), strconv.Itoa(p.Listens)}
		}, "from", "listens")
	case "days":
		return sheet(name, found.Days, func(d listening.DayCount) []string {
			return []string{listening.Date(d.Day).Format(time.DateOnly), strconv.Itoa(d.Listens)}
		}, "date", "listens")
	case "hours":
		var rows [][]string
		for d, day := range found.Hours {
			for hour, n := range day {
				if n > 0 {
					rows = append(rows, []string{strconv.Itoa(d + 1), strconv.Itoa(hour), strconv.Itoa(n)})
				}
			}
		}
		return sheet(name, rows, func(row []string) []string { return row }, "weekday", "hour", "listens")
	case "sources":
		return sheet(name, found.Sources, func(s listening.Source) []string {
			return []string{string(s.Connection), strconv.Itoa(s.Listens), strconv.Itoa(s.Only)}
		}, "connection", "listens", "only")
	case "players":
		return sheet(name, found.Players, func(p listening.Player) []string {
			return []string{p.Name, strconv.Itoa(p.Listens)}
		}, "player", "listens")
	}
	return h.ranked(ctx, name, found)
}

// sheet returns a table with a row for each of some values.
func sheet[T any](name string, values []T, row func(T) []string, heading ...string) export.Sheet {
	return export.Sheet{Name: name, Heading: heading, Rows: func(yield func([]string, error) bool) {
		for _, v := range values {
			if !yield(row(v), nil) {
				return
			}
		}
	}}
}

// ranked returns a table of artists, albums or tracks, whose names are read as it is written.
func (h *Handler) ranked(ctx context.Context, name string, found listening.Answer) export.Sheet {
	rows := map[string][]listening.Row{"artists": found.Artists, "albums": found.Albums, "tracks": found.Tracks,
		"discoveries": found.New, "back": found.Back}[name]
	t := export.Sheet{Name: name, Heading: []string{"artist"}}
	switch name {
	case "albums":
		t.Heading = append(t.Heading, "album")
	case "tracks":
		t.Heading = append(t.Heading, "track", "album")
	}
	t.Heading = append(t.Heading, "listens", "before", "seconds")
	if name == "back" {
		t.Heading = append(t.Heading, "days_away")
	}
	t.Rows = func(yield func([]string, error) bool) {
		for part := range slices.Chunk(rows, namesAtOnce) {
			names, err := h.namesOf(ctx, nil, part)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range part {
				if !yield(rankedCells(name, r, names[r.ID]), nil) {
					return
				}
			}
		}
	}
	return t
}

// rankedCells returns a row of a table of artists, albums or tracks.
func rankedCells(table string, r listening.Row, e library.Entity) []string {
	cells := []string{e.Artist}
	switch e.Kind {
	case library.KindAlbum:
		cells = append(cells, e.Title)
	case library.KindTrack:
		cells = append(cells, e.Title, e.Album)
	}
	cells = append(cells, strconv.Itoa(r.Listens), strconv.Itoa(r.Before),
		strconv.FormatInt(int64(r.Time/time.Second), 10))
	if table == "back" {
		cells = append(cells, strconv.Itoa(int(r.Away.Hours()/24)))
	}
	return cells
}

type exportStatsRequest struct {
	core.SpanQuery
	core.MusicQuery
	core.OfArtist
	File string `path:"file" enum:"artists.csv,albums.csv,tracks.csv,discoveries.csv,back.csv,over.csv,days.csv,hours.csv,sources.csv,players.csv"`
}

// tableAPI sends one table for the filter of a call.
func (h *Handler) tableAPI(c echo.Context, in *exportStatsRequest) (out core.Sent[core.None], _ error) {
	name, ok := strings.CutSuffix(in.File, ".csv")
	if !ok || !slices.Contains(tables, name) {
		return out, core.HTTPProblem(http.StatusNotFound)
	}
	a, found, err := h.answer(c, everything)
	if err != nil {
		return out, err
	}
	if a.other {
		return out, core.HTTPProblem(http.StatusNotFound)
	}
	file := "reprise-" + core.UserOf(c).Name + "-" + name + a.dates() + ".csv"
	return out, h.core.Download(c, export.SheetType, file, func(w io.Writer) error {
		_, err := h.table(c.Request().Context(), name, found).Write(w)
		return err
	})
}

// dates returns the end of a file name, with the dates of the span.
func (a *asked) dates() string {
	if a.Span.Name == listening.All {
		return ""
	}
	return "-" + a.Span.From.Format(time.DateOnly) + "-" + a.Span.To.AddDate(0, 0, -1).Format(time.DateOnly)
}

// csv returns the address of a table with the filters of the page; empty for somebody else's statistics.
func (a *asked) csv(name string) string {
	if a.other {
		return ""
	}
	_, query, _ := strings.Cut(a.query("highlight", ""), "?")
	return "/api/v1/export/stats/" + name + ".csv?" + query
}

// Tables returns all tables of everything a person has heard, as of now in now's zone, or none if there are no listens.
func (h *Handler) Tables(ctx context.Context, user int64, now time.Time) (all []export.Sheet, err error) {
	span, err := listening.NewSpan(listening.All, now)
	if err != nil {
		return nil, err
	}
	found, err := h.count(ctx, user, false, listening.Question{Span: span, Now: now, Most: everything})
	if err != nil || found.Totals.Listens == 0 {
		return nil, err
	}
	for _, name := range tables {
		if name == "discoveries" { // of all time, every artist was new once
			continue
		}
		all = append(all, h.table(ctx, name, found))
	}
	return all, nil
}
