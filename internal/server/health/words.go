package health

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/metrics"
	"reprise/internal/server/core"
	"reprise/web"
)

// trendWords says how an endpoint is worse than usual.
func trendWords(h metrics.Health) string {
	of := percent(h.Hour.FailureRate()) + " of " + web.Count(h.Hour.Attempts, "attempt", "attempts") +
		" in the last hour"
	switch {
	case h.Trend == metrics.Slower:
		return fmt.Sprintf("Slower than usual: %s in the mean of the last hour, usually %s.",
			core.Took(h.Hour.Mean()), core.Took(h.Usual.Mean()))
	case h.Trend == metrics.OftenFailing:
		return "Fails often, as it has for days: " + of + "."
	case h.Usual.Attempts == 0:
		return "Fails: " + of + "."
	}
	return "Fails more often than usual: " + of + ", usually " + percent(h.Usual.FailureRate()) + "."
}

// summarise sets the headline of the page.
func (h *Handler) summarise(v *healthView) {
	v.State = "healthy"
	_, offline := h.uplink.Offline()
	switch {
	case len(v.Providers) == 0:
		v.State, v.Headline = "new", "Nothing has been asked of any service yet"
		if v.Day != "" {
			v.Headline = "Nothing was asked of any service on " + v.Day
		}
	case v.Day != "":
		v.State, v.Headline = "", v.Day
		var all metrics.Tally
		for _, p := range v.Providers {
			all.Add(p.health.Day)
		}
		v.Lead = rateOf(all) + " failed."
	case offline:
		v.State, v.Headline = "waiting", "This server is offline"
		v.Lead = "Several services cannot be reached at once, so it seems to be our own connection to the " +
			"internet, and not the services."
	case v.Providers[0].gravity() == 0:
		v.Headline = "All services answer well"
		if asked := slices.ContainsFunc(v.Providers,
			func(p providerHealth) bool { return p.health.Hour.Attempts > 0 }); !asked {
			v.State, v.Headline = "new", "Nothing was asked of any service in the last hour"
		}
	default:
		v.State, v.Headline = v.Providers[0].State, headline(v.Providers)
	}
}

// headline returns the sentence about the services with problems. There is at least one.
func headline(all []providerHealth) string {
	n := slices.IndexFunc(all, func(p providerHealth) bool { return p.gravity() == 0 })
	if n < 0 {
		n = len(all)
	}
	first := all[0]
	switch {
	case n > 1:
		return fmt.Sprintf("%d services do worse than they should; each tells below", n)
	case len(first.open) > 0:
		return first.Name + " fails, and is left alone for a while"
	}
	var hour metrics.Tally // of the endpoints with the same trend
	for _, e := range first.Endpoints {
		if e.health.Trend == first.health.Trend {
			hour.Add(e.health.Hour)
		}
	}
	of := fmt.Sprintf(": %s of %s in the last hour", percent(hour.FailureRate()),
		web.Count(hour.Attempts, "attempt", "attempts"))
	switch first.health.Trend {
	case metrics.Slower:
		return first.Name + " answers more slowly than usual"
	case metrics.OftenFailing:
		return first.Name + " fails often" + of
	}
	return first.Name + " fails more often than usual" + of
}

// percent returns a share from 0 to 1 in percent. Only zero is written as 0.
func percent(share float64) string {
	p := 100 * share
	text := strconv.Itoa(int(math.Round(p)))
	if p > 0 && p < 9.95 {
		text = strings.TrimSuffix(strconv.FormatFloat(max(p, 0.1), 'f', 1, 64), ".0")
	}
	return text + "\u00a0%"
}

// shortRate returns a failure rate without naming the attempts.
func shortRate(t metrics.Tally) string {
	if t.Attempts == 0 {
		return "none asked"
	}
	return percent(t.FailureRate()) + " of " + web.Number(t.Attempts)
}

func rateOf(t metrics.Tally) string {
	if t.Attempts == 0 {
		return "no attempts"
	}
	return percent(t.FailureRate()) + " of " + web.Count(t.Attempts, "attempt", "attempts")
}

func perSuccess(t metrics.Tally) string {
	switch {
	case t.Attempts == 0:
		return "–"
	case t.PerSuccess() == 0:
		return "no success"
	}
	return strconv.FormatFloat(t.PerSuccess(), 'f', 2, 64)
}

func meanOf(t metrics.Tally) string {
	if t.Attempts == 0 {
		return "–"
	}
	return core.Took(t.Mean())
}
