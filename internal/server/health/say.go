package health

import (
	"strconv"
	"time"

	"reprise/internal/metrics"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// percent returns a share from 0 to 1 in percent. Only zero is written as 0.
func (b *builder) percent(share float64) string {
	p, digits := 100*share, 0
	if p > 0 && p < 9.95 {
		p, digits = max(p, 0.1), 1
	}
	return b.share(p, digits)
}

func (b *builder) share(p float64, digits int) string {
	text := b.l.Decimal(p, digits)
	if whole := float64(int(p)); digits > 0 && b.l.Decimal(whole, digits) == text {
		text = b.l.Decimal(whole, 0)
	}
	return words.T(b.ctx, "health.percent", "Share", text)
}

// answered returns the share of calls that succeeded. Only all of them are 100 percent.
func (b *builder) answered(t metrics.Tally) string {
	if t.Attempts == 0 {
		return words.T(b.ctx, "health.none")
	}
	p := 100 * (1 - t.FailureRate())
	if t.Failures > 0 {
		p = min(p, 99.9)
	}
	return b.share(p, 1)
}

// mean returns how long a call took.
func (b *builder) mean(t metrics.Tally) string {
	if t.Attempts == 0 {
		return words.T(b.ctx, "health.none")
	}
	return core.Took(b.ctx, t.Mean())
}

// minutes returns how long calls were paused.
func (b *builder) minutes(d time.Duration) string {
	switch {
	case d == 0:
		return words.T(b.ctx, "health.none")
	case d < time.Minute:
		return words.T(b.ctx, "health.under_minute")
	}
	return words.T(b.ctx, "health.minutes", "Count", int(d.Round(time.Minute)/time.Minute))
}

// remarks returns the sentences about what is wrong with an endpoint.
func (b *builder) remarks(provider string, n int, e numbers) (all []remarkView) {
	if !b.live() {
		return nil
	}
	name := withoutHost(e.Endpoint)
	add := func(text, reset string) {
		if !b.mayReset {
			reset = ""
		}
		all = append(all, remarkView{ID: "remark-" + provider + "-" + strconv.Itoa(n) + "-" + strconv.Itoa(len(all)),
			Text: text, Reset: reset})
	}
	for _, br := range e.open {
		if br.State == resilience.BreakerOpen {
			add(words.T(b.ctx, "health.why.left", "Endpoint", name, "Until", br.Until), br.Endpoint)
		} else {
			add(words.T(b.ctx, "health.why.trying", "Endpoint", name), br.Endpoint)
		}
	}
	if e.Trend != metrics.Steady {
		add(b.trend(name, e.Health), "")
	}
	return all
}

// trend says how an endpoint does worse than usual.
func (b *builder) trend(name string, h metrics.Health) string {
	share := b.percent(h.Hour.FailureRate())
	switch {
	case h.Trend == metrics.Slower:
		return words.T(b.ctx, "health.why.slower", "Endpoint", name, "Time", core.Took(b.ctx, h.Hour.Mean()),
			"Usual", core.Took(b.ctx, h.Usual.Mean()))
	case h.Trend == metrics.OftenFailing:
		return words.T(b.ctx, "health.why.often", "Endpoint", name, "Share", share, "Count", h.Hour.Attempts)
	case h.Usual.Attempts == 0:
		return words.T(b.ctx, "health.why.new", "Endpoint", name, "Share", share, "Count", h.Hour.Attempts)
	}
	return words.T(b.ctx, "health.why.failing", "Endpoint", name, "Share", share, "Count", h.Hour.Attempts,
		"Usual", b.percent(h.Usual.FailureRate()))
}

// headline returns the title of the page, the sentence below it, and the shape of the worst state.
func (b *builder) headline(all []service) (title, lead, shape string) {
	if !b.live() {
		var t metrics.Tally
		for _, s := range all {
			t.Add(s.Day)
		}
		if t.Attempts == 0 {
			return words.T(b.ctx, "health.nothing_on", "Day", words.Day(b.day)), "", ""
		}
		return b.l.Day(b.day), b.said("whole_day", t), ""
	}
	bad, asked := 0, false
	for _, s := range all {
		if gravity[s.state] > 0 {
			bad++
		}
		asked = asked || s.Hour.Attempts > 0
	}
	switch {
	case len(all) == 0:
		return words.T(b.ctx, "health.nothing"), words.T(b.ctx, "health.nothing_lead"), shapeOf(quiet)
	case b.offline:
		return words.T(b.ctx, "health.offline"), words.T(b.ctx, "health.offline_lead"), waiting
	case bad > 1:
		return words.T(b.ctx, "health.several", "Count", bad), "", shapeOf(all[0].state)
	case bad == 1:
		return words.Each("health.head.", all[0].state, "Name", all[0].name).In(b.l), "", shapeOf(all[0].state)
	case !asked:
		return words.T(b.ctx, "health.all_quiet"), "", shapeOf(quiet)
	}
	return words.T(b.ctx, "health.well"), "", healthy
}
