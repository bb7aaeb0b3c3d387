package years

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/listening"
	"reprise/internal/server/core"
)

func (h *Handler) listAPI(c echo.Context) error {
	all, err := h.all(c)
	if err != nil {
		return err
	}
	type yearJSON struct {
		Year    int `json:"year"`
		Listens int `json:"listens"`
	}
	return c.JSON(http.StatusOK, map[string]any{"years": core.ViewAll(all, func(y counted) yearJSON {
		return yearJSON(y)
	})})
}

// amount is how much was heard.
type amount struct {
	Listens int   `json:"listens"`
	Seconds int64 `json:"seconds"`
	Artists int   `json:"artists"`
	Albums  int   `json:"albums"`
	Tracks  int   `json:"tracks"`
}

func amountOf(t listening.Totals) amount {
	return amount{t.Listens, int64(t.Time / time.Second), t.Artists, t.Albums, t.Tracks}
}

// monthJSON is a month with its top artist.
type monthJSON struct {
	Month   string   `json:"month"`
	Listens int      `json:"listens"`
	Leader  *rowJSON `json:"leader"`
}

func (h *Handler) storyAPI(c echo.Context) error {
	s, err := h.requested(c)
	if err != nil {
		return err
	}
	rows := func(all []listening.Row) []rowJSON { return core.ViewAll(all, s.json) }
	months := core.ViewAll(s.found.Over, func(p listening.Piece) monthJSON {
		v := monthJSON{Month: p.From.Format("2006-01"), Listens: p.Listens}
		if p.Lead.ID != 0 {
			lead := s.json(p.Lead)
			v.Leader = &lead
		}
		return v
	})
	var stayed []listening.Row
	for _, r := range s.found.Stayed {
		if r.Pieces > 1 {
			stayed = append(stayed, r)
		}
	}
	v := struct {
		Year    int         `json:"year"`
		Over    bool        `json:"over"`
		Totals  amount      `json:"totals"`
		Before  amount      `json:"before"`
		Artists []rowJSON   `json:"artists"`
		Albums  []rowJSON   `json:"albums"`
		Tracks  []rowJSON   `json:"tracks"`
		Months  []monthJSON `json:"months"`
		Stayed  []rowJSON   `json:"stayed"`
		Back    []rowJSON   `json:"back"`
		Streak  int64       `json:"longest_streak"`
		Busiest *string     `json:"busiest_day"`
		Hour    *int        `json:"busiest_hour"`
	}{s.year, !s.underWay(), amountOf(s.found.Totals), amountOf(s.found.Before), rows(s.found.Artists),
		rows(s.found.Albums), rows(s.found.Tracks), months, rows(stayed), rows(s.found.Back), s.found.Longest.Days,
		nil, nil}
	if day, ok := s.busiest(); ok {
		v.Busiest = core.Text(listening.Date(day.Day).Format(time.DateOnly))
	}
	if hour, ok := s.hour(); ok {
		v.Hour = &hour
	}
	return c.JSON(http.StatusOK, v)
}
