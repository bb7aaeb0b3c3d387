package metrics

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Tally is what was counted of attempts.
type Tally struct {
	Attempts int // that were made and not canceled
	Failures int // of these; a refusal of one item, as of a song that is not there, is an answer and none
	Refused  int // calls that an open breaker ended; no attempts
	Took     time.Duration
	Open     time.Duration // how long the breaker was not closed
}

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	t.Attempts, t.Failures, t.Refused = t.Attempts+o.Attempts, t.Failures+o.Failures, t.Refused+o.Refused
	t.Took, t.Open = t.Took+o.Took, t.Open+o.Open
}

// FailureRate is the share of attempts that failed, from 0 to 1; 0 when there were none.
func (t Tally) FailureRate() float64 {
	return float64(t.Failures) / float64(max(t.Attempts, 1))
}

// PerSuccess is how many attempts a success took in the mean; 0 when there was none.
func (t Tally) PerSuccess() float64 {
	if t.Attempts == t.Failures {
		return 0
	}
	return float64(t.Attempts) / float64(t.Attempts-t.Failures)
}

// Mean is how long an attempt took in the mean; 0 when there was none.
func (t Tally) Mean() time.Duration { return t.Took / time.Duration(max(t.Attempts, 1)) }

// Trend is how an endpoint does in the last hour, beside the 14 days before. A later one is graver.
type Trend uint8

// The trends.
const (
	Steady       Trend = iota
	Slower             // takes clearly longer than usual
	OftenFailing       // fails often, but not more than usual
	Failing            // fails clearly more than usual
)

var trendNames = [...]string{"steady", "slower", "often_failing", "failing"}

func (t Trend) String() string { return trendNames[t] }

// The rule by which an endpoint does worse than usual; the numbers are ours. It must not speak up for chance: a household
// makes a dozen attempts at an endpoint in an hour, of which one or two may always fail. And it must speak up before the
// breaker does, which takes five failures in a row: a service that fails every third time never opens it.
const (
	enough      = 8                      // attempts that tell something, in the last hour and in the time before
	someFailed  = 3                      // fewer failures are chance
	rateRise    = 0.1                    // a rate is worse when it is more than this above twice the usual one
	timesLonger = 2                      // a mean time is worse when it is more than so often the usual one
	felt        = 250 * time.Millisecond // and at least so much longer
	often       = 0.25                   // a rate that is no good sign even where it is usual
)

// compare judges the last hour by what is usual. What never happened before counts as never failed, and has no usual time.
func compare(hour, usual Tally) Trend {
	rate := hour.FailureRate()
	none := hour.Attempts == hour.Failures
	switch {
	case hour.Failures < someFailed || hour.Attempts < enough && !none: // says nothing of failures
	case usual.Attempts < enough && rate > rateRise, rate > 2*usual.FailureRate()+rateRise:
		return Failing
	case rate >= often:
		return OftenFailing
	}
	if hour.Attempts >= enough && usual.Attempts >= enough && hour.Mean() > timesLonger*usual.Mean() && hour.Mean() >= usual.Mean()+felt {
		return Slower
	}
	return Steady
}

// Health is how an endpoint does.
type Health struct {
	Provider string
	Endpoint string  // as in the labels of /metrics
	Hour     Tally   // the running quarter of an hour and the three before
	Day      Tally   // of all that Quarters holds
	Today    Tally   // since midnight, in the server's zone
	Usual    Tally   // of the 14 days before the last hour, as far as they are known
	Trend    Trend   // of the last hour
	Quarters []Tally // of the day, the oldest first

	today int // the first quarter since midnight
}

// hour is how many quarters one has.
const hour = int(time.Hour / QuarterLength)

// Health returns how every endpoint does that anything is known of: of the last 24 hours, up to now, by provider and name.
// The first quarter began at from.
func (r *Rollup) Health(ctx context.Context) (all []Health, from time.Time, err error) {
	now := time.Now()
	to := now.Truncate(QuarterLength).Add(QuarterLength)
	from = to.Add(-24 * time.Hour)
	quarters, err := r.Quarters(ctx, to.Add(-KeepQuarters), from, to)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	all = gather(quarters, from, to)
	for i := range all {
		h := &all[i]
		h.today = max(0, int(midnight.Sub(from)/QuarterLength))
		for n, t := range h.Quarters {
			if n >= h.today {
				h.Today.Add(t)
			}
			if n < len(h.Quarters)-hour {
				h.Usual.Add(t)
			} else {
				h.Hour.Add(t)
			}
		}
		h.Trend = compare(h.Hour, h.Usual)
	}
	return all, from, err
}

// HealthBetween returns how every endpoint did that was asked from one instant up to before another. Only the tallies of
// the day and of its quarters are filled in.
func (r *Rollup) HealthBetween(ctx context.Context, from, to time.Time) ([]Health, error) {
	quarters, err := r.Quarters(ctx, from, from, to)
	return gather(quarters, from, to), err
}

// gather puts quarters together by endpoint. Sums of the time before are what is usual.
func gather(quarters []Quarter, from, to time.Time) []Health {
	at, n := map[cellKey]*Health{}, int(to.Sub(from)/QuarterLength)
	for _, q := range quarters {
		k := cellKey{provider: q.Provider, endpoint: q.Endpoint}
		h := at[k]
		if h == nil {
			h = &Health{Provider: q.Provider, Endpoint: q.Endpoint, Quarters: make([]Tally, n)}
			at[k] = h
		}
		if q.Start.Before(from) {
			h.Usual.Add(q.Tally)
			continue
		}
		h.Day.Add(q.Tally)
		h.Quarters[min(int(q.Start.Sub(from)/QuarterLength), n-1)].Add(q.Tally)
	}
	all := make([]Health, 0, len(at))
	for _, h := range at {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b Health) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return all
}

// Sum adds up how several endpoints do, as if they were one; its name and trend stay empty. A time in which several
// circuits were open counts once, as well as that can be told of quarters of an hour.
func Sum(all []Health) Health {
	var s Health
	for _, h := range all {
		s.today = h.today
		s.Hour.Add(h.Hour)
		s.Day.Add(h.Day)
		s.Today.Add(h.Today)
		s.Usual.Add(h.Usual)
		if s.Quarters == nil {
			s.Quarters = make([]Tally, len(h.Quarters))
		}
		for i, t := range h.Quarters {
			open := max(s.Quarters[i].Open, t.Open)
			s.Quarters[i].Add(t)
			s.Quarters[i].Open = open
		}
	}
	s.Hour.Open, s.Day.Open, s.Today.Open = 0, 0, 0
	for i, t := range s.Quarters {
		s.Day.Open += t.Open
		if i >= s.today {
			s.Today.Open += t.Open
		}
		if i >= len(s.Quarters)-hour {
			s.Hour.Open += t.Open
		}
	}
	return s
}
