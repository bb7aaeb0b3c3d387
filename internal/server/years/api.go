package years

import (
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/server/reviews"
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

// YearMonth is a month with its top artist.
type YearMonth struct {
	Month   string            `json:"month" doc:"Such as 2026-11."`
	Listens int               `json:"listens"`
	Leader  *reviews.HeardRow `json:"leader"`
}

type storyAnswer struct {
	Year    int                 `json:"year"`
	Over    bool                `json:"over" doc:"Whether it has ended."`
	Totals  reviews.HeardAmount `json:"totals"`
	Before  reviews.HeardAmount `json:"before" doc:"The same of the year before; up to the same day, while the year is under way."`
	Artists []reviews.HeardRow  `json:"artists" doc:"Heard most, up to five."`
	Albums  []reviews.HeardRow  `json:"albums" doc:"Heard most, up to five."`
	Tracks  []reviews.HeardRow  `json:"tracks" doc:"Heard most, up to five."`
	Months  []YearMonth         `json:"months"`
	Stayed  []reviews.HeardRow  `json:"stayed" doc:"New artists who were heard in two months or more."`
	Back    []reviews.HeardRow  `json:"back" doc:"Artists heard again after a year or longer."`
	Streak  int64               `json:"longest_streak" doc:"Days in a row."`
	Busiest *string             `json:"busiest_day" format:"date"`
	Hour    *int                `json:"busiest_hour" maximum:"23" minimum:"0" doc:"Null for few listens."`
}

func (h *Handler) storyAPI(c echo.Context, _ *core.OfYear) (out storyAnswer, _ error) {
	s, err := h.requested(c)
	if err != nil {
		return out, err
	}
	rows := func(all []listening.Row) []reviews.HeardRow { return reviews.HeardRows(&s.Review, all) }
	months := core.ViewAll(s.Found.Over, func(p listening.Piece) YearMonth {
		v := YearMonth{Month: p.From.Format("2006-01"), Listens: p.Listens}
		if p.Lead.ID != 0 {
			v.Leader = new(reviews.HeardRows(&s.Review, []listening.Row{p.Lead})[0])
		}
		return v
	})
	var stayed []listening.Row
	for _, r := range s.Found.Stayed {
		if r.Pieces > 1 {
			stayed = append(stayed, r)
		}
	}
	v := storyAnswer{s.year, !s.UnderWay(), reviews.AmountOf(s.Found.Totals), reviews.AmountOf(s.Found.Before),
		rows(s.Found.Artists), rows(s.Found.Albums), rows(s.Found.Tracks), months, rows(stayed), rows(s.Found.Back),
		s.Found.Longest.Days, nil, nil}
	if day, ok := s.Busiest(); ok {
		v.Busiest = core.Text(listening.Date(day.Day).Format(time.DateOnly))
	}
	if hour, ok := s.Hour(); ok {
		v.Hour = &hour
	}
	return v, nil
}
