package health

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
)

// endpointView is the health of an endpoint in the API.
type endpointView struct {
	Provider string    `json:"provider"`
	Endpoint string    `json:"endpoint"`
	Trend    string    `json:"trend"`
	Hour     tallyView `json:"last_hour"`
	Day      tallyView `json:"last_day"`
}

type tallyView struct {
	Attempts    int      `json:"attempts"`
	Failures    int      `json:"failures"`
	Refused     int      `json:"refused"`
	FailureRate float64  `json:"failure_rate"`
	PerSuccess  *float64 `json:"attempts_per_success"` // nil without a success
	MeanMS      int64    `json:"mean_ms"`
	OpenSeconds int64    `json:"open_seconds"`
}

func viewTally(t metrics.Tally) tallyView {
	v := tallyView{Attempts: t.Attempts, Failures: t.Failures, Refused: t.Refused, FailureRate: t.FailureRate(),
		MeanMS: t.Mean().Milliseconds(), OpenSeconds: int64(t.Open.Seconds())}
	if n := t.PerSuccess(); n > 0 {
		v.PerSuccess = &n
	}
	return v
}

func viewEndpoint(h metrics.Health) endpointView {
	return endpointView{Provider: h.Provider, Endpoint: h.Endpoint, Trend: h.Trend.String(),
		Hour: viewTally(h.Hour), Day: viewTally(h.Day)}
}

func (h *Handler) list(c echo.Context) error {
	type line struct {
		Provider string `json:"provider"`
		State    string `json:"state"`
	}
	ctx := c.Request().Context()
	all, err := h.Statuses.All(ctx, core.UserOf(c).ID)
	var endpoints []metrics.Health
	if err == nil {
		endpoints, _, err = h.Rollup.Health(ctx)
	}
	if err != nil { // the server works, only its database does not
		return c.JSON(http.StatusOK, map[string]any{"database": h.core.Problem(c, err).Detail,
			"connections": []line{}, "endpoints": []endpointView{}})
	}
	return c.JSON(http.StatusOK,
		map[string]any{"database": "ok", "endpoints": core.ViewAll(endpoints, viewEndpoint),
			"connections": core.ViewAll(all, func(v connections.View) line { return line{v.Provider, v.State} })})
}

// quarterView is a quarter of an hour of an endpoint in the API.
type quarterView struct {
	Start    string `json:"start"`
	Provider string `json:"provider"`
	Endpoint string `json:"endpoint"`
	tallyView
}

// quartersAPI answers with the quarters of an hour of the 24 hours after a time.
func (h *Handler) quartersAPI(c echo.Context) error {
	now := time.Now()
	from := now.Truncate(metrics.QuarterLength).Add(metrics.QuarterLength - 24*time.Hour)
	if text := c.QueryParam("since"); text != "" {
		var err error
		if from, err = time.Parse(time.RFC3339, text); err != nil {
			return core.NotATime("since")
		}
	}
	to := from.Add(24 * time.Hour)
	all, err := h.Rollup.Quarters(c.Request().Context(), from, from, to)
	if err != nil {
		return err
	}
	var next *string
	if !to.After(now) {
		next = core.Moment(to)
	}
	return c.JSON(http.StatusOK,
		map[string]any{"next": next, "quarters": core.ViewAll(all, func(q metrics.Quarter) quarterView {
			return quarterView{Start: library.Stamp(q.Start), Provider: q.Provider, Endpoint: q.Endpoint,
				tallyView: viewTally(q.Tally)}
		})})
}

// hourView is an hour of a service in the API.
type hourView struct {
	Start    string `json:"start"`
	Provider string `json:"provider"`
	tallyView
}

// hoursAPI answers with the hours of the last 14 days, of one service or of all.
func (h *Handler) hoursAPI(c echo.Context) error {
	from := time.Now().Add(-metrics.KeepQuarters).Truncate(time.Hour)
	all, err := h.Rollup.Hours(c.Request().Context(), c.QueryParam("provider"), from)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"hours": core.ViewAll(all, func(q metrics.Quarter) hourView {
		return hourView{Start: library.Stamp(q.Start), Provider: q.Provider, tallyView: viewTally(q.Tally)}
	})})
}
