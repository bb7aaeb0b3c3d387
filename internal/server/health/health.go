// Package health answers for how the services do.
package health

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Guard says what keeps the installation's own calls to a service from going out. It is implemented by sync.Guard.
type Guard interface {
	StateForAll(*providers.Provider) (backoff.State, notify.Words)
}

// Sources are what the numbers and states come from.
type Sources struct {
	Statuses *connections.Statuses
	Rollup   *metrics.Rollup
	Breakers interface {
		Status() []transport.BreakerStatus
	}
	Uplink  interface{ Offline() (time.Time, bool) }
	Guard   Guard
	Servers ServerStore
}

// Handler answers for how the services do.
type Handler struct {
	core *core.Core
	Sources
}

// New returns a Handler.
func New(k *core.Core, s Sources) *Handler { return &Handler{core: k, Sources: s} }

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) { g.GET("/health", h.page) }

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/health", h.list, core.Call{
		ID: "getHealth",
		Summary: "The state of each connection, and how each endpoint is doing, for a monitor; always 200 while " +
			"the process can answer",
		Answer: "The states.",
	})
	core.Get(a, "/health/quarters", h.quartersAPI, core.Call{
		ID:      "listQuarters",
		Summary: "Counts for every endpoint by quarters of an hour, for one day",
		Answer:  "The quarters that began within 24 hours, by their start.",
	})
	core.Get(a, "/health/hours", h.hoursAPI, core.Call{
		ID:      "listHours",
		Summary: "Counts for every service by the hour, for the last 14 days",
		Answer:  "The hours, by service and start; hours without a call are left out.",
	})
	core.Get(a, "/admin/servers", h.listServers, core.Call{
		ID:      "listServers",
		Summary: "The servers that share the database, and the jobs that wait or run (administrators only)",
		Answer:  "The one that leads first. No servers for a server that is alone.",
	})
}

// counted is what was counted for a page.
type counted struct {
	endpoints []metrics.Health
	hours     []metrics.Quarter // of 14 days, by service; none on the page of a past day
	from, to  time.Time         // of the endpoints' quarters
	day       time.Time         // midnight of a past day; zero for now
}

func (h *Handler) page(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	now := time.Now()
	day, err := dayOf(c.QueryParam("day"), now)
	if err != nil {
		return err
	}
	n, err := h.count(ctx, now, day)
	if err != nil {
		return err
	}
	v := builder{l: words.From(ctx), ctx: ctx, now: now, counted: n, mayReset: user.Role == accounts.Admin,
		name: func(id library.ConnectionID) string { return h.core.NameOf(ctx, id) }}
	if day.IsZero() {
		if v.standings, err = h.standings(ctx, user.ID); err != nil {
			return err
		}
		v.open = h.open()
		_, v.offline = h.Uplink.Offline()
	}
	page := v.page()
	if user.Role == accounts.Admin && day.IsZero() {
		all, err := h.Servers.Servers(ctx)
		if err != nil {
			return err
		}
		page.Servers = h.serversTable(ctx, all, now)
		backlogs, err := h.backlogs(ctx, all, now)
		if err != nil {
			return err
		}
		page.Jobs = jobsTable(words.From(ctx), backlogs)
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "health.title"), healthPage(page))
}

// dayOf returns the midnight of a past day that a request names; zero for today.
func dayOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	today := midnight(now, 0)
	day, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	if err != nil || day.After(today) || day.Before(midnight(now, -keptDays)) {
		return day, &core.Refusal{Status: http.StatusNotFound, Title: words.New("health.no_day.title"),
			Detail: words.New("health.no_day.text", "Days", keptDays)}
	}
	if day.Equal(today) {
		return time.Time{}, nil
	}
	return day, nil
}

func (h *Handler) count(ctx context.Context, now, day time.Time) (n counted, err error) {
	if !day.IsZero() {
		n.day, n.from, n.to = day, day, midnight(day, 1)
		n.endpoints, err = h.Rollup.HealthBetween(ctx, n.from, n.to)
		return n, err
	}
	if n.endpoints, n.from, err = h.Rollup.Health(ctx); err != nil {
		return n, err
	}
	n.to = now
	n.hours, err = h.Rollup.Hours(ctx, "", now.Add(-metrics.KeepQuarters).Truncate(time.Hour))
	return n, err
}

// keptDays is the number of days before today that can be shown.
const keptDays = int(metrics.KeepQuarters / (24 * time.Hour))

// midnight returns the start of the day that is days after t's, in the zone of t.
func midnight(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// standing is what keeps calls to a service from going out, as its card says it.
type standing struct {
	state, why string
	connected  bool // the reader has a connection to it
}

// standings returns what keeps a person's connections, or the installation, from calling a service, by its name.
func (h *Handler) standings(ctx context.Context, user int64) (map[string]standing, error) {
	all, err := h.Statuses.All(ctx, user)
	if err != nil {
		return nil, err
	}
	by := map[string]standing{}
	for _, v := range all {
		before, known := by[v.Provider]
		switch {
		case known && gravity[v.State] <= gravity[before.state]:
		case gravity[v.State] > 0:
			by[v.Provider] = standing{v.State, v.Message, true}
		default:
			by[v.Provider] = standing{state: v.State, connected: true}
		}
	}
	for _, p := range h.core.Services() {
		s, said := h.Guard.StateForAll(p)
		state := kinds[s.Kind]
		if s.Mendable {
			state = needsAdmin
		}
		if gravity[state] > gravity[by[p.Name].state] {
			by[p.Name] = standing{state, said.Message.T(ctx), by[p.Name].connected}
		}
	}
	return by, nil
}

// kinds are the states of the installation's own calls.
var kinds = map[backoff.Kind]string{backoff.Stopped: needsAdmin, backoff.Held: held,
	backoff.Waiting: waiting}

// endpointKey names an endpoint of the roll-up.
type endpointKey struct{ provider, endpoint string }

// open returns the breakers that are not closed.
func (h *Handler) open() map[endpointKey][]transport.BreakerStatus {
	open := map[endpointKey][]transport.BreakerStatus{}
	for _, b := range h.Breakers.Status() {
		if b.State != transport.BreakerClosed {
			k := endpointKey{b.Provider, h.Rollup.Endpoint(b.Provider, b.Host, b.Route)}
			open[k] = append(open[k], b)
		}
	}
	return open
}

// displayName returns what people read for a service.
type displayName func(library.ConnectionID) string
