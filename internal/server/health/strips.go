package health

import (
	"time"

	"reprise/internal/metrics"
	"reprise/internal/words"
	"reprise/web/ui"
)

// slotQuarters is how many quarters of an hour a bar of a day's strip is about.
const slotQuarters = 2

// outcome returns how a bar looks.
func outcome(t metrics.Tally) string {
	switch {
	case t.Attempts == 0 && t.Open == 0:
		return ""
	case t.Open > 0 || t.Failures*2 > t.Attempts:
		return "fatal"
	case troubled(t):
		return "retriable"
	}
	return "full"
}

// strip draws a day of a service.
func (b *builder) strip(s *service) stripView {
	v := stripView{From: b.from, Label: b.said("day", s.Day, "Name", s.name)}
	if !b.live() {
		v.Label = b.said("past_day", s.Day, "Name", s.name, "Day", words.Day(b.day))
	}
	for i := 0; i < len(s.Quarters); i += slotQuarters {
		var t metrics.Tally
		for _, q := range s.Quarters[i:min(i+slotQuarters, len(s.Quarters))] {
			t.Add(q)
		}
		from := b.from.Add(time.Duration(i) * metrics.QuarterLength).In(b.now.Location())
		to := from.Add(slotQuarters * metrics.QuarterLength)
		v.Slots = append(v.Slots, ui.Slot{Outcome: outcome(t),
			Words: b.said("slot", t, "From", from.Format("15:04"), "To", to.Format("15:04 MST"))})
	}
	return v
}

// fortnight draws the last 14 days of a service, with today.
func (b *builder) fortnight(name string, hours []metrics.Quarter) stripView {
	days := make([]metrics.Tally, keptDays+1)
	first := midnight(b.now, -keptDays)
	var all metrics.Tally
	for _, q := range hours {
		for i := len(days) - 1; i >= 0; i-- {
			if !q.Start.Before(midnight(b.now, i-keptDays)) {
				days[i].Add(q.Tally)
				break
			}
		}
		all.Add(q.Tally)
	}
	v := stripView{From: first, Label: b.said("fortnight", all, "Name", name)}
	for i, t := range days {
		v.Slots = append(v.Slots, ui.Slot{Outcome: outcomeOfDay(t),
			Words: b.said("slot_day", t, "Day", words.Day(midnight(b.now, i-keptDays)))})
	}
	return v
}

// outcomeOfDay returns how the bar of a day looks: a short trouble does not make it a bad day.
func outcomeOfDay(t metrics.Tally) string {
	switch {
	case t.Attempts == 0 && t.Open == 0:
		return ""
	case t.Open >= time.Hour || t.Failures*4 > t.Attempts:
		return "fatal"
	case t.Open > 0 || t.Failures*50 > t.Attempts:
		return "retriable"
	}
	return "full"
}

// said returns a sentence about the calls in a strip, or in one of its bars.
func (b *builder) said(what string, t metrics.Tally, pairs ...any) string {
	if t.Attempts == 0 {
		pairs = append(pairs, "What", words.New("health.no_calls"))
	} else {
		pairs = append(pairs, "What", words.New("health.calls", "Count", t.Attempts, "Failed", b.l.Number(t.Failures)))
	}
	return words.Each("health.strip.", what, pairs...).In(b.l)
}

// days returns links to now and to the days before.
func (b *builder) days() []ui.Link {
	current := func(yes bool) string {
		if yes {
			return "page"
		}
		return ""
	}
	links := []ui.Link{{Label: words.T(b.ctx, "health.now"), URL: "/health", Current: current(b.live())}}
	for n := 1; n <= keptDays; n++ {
		day := midnight(b.now, -n)
		links = append(links, ui.Link{Label: b.l.ShortDay(day), URL: "/health?day=" + day.Format(time.DateOnly),
			Current: current(day.Equal(b.day))})
	}
	return links
}
