// Package health answers for how the services do.
package health

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/resilience"
	"reprise/internal/server/admin"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
)

// Handler answers for how the services do.
type Handler struct {
	core     *core.Core
	statuses *connections.Statuses
	rollup   *metrics.Rollup
	breakers *resilience.Breakers
	uplink   *resilience.Uplink
}

// New returns a Handler.
func New(k *core.Core, statuses *connections.Statuses, rollup *metrics.Rollup, breakers *resilience.Breakers,
	uplink *resilience.Uplink) *Handler {
	return &Handler{core: k, statuses: statuses, rollup: rollup, breakers: breakers, uplink: uplink}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) { g.GET("/health", h.page) }

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.GET("/health", h.list)
	g.GET("/health/quarters", h.quartersAPI)
}

// healthView is the health page.
type healthView struct {
	Headline, Lead string
	State          string // of all services, by the name of its shape
	Day            string // a past day; empty for the last 24 hours
	From           string // the start of the first quarter of an hour
	Days           []dayLink
	Providers      []providerHealth
}

type dayLink struct {
	Label, URL string
	Current    bool
}

// providerHealth is a service on the health page, with its endpoints.
type providerHealth struct {
	endpointHealth
	Provider  string
	Endpoints []endpointHealth
	Remarks   []remark
	Hours     []hourView
}

type endpointHealth struct {
	Name   string
	State  string // the name of its shape
	Word   string
	Facts  []figure
	Chart  chart
	health metrics.Health
	open   []resilience.BreakerStatus
}

// figure is a number with its label.
type figure struct{ Label, Value string }

// remark is a problem with an endpoint, and the breaker that an administrator may reset.
type remark struct {
	Endpoint, Text string
	Breaker        *admin.BreakerView
}

// hourView is an hour in numbers.
type hourView struct {
	At                 string
	Attempts, Failures int
	Mean, Open         string
}

func (h *Handler) page(c echo.Context) error {
	now := time.Now()
	today := midnight(now, 0)
	v := healthView{}
	from, to := today, today
	if text := c.QueryParam("day"); text != "" {
		day, err := time.ParseInLocation(time.DateOnly, text, now.Location())
		if err != nil || day.After(today) || day.Before(midnight(now, -keptDays)) {
			return &core.Problem{Status: http.StatusNotFound, Title: "No such day",
				Detail: "What was counted is kept for 14 days. Choose one of them on the page of the " +
					"services' health."}
		}
		from, to = day, midnight(day, 1)
	}
	v.Days = dayLinks(now, from, to)
	var all []metrics.Health
	var err error
	if to.After(today) || from.Equal(to) {
		all, from, err = h.rollup.Health(c.Request().Context())
	} else {
		all, err = h.rollup.HealthBetween(c.Request().Context(), from, to)
		v.Day = from.Format("Monday 2 January 2006")
	}
	if err != nil {
		return err
	}
	v.From = library.Stamp(from)
	v.Providers = h.byProvider(all, from, v.Day == "", core.UserOf(c).Role == accounts.Admin)
	h.summarise(&v)
	return h.core.Render(c, http.StatusOK, "health", "Health of the services", v)
}

// keptDays is the number of days before today that can be shown.
const keptDays = int(metrics.KeepQuarters / (24 * time.Hour))

