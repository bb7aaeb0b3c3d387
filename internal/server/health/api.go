package health

import (
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/metrics"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
)

// Endpoint is the health of an endpoint in the API.
type Endpoint struct {
	Provider string `json:"provider"`
	Endpoint string `json:"endpoint" doc:"Method, host and route template."`
	Trend    string `json:"trend" enum:"steady,slower,often_failing,failing" doc:"The last hour compared with the 14 days before; 'failing' is clearly more than usual."`
	Hour     Tally  `json:"last_hour"`
	Day      Tally  `json:"last_day"`
}

type Tally struct {
	Attempts    int      `json:"attempts"`
	Failures    int      `json:"failures" doc:"Of these."`
	Refused     int      `json:"refused" doc:"Calls that an open breaker held back; not counted as attempts."`
	FailureRate float64  `json:"failure_rate" maximum:"1" minimum:"0"`
	PerSuccess  *float64 `json:"attempts_per_success" doc:"Null without a success."`
	MeanMS      int64    `json:"mean_ms" doc:"How long an attempt took on average."`
	OpenSeconds int64    `json:"open_seconds" doc:"How long its breaker was open or half-open."`
}

func viewTally(t metrics.Tally) Tally {
	v := Tally{Attempts: t.Attempts, Failures: t.Failures, Refused: t.Refused, FailureRate: t.FailureRate(),
		MeanMS: t.Mean().Milliseconds(), OpenSeconds: int64(t.Open.Seconds())}
	if n := t.PerSuccess(); n > 0 {
		v.PerSuccess = &n
	}
	return v
}

func viewEndpoint(h metrics.Health) Endpoint {
	return Endpoint{Provider: h.Provider, Endpoint: h.Endpoint, Trend: h.Trend.String(),
		Hour: viewTally(h.Hour), Day: viewTally(h.Day)}
}

type getHealthAnswer struct {
	Database    string              `json:"database" doc:"'ok', or what is wrong with it."`
	Endpoints   []Endpoint          `json:"endpoints" doc:"All that Reprise called in the last 14 days, for anybody here."`
	Connections []StateOfConnection `json:"connections"`
}

// StateOfConnection is the state of a connection.
type StateOfConnection struct {
	Provider string `json:"provider"`
	State    string `json:"state" enum:"ConnectionState"`
}

func lineOf(v connections.Connection) StateOfConnection {
	return StateOfConnection{v.Provider, v.State}
}

func (h *Handler) list(c echo.Context, _ *core.None) (out getHealthAnswer, _ error) {
	ctx := c.Request().Context()
	all, err := h.Statuses.All(ctx, core.UserOf(c).ID)
	var endpoints []metrics.Health
	if err == nil {
		endpoints, _, err = h.Rollup.Health(ctx)
	}
	if err != nil { // the server works, only its database does not
		return getHealthAnswer{Database: h.core.Problem(c, err).Detail, Connections: []StateOfConnection{},
			Endpoints: []Endpoint{}}, nil
	}
	return getHealthAnswer{Database: "ok", Endpoints: core.ViewAll(endpoints, viewEndpoint),
		Connections: core.ViewAll(all, lineOf)}, nil
}

// Quarter is a quarter of an hour of an endpoint in the API.
type Quarter struct {
	Start    core.Time `json:"start"`
	Provider string    `json:"provider"`
	Endpoint string    `json:"endpoint"`
	Tally
}

type listQuartersRequest struct {
	Since time.Time `query:"since" doc:"When the day begins; without it, 24 hours ago. Reprise keeps the counts for 14 days."`
}

type listQuartersAnswer struct {
	Next     core.MaybeTime `json:"next" doc:"The 'since' of the next day; null at the end."`
	Quarters []Quarter      `json:"quarters"`
}

// quartersAPI answers with the quarters of an hour of the 24 hours after a time.
func (h *Handler) quartersAPI(c echo.Context, in *listQuartersRequest) (out listQuartersAnswer, _ error) {
	now := time.Now()
	from := now.Truncate(metrics.QuarterLength).Add(metrics.QuarterLength - 24*time.Hour)
	if !in.Since.IsZero() {
		from = in.Since
	}
	to := from.Add(24 * time.Hour)
	all, err := h.Rollup.Quarters(c.Request().Context(), from, from, to)
	if err != nil {
		return out, err
	}
	var next core.MaybeTime
	if !to.After(now) {
		next = core.Moment(to)
	}
	return listQuartersAnswer{Next: next, Quarters: core.ViewAll(all, func(q metrics.Quarter) Quarter {
		return Quarter{Start: core.Stamp(q.Start), Provider: q.Provider, Endpoint: q.Endpoint,
			Tally: viewTally(q.Tally)}
	})}, nil
}

// Hour is an hour of a service in the API.
type Hour struct {
	Start    core.Time `json:"start"`
	Provider string    `json:"provider"`
	Tally
}

type listHoursRequest struct {
	Provider string `query:"provider" doc:"One service only."`
}

type listHoursAnswer struct {
	Hours []Hour `json:"hours"`
}

// hoursAPI answers with the hours of the last 14 days, of one service or of all.
func (h *Handler) hoursAPI(c echo.Context, in *listHoursRequest) (out listHoursAnswer, _ error) {
	from := time.Now().Add(-metrics.KeepQuarters).Truncate(time.Hour)
	all, err := h.Rollup.Hours(c.Request().Context(), in.Provider, from)
	if err != nil {
		return out, err
	}
	return listHoursAnswer{Hours: core.ViewAll(all, func(q metrics.Quarter) Hour {
		return Hour{Start: core.Stamp(q.Start), Provider: q.Provider, Tally: viewTally(q.Tally)}
	})}, nil
}
