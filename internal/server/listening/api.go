package listening

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/listening"
	"reprise/internal/server/core"
)

// totalsView are totals.
type Totals struct {
	Listens    int   `json:"listens"`
	Seconds    int64 `json:"seconds" doc:"How long they took. Tracks of unknown length count as long as the others on average."`
	Estimated  int   `json:"estimated" doc:"Listens to tracks of unknown length."`
	Artists    int   `json:"artists"`
	Albums     int   `json:"albums"`
	Tracks     int   `json:"tracks"`
	NewArtists int   `json:"new_artists" doc:"Artists that were heard for the first time."`
	NewAlbums  int   `json:"new_albums"`
	NewTracks  int   `json:"new_tracks"`
}

func viewTotals(t listening.Totals) Totals {
	return Totals{t.Listens, int64(t.Time / time.Second), t.Guessed, t.Artists, t.Albums, t.Tracks, t.NewArtists,
		t.NewAlbums, t.NewTracks}
}

// TimeSpan says which time an answer is about: null for all time.
type TimeSpan struct {
	From core.MaybeTime `json:"from"`
	To   core.MaybeTime `json:"to"`
}

func viewSpan(s listening.Span) TimeSpan {
	if s.Name == listening.All {
		return TimeSpan{}
	}
	return TimeSpan{core.Moment(s.From), core.Moment(s.To)}
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
	found, err := h.count(ctx, a.owner.ID, a.other, a.Question)
	if a.other {
		found.Players = nil
	}
	return found, err
}

// Question is what the calls of statistics take.
type Question struct {
	core.SpanQuery
	core.MusicQuery
	core.OfArtist
	core.OfPerson
}

// summary is how much was heard in a span.
type summary struct {
	Span    TimeSpan       `json:"span" doc:"From a time to before another one; null for all time."`
	Totals  Totals         `json:"totals"`
	Before  *Totals        `json:"before"`
	Streak  *Streak        `json:"streak"`
	Longest *Streak        `json:"longest_streak"`
	Sources []HeardFrom    `json:"sources"`
	Players []HeardOn      `json:"players" doc:"The players that sources named, at most 100, the most used first."`
	First   core.MaybeTime `json:"first_heard_at"`
	Last    core.MaybeTime `json:"last_heard_at"`
}

// Streak is a run of days with listens.
type Streak struct {
	From string `json:"from" format:"date"`
	Days int64  `json:"days" minimum:"1"`
}

func viewRun(r listening.Run) (v *Streak) {
	if r.Days > 0 {
		v = new(Streak{listening.Date(r.First).Format(time.DateOnly), r.Days})
	}
	return v
}

// HeardFrom is how much a connection reported.
type HeardFrom struct {
	Connection string `json:"connection"`
	Listens    int    `json:"listens" doc:"Listens that the connection reported."`
	Only       int    `json:"only" doc:"Listens that no other connection reported."`
}

// HeardOn is how much was played on a player.
type HeardOn struct {
	Name    string `json:"name"`
	Listens int    `json:"listens"`
}

func (h *Handler) summaryAPI(c echo.Context, _ *Question) (out summary, _ error) {
	a, found, err := h.answer(c, 1)
	if err != nil {
		return out, err
	}
	out = summary{Span: viewSpan(a.Span), Totals: viewTotals(found.Totals), Streak: viewRun(found.Streak),
		Longest: viewRun(found.Longest), First: core.Moment(found.First), Last: core.Moment(found.Last),
		Sources: core.ViewAll(found.Sources, func(s listening.Source) HeardFrom {
			return HeardFrom{string(s.Connection), s.Listens, s.Only}
		}),
		Players: core.ViewAll(found.Players, func(p listening.Player) HeardOn { return HeardOn(p) })}
	if _, ok := a.Span.Before(); ok {
		out.Before = new(viewTotals(found.Before))
	}
	return out, nil
}

type topQuestion struct {
	Question
	Kind  string `path:"kind" enum:"artists,albums,tracks"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
}

type topAnswer struct {
	Span TimeSpan `json:"span"`
	Top  []Ranked `json:"top"`
}

// Ranked is a row of a top list.
type Ranked struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Artist  string `json:"artist"`
	Listens int    `json:"listens"`
	Before  int    `json:"before" doc:"Listens in the span before."`
	Seconds int64  `json:"seconds" doc:"Of the listens whose length is known."`
}

func (h *Handler) topAPI(c echo.Context, in *topQuestion) (out topAnswer, _ error) {
	a, found, err := h.answer(c, in.Limit)
	if err != nil {
		return out, err
	}
	lists := map[string][]listening.Row{"artists": found.Artists, "albums": found.Albums, "tracks": found.Tracks}
	rows, ok := lists[in.Kind]
	if !ok {
		return out, core.HTTPProblem(http.StatusNotFound)
	}
	names, err := h.namesOf(c.Request().Context(), nil, rows)
	if err != nil {
		return out, err
	}
	top := core.ViewAll(rows, func(r listening.Row) Ranked {
		e := names[r.ID]
		return Ranked{strconv.FormatUint(uint64(r.ID), 10), title(e), e.Artist, r.Listens, r.Before,
			int64(r.Time / time.Second)}
	})
	return topAnswer{viewSpan(a.Span), top}, nil
}

type daysAnswer struct {
	Span TimeSpan `json:"span"`
	Days []Day    `json:"days"`
}

// Day is a day with listens.
type Day struct {
	Date    string `json:"date" format:"date"`
	Listens int    `json:"listens" minimum:"1"`
}

func (h *Handler) daysAPI(c echo.Context, _ *Question) (out daysAnswer, _ error) {
	a, found, err := h.answer(c, 1)
	if err != nil {
		return out, err
	}
	days := core.ViewAll(found.Days, func(d listening.DayCount) Day {
		return Day{listening.Date(d.Day).Format(time.DateOnly), d.Listens}
	})
	return daysAnswer{viewSpan(a.Span), days}, nil
}

type hoursAnswer struct {
	Span  TimeSpan     `json:"span"`
	Hours []HourOfWeek `json:"hours"`
}

// HourOfWeek is an hour of a day of the week with listens.
type HourOfWeek struct {
	Weekday int `json:"weekday" maximum:"7" minimum:"1" doc:"From 1 (Monday) to 7."`
	Hour    int `json:"hour" maximum:"23" minimum:"0"`
	Listens int `json:"listens" minimum:"1"`
}

func (h *Handler) hoursAPI(c echo.Context, _ *Question) (out hoursAnswer, _ error) {
	a, found, err := h.answer(c, 1)
	if err != nil {
		return out, err
	}
	hours := []HourOfWeek{}
	for d, day := range found.Hours {
		for hour, n := range day {
			if n > 0 {
				hours = append(hours, HourOfWeek{d + 1, hour, n})
			}
		}
	}
	return hoursAnswer{viewSpan(a.Span), hours}, nil
}