// midnight returns the start of the day that is days after t's, in the zone of t.
func midnight(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// dayLinks returns links to today and to the days before. The page shows from until to.
func dayLinks(now, from, to time.Time) []dayLink {
	links := []dayLink{{Label: "Last 24 hours", URL: "/health", Current: from.Equal(to) ||
		to.After(midnight(now, 0))}}
	for n := 1; n <= keptDays; n++ {
		day := midnight(now, -n)
		links = append(links, dayLink{Label: day.Format("Mon 2 Jan"),
			URL: "/health?day=" + day.Format(time.DateOnly), Current: day.Equal(from)})
	}
	return links
}

// byProvider groups the counts by service, the worst first.
func (h *Handler) byProvider(all []metrics.Health, from time.Time, live, mayReset bool) []providerHealth {
	open := map[[2]string][]resilience.BreakerStatus{}
	if live {
		for _, b := range h.breakers.Status() {
			if b.State != resilience.BreakerClosed {
				k := [2]string{b.Provider, h.rollup.Endpoint(b.Provider, b.Host, b.Route)}
				open[k] = append(open[k], b)
			}
		}
	}
	var views []providerHealth
	for len(all) > 0 {
		name := all[0].Provider
		n := slices.IndexFunc(all, func(h metrics.Health) bool { return h.Provider != name })
		if n < 0 {
			n = len(all)
		}
		p := providerHealth{Provider: name,
			endpointHealth: endpointHealth{Name: h.core.NameOf(library.ConnectionID(name)),
				health: metrics.Sum(all[:n])}}
		for _, h := range all[:n] {
			e := endpointHealth{Name: h.Endpoint, health: h, open: open[[2]string{name, h.Endpoint}]}
			e.fill(from, live)
			p.Endpoints = append(p.Endpoints, e)
			p.open = append(p.open, e.open...)
			p.health.Trend = max(p.health.Trend, h.Trend)
			p.Remarks = append(p.Remarks, e.remarks(mayReset)...)
		}
		p.fill(from, live)
		p.Hours = hours(p.health.Quarters, from)
		slices.SortStableFunc(p.Endpoints, func(a, b endpointHealth) int { return b.gravity() - a.gravity() })
		views, all = append(views, p), all[n:]
	}
	slices.SortStableFunc(views, func(a, b providerHealth) int {
		return cmp.Or(b.gravity()-a.gravity(), cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	return views
}

func (e *endpointHealth) gravity() int {
	if len(e.open) > 0 {
		return int(metrics.Failing) + 1
	}
	return int(e.health.Trend)
}

// fill sets the words and the chart for the numbers.
func (e *endpointHealth) fill(from time.Time, live bool) {
	h := e.health
	e.Chart = drawDay(e.Name, h.Quarters, from)
	day := figure{"Failed on this day", shortRate(h.Day)}
	opened := figure{"Left alone", core.Minutes(h.Day.Open)}
	if live {
		e.Facts = append(e.Facts, figure{"Failed in the last hour", shortRate(h.Hour)})
		day.Label, opened = "Failed in 24 hours", figure{"Left alone today", core.Minutes(h.Today.Open)}
		e.State, e.Word = e.standing()
	}
	e.Facts = append(e.Facts, day, figure{"Attempts per success", perSuccess(h.Day)},
		figure{"Time taken, mean", meanOf(h.Day)}, opened)
}

// standing returns the present state, as the name of a shape and in words.
func (e *endpointHealth) standing() (state, word string) {
	switch {
	case slices.ContainsFunc(e.open,
		func(b resilience.BreakerStatus) bool { return b.State == resilience.BreakerOpen }):
		return "waiting", "Left alone for a while"
	case len(e.open) > 0:
		return "syncing", "Being tried"
	case e.health.Trend == metrics.Failing:
		return "failing", "Fails more than usual"
	case e.health.Trend == metrics.OftenFailing:
		return "failing", "Fails often"
	case e.health.Trend == metrics.Slower:
		return "held", "Slower than usual"
	case e.health.Hour.Attempts == 0:
		return "new", "Not asked in the last hour"
	case e.health.Hour.Failures == e.health.Hour.Attempts: // too few to call it a trend
		return "new", "No success in the last hour"
	}
	return "healthy", "Answers well"
}

// remarks returns the sentences about problems.
func (e *endpointHealth) remarks(mayReset bool) (all []remark) {
	trend := ""
	if e.health.Trend != metrics.Steady {
		trend = trendWords(e.health)
	}
	if trend != "" && len(e.open) == 0 {
		all = append(all, remark{Endpoint: e.Name, Text: trend})
	}
	for i, b := range e.open {
		r := remark{Endpoint: e.Name, Text: "It is being tried now."}
		if b.State == resilience.BreakerOpen {
			r.Text = "It failed several times in a row and is left alone until " + library.Stamp(b.Until) +
				"; then one call finds out whether it works again."
		}
		if i == 0 && trend != "" {
			r.Text += " " + trend
		}
		if mayReset {
			v := admin.ViewBreaker(b)
			r.Breaker = &v
		}
		all = append(all, r)
	}
	return all
}

// hours sums up quarters by the hour, the newest first, without hours that had no attempts.
func hours(quarters []metrics.Tally, from time.Time) (all []hourView) {
	const each = int(time.Hour / metrics.QuarterLength)
	for i := (len(quarters) - 1) / each * each; i >= 0; i -= each {
		var t metrics.Tally
		for _, q := range quarters[i:min(i+each, len(quarters))] {
			t.Add(q)
		}
		if t.Attempts > 0 || t.Open > 0 {
			all = append(all, hourView{At: library.Stamp(from.Add(time.Duration(i) * metrics.QuarterLength)),
				Attempts: t.Attempts, Failures: t.Failures, Mean: meanOf(t), Open: core.Minutes(t.Open)})
		}
	}
	return all
}
