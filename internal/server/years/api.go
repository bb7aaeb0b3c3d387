package years

import (
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/listening"
	"reprise/internal/server/core"
)

type statsYearsAnswer struct {
	Years []YearListens `json:"years"`
}

// YearListens is a year with listens.
type YearListens struct {
	Year    int `json:"year"`
	Listens int `json:"listens"`
}

func (h *Handler) listAPI(c echo.Context, _ *core.None) (out statsYearsAnswer, _ error) {
	all, err := h.all(c)
	if err != nil {
		return out, err
	}
	return statsYearsAnswer{Years: core.ViewAll(all, func(y counted) YearListens {
		return YearListens(y)
	})}, nil
}

// YearAmount is how much was heard.
type YearAmount struct {
	Listens int   `json:"listens"`
	Seconds int64 `json:"seconds"`
	Artists int   `json:"artists"`
	Albums  int   `json:"albums"`
	Tracks  int   `json:"tracks"`
}

func amountOf(t listening.Totals) YearAmount {
	return YearAmount{t.Listens, int64(t.Time / time.Second), t.Artists, t.Albums, t.Tracks}
}

// YearMonth is a month with its top artist.
type YearMonth struct {
	Month   string   `json:"month" doc:"Such as 2026-11."`
	Listens int      `json:"listens"`
	Leader  *YearRow `json:"leader"`
}

type storyAnswer struct {
	Year    int         `json:"year"`
	Over    bool        `json:"over" doc:"Whether it has ended."`
	Totals  YearAmount  `json:"totals"`
	Before  YearAmount  `json:"before" doc:"The same of the year before; up to the same day, while the year is under way."`
	Artists []YearRow   `json:"artists" doc:"Heard most, up to five."`
	Albums  []YearRow   `json:"albums" doc:"Heard most, up to five."`
	Tracks  []YearRow   `json:"tracks" doc:"Heard most, up to five."`
	Months  []YearMonth `json:"months"`
	Stayed  []YearRow   `json:"stayed" doc:"New artists who were heard in two months or more."`
	Back    []YearRow   `json:"back" doc:"Artists heard again after a year or longer."`
	Streak  int64       `json:"longest_streak" doc:"Days in a row."`
	Busiest *string     `json:"busiest_day" format:"date"`
	Hour    *int        `json:"busiest_hour" maximum:"23" minimum:"0" doc:"Null for few listens."`
}

func (h *Handler) storyAPI(c echo.Context, _ *core.OfYear) (out storyAnswer, _ error) {
	s, err := h.requested(c)
	if err != nil {
		return out, err
	}
	rows := func(all []listening.Row) []YearRow { return core.ViewAll(all, s.json) }
	months := core.ViewAll(s.found.Over, func(p listening.Piece) YearMonth {
		v := YearMonth{Month: p.From.Format("2006-01"), Listens: p.Listens}
		if p.Lead.ID != 0 {
			v.Leader = new(s.json(p.Lead))
		}
		return v
	})
	var stayed []listening.Row
	for _, r := range s.found.Stayed {
		if r.Pieces > 1 {
			stayed = append(stayed, r)
		}
	}
	v := storyAnswer{s.year, !s.underWay(), amountOf(s.found.Totals), amountOf(s.found.Before), rows(s.found.Artists),
		rows(s.found.Albums), rows(s.found.Tracks), months, rows(stayed), rows(s.found.Back), s.found.Longest.Days,
		nil, nil}
	if day, ok := s.busiest(); ok {
		v.Busiest = core.Text(listening.Date(day.Day).Format(time.DateOnly))
	}
	if hour, ok := s.hour(); ok {
		v.Hour = &hour
	}
	return v, nil
}
