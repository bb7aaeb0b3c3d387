package health

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/connections"
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

// lately is how many quarters of an hour the tries of a service are counted in: with the present one at least 15
// minutes.
const lately = 2

// tries says how many tries a success has taken lately. More than one is the first sign of trouble.
func (b *builder) tries(s *service) string {
	var t metrics.Tally
	n := max(len(s.Quarters)-lately, 0)
	for _, q := range s.Quarters[n:] {
		t.Add(q)
	}
	from := b.from.Add(time.Duration(n) * metrics.QuarterLength).In(b.now.Location()).Format("15:04")
	switch {
	case t.Attempts == 0:
		return ""
	case t.PerSuccess() == 0:
		return words.T(b.ctx, "health.tries.none", "From", from, "Tries", b.l.Number(t.Attempts))
	}
	return words.T(b.ctx, "health.tries.mean", "From", from, "Tries", b.l.Decimal(t.PerSuccess(), 1))
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

// remark is what is wrong with the endpoints of one stream. The worst trouble counts: that others fail is said by it.
type remark struct {
	what      string        // the stream; empty for other calls
	trouble   string        // the worst state of its endpoints
	hour      metrics.Tally // these two of the endpoints with that trouble
	usual     metrics.Tally
	until     time.Time // of open breakers: the next attempt
	endpoints []string  // all with trouble, without hosts
	breakers  []string  // that can be reset
}

// remarks returns what is wrong with the endpoints of a service, in one sentence for each thing that people know:
// listens, playlists and sending. The requests themselves are beside it.
func (b *builder) remarks(s *service) (all []remarkView) {
	if !b.live() {
		return nil
	}
	var found []*remark
	for _, e := range s.endpoints {
		trouble, what := e.state(), library.StreamOf(e.Endpoint)
		if gravity[trouble] == 0 {
			continue
		}
		i := slices.IndexFunc(found, func(r *remark) bool { return r.what == what })
		if i < 0 { // the worst comes first
			i, found = len(found), append(found, &remark{what: what, trouble: trouble})
		}
		found[i].add(e, trouble)
	}
	for i, r := range found {
		v := remarkView{ID: "remark-" + s.Provider + "-" + strconv.Itoa(i), Text: b.sentence(s.name, r),
			Requests: strings.Join(r.endpoints, "\n")}
		if b.mayReset {
			v.Reset = r.breakers
		}
		all = append(all, v)
	}
	return all
}

// add adds an endpoint with its trouble.
func (r *remark) add(e numbers, trouble string) {
	if name := withoutHost(e.Endpoint); !slices.Contains(r.endpoints, name) {
		r.endpoints = append(r.endpoints, name)
	}
	for _, br := range e.open {
		r.breakers = append(r.breakers, br.Endpoint)
		if br.State == transport.BreakerOpen && (r.until.IsZero() || br.Until.Before(r.until)) {
			r.until = br.Until
		}
	}
	if trouble == r.trouble {
		r.hour.Add(e.Hour)
		r.usual.Add(e.Usual)
	}
}

// sentence says what is wrong with some endpoints of a service.
func (b *builder) sentence(service string, r *remark) string {
	what := words.Plain(service)
	if r.what != "" {
		what = words.Each("health.part.", r.what)
	}
	pairs, trouble := []any{"What", what}, r.trouble
	switch trouble {
	case left:
		pairs = append(pairs, "Until", r.until)
	case trying:
	case slower:
		pairs = append(pairs, "Time", core.Took(b.ctx, r.hour.Mean()), "Usual", core.Took(b.ctx, r.usual.Mean()))
	default:
		pairs = append(pairs, "Share", b.percent(r.hour.FailureRate()), "Count", r.hour.Attempts)
		if trouble == failing && r.usual.Attempts == 0 {
			trouble = "new" // and nobody knows what is usual
		} else if trouble == failing {
			pairs = append(pairs, "Usual", b.percent(r.usual.FailureRate()))
		}
	}
	return words.Each("health.why.", trouble, pairs...).T(b.ctx)
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
	var n connections.Needs
	bad, asked, you := 0, false, b.mayReset
	for _, s := range all {
		card := b.standings[s.Provider]
		you = you || card.state == needsReconnect
		if card.connected || s.state == needsAdmin {
			n.Add(card.state, s.name)
		}
		if gravity[s.state] > 0 {
			bad++
		}
		asked = asked || s.Hour.Attempts > 0
	}
	switch {
	case len(all) == 0:
		return words.T(b.ctx, "health.nothing"), words.T(b.ctx, "health.nothing_lead"), shapeOf(quiet)
	case len(n.Person) > 0:
		return n.Words(you).T(b.ctx), "", needsReconnect
	case b.offline:
		return words.T(b.ctx, "alert.offline.title"), words.T(b.ctx, "health.offline_lead"), waiting
	case bad == 1: // nothing else is to be counted
		return words.Each("health.head.", all[0].state, "Name", all[0].name).In(b.l), "", shapeOf(all[0].state)
	case len(n.Time) > 0:
		return n.Words(you).T(b.ctx), "", waiting
	case bad > 1:
		return words.T(b.ctx, "health.several", "Count", bad), "", shapeOf(all[0].state)
	case !asked:
		return words.T(b.ctx, "health.all_quiet"), "", shapeOf(quiet)
	}
	return words.T(b.ctx, "health.well"), "", healthy
}
