package listening

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// totalsView are totals.
type totalsView struct {
	Listens    int   `json:"listens"`
	Seconds    int64 `json:"seconds"`
	Estimated  int   `json:"estimated"`
	Artists    int   `json:"artists"`
	Albums     int   `json:"albums"`
	Tracks     int   `json:"tracks"`
	NewArtists int   `json:"new_artists"`
	NewAlbums  int   `json:"new_albums"`
	NewTracks  int   `json:"new_tracks"`
}

func viewTotals(t listening.Totals) totalsView {
	return totalsView{t.Listens, int64(t.Time / time.Second), t.Guessed, t.Artists, t.Albums, t.Tracks, t.NewArtists,
		t.NewAlbums, t.NewTracks}
}

// spanView says which time an answer is about: null for all time.
type spanView struct {
	From *string `json:"from"`
	To   *string `json:"to"`
}

func viewSpan(s listening.Span) spanView {
	if s.Name == listening.All {
		return spanView{}
	}
	return spanView{core.Moment(s.From), core.Moment(s.To)}
}

// answer counts what a call asks for.
func (h *Handler) answer(c echo.Context, most int) (asked, listening.Answer, error) {
	a, err := h.ask(c)
	if err != nil {
		return a, listening.Answer{}, err
	}
	a.Most = most
	found, err := h.found(c.Request().Context(), &a)
	return a, found, err
}

// found counts what a request asks for, without what only its person sees.
func (h *Handler) found(ctx context.Context, a *asked) (listening.Answer, error) {
	found, err := h.count(ctx, a.owner.ID, a.Question)
	if a.other {
		found.Players = nil
	}
	return found, err
}

func (h *Handler) summaryAPI(c echo.Context) error {
	a, found, err := h.answer(c, 1)
	if err != nil {
		return err
	}
	type runView struct {
		From string `json:"from"`
		Days int64  `json:"days"`
	}
	run := func(r listening.Run) *runView {
		if r.Days == 0 {
			return nil
		}
		return &runView{listening.Date(r.First).Format(time.DateOnly), r.Days}
	}
	type sourceView struct {
		Connection library.ConnectionID `json:"connection"`
		Listens    int                  `json:"listens"`
		Only       int                  `json:"only"`
	}
	sources := core.ViewAll(found.Sources, func(s listening.Source) sourceView {
		return sourceView{s.Connection, s.Listens, s.Only}
	})
	type playerView struct {
		Name    string `json:"name"`
		Listens int    `json:"listens"`
	}
	players := core.ViewAll(found.Players, func(p listening.Player) playerView { return playerView(p) })
	var before *totalsView
	if _, ok := a.Span.Before(); ok {
		t := viewTotals(found.Before)
		before = &t
	}
	return c.JSON(http.StatusOK, struct {
		Span    spanView     `json:"span"`
		Totals  totalsView   `json:"totals"`
		Before  *totalsView  `json:"before"`
		Streak  *runView     `json:"streak"`
		Longest *runView     `json:"longest_streak"`
		Sources []sourceView `json:"sources"`
		Players []playerView `json:"players"`
		First   *string      `json:"first_heard_at"`
		Last    *string      `json:"last_heard_at"`
	}{viewSpan(a.Span), viewTotals(found.Totals), before, run(found.Streak), run(found.Longest), sources, players,
		core.Moment(found.First), core.Moment(found.Last)})
}

// mostTop is the most rows of a list that a call may ask for.
const mostTop = 1000

func (h *Handler) topAPI(c echo.Context) error {
	n := 50
	if text := c.QueryParam("limit"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > mostTop {
			return music.Refuse(words.New("problem.stats.limit"))
		}
	}
	a, found, err := h.answer(c, n)
	if err != nil {
		return err
	}
	lists := map[string][]listening.Row{"artists": found.Artists, "albums": found.Albums, "tracks": found.Tracks}
	rows, ok := lists[c.Param("kind")]
	if !ok {
		return core.HTTPProblem(http.StatusNotFound)
	}
	names, err := h.namesOf(c.Request().Context(), nil, rows)
	if err != nil {
		return err
	}
	type rowView struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Artist  string `json:"artist"`
		Listens int    `json:"listens"`
		Before  int    `json:"before"`
		Seconds int64  `json:"seconds"`
	}
	top := core.ViewAll(rows, func(r listening.Row) rowView {
		e := names[r.ID]
		return rowView{strconv.FormatUint(uint64(r.ID), 10), title(e), e.Artist, r.Listens, r.Before,
			int64(r.Time / time.Second)}
	})
	return c.JSON(http.StatusOK, struct {
		Span spanView  `json:"span"`
		Top  []rowView `json:"top"`
	}{viewSpan(a.Span), top})
}

func (h *Handler) daysAPI(c echo.Context) error {
	a, found, err := h.answer(c, 1)
	if err != nil {
		return err
	}
	type dayView struct {
		Date    string `json:"date"`
		Listens int    `json:"listens"`
	}
	days := core.ViewAll(found.Days, func(d listening.DayCount) dayView {
		return dayView{listening.Date(d.Day).Format(time.DateOnly), d.Listens}
	})
	return c.JSON(http.StatusOK, struct {
		Span spanView  `json:"span"`
		Days []dayView `json:"days"`
	}{viewSpan(a.Span), days})
}

func (h *Handler) hoursAPI(c echo.Context) error {
	a, found, err := h.answer(c, 1)
	if err != nil {
		return err
	}
	type hourView struct {
		Weekday int `json:"weekday"` // from 1, Monday
		Hour    int `json:"hour"`
		Listens int `json:"listens"`
	}
	hours := []hourView{}
	for d, day := range found.Hours {
		for hour, n := range day {
			if n > 0 {
				hours = append(hours, hourView{d + 1, hour, n})
			}
		}
	}
	return c.JSON(http.StatusOK, struct {
		Span  spanView   `json:"span"`
		Hours []hourView `json:"hours"`
	}{viewSpan(a.Span), hours})
}
