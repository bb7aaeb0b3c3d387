package metrics

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Tally counts attempts.
type Tally struct {
	Attempts int           // made and not canceled
	Failures int           // among Attempts, without failures that say nothing about the service (see ours)
	Refused  int           // calls not made because of an open breaker; no attempts
	Took     time.Duration // all Attempts together
	Open     time.Duration // time in which the breaker was not closed
}

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	t.Attempts += o.Attempts
	t.Failures += o.Failures
	t.Refused += o.Refused
	t.Took += o.Took
	t.Open += o.Open
}

// FailureRate returns the share of attempts that failed, from 0 to 1; 0 without attempts.
func (t Tally) FailureRate() float64 {
	return float64(t.Failures) / float64(max(t.Attempts, 1))
}

// PerSuccess returns the mean number of attempts for a success; 0 without one.
func (t Tally) PerSuccess() float64 {
	if t.Attempts == t.Failures {
		return 0
	}
	return float64(t.Attempts) / float64(t.Attempts-t.Failures)
}

// Mean returns the mean time of an attempt; 0 without one.
func (t Tally) Mean() time.Duration { return t.Took / time.Duration(max(t.Attempts, 1)) }

// Trend compares the last hour of an endpoint with the 14 days before. The higher, the worse.
type Trend uint8

// The trends.
const (
	Steady       Trend = iota
	Slower             // clearly slower than usual
	OftenFailing       // fails often, as usual
	Failing            // fails clearly more than usual
)

var trendNames = [...]string{"steady", "slower", "often_failing", "failing"}

func (t Trend) String() string { return trendNames[t] }

// The thresholds of compare, chosen by us. Chance must not reach them: a household makes a dozen attempts at an
// endpoint in an hour, and one or two may always fail. A service that fails every third time must reach them, because
// it never fails five times in a row, which would open the breaker.
const (
	enough      = 8                      // attempts that a comparison needs, in the last hour and before
	someFailed  = 3                      // failures in the last hour; fewer are chance
	rateRise    = 0.1                    // how far a rate must exceed twice the usual rate
	timesLonger = 2                      // how many times the usual mean time a mean time must exceed
	felt        = 250 * time.Millisecond // how far a mean time must exceed the usual one
	often       = 0.25                   // rate that is bad even if it is usual
)

// compare returns the trend of the last hour. An endpoint without earlier attempts counts as never failed, and has no
// usual time.
func compare(hour, usual Tally) Trend {
	rate := hour.FailureRate()
	none := hour.Attempts == hour.Failures
	switch {
	case hour.Failures < someFailed || hour.Attempts < enough && !none: // not enough to judge failures
	case usual.Attempts < enough && rate > rateRise, rate > 2*usual.FailureRate()+rateRise:
		return Failing
	case rate >= often:
		return OftenFailing
	}
	if hour.Attempts >= enough && usual.Attempts >= enough && hour.Mean() > timesLonger*usual.Mean() &&
		hour.Mean() >= usual.Mean()+felt {
		return Slower
	}
	return Steady
}

// Health sums up the attempts at one endpoint.
type Health struct {
	Provider string
	Endpoint string  // as in the labels of /metrics
	Hour     Tally   // the present quarter of an hour and the three before
	Day      Tally   // all Quarters
	Today    Tally   // since midnight, in the server's time zone
	Usual    Tally   // the 14 days before the last hour, or what is known of them
	Trend    Trend   // of the last hour
	Quarters []Tally // the last 24 hours, the oldest first

	today int // index of the first quarter since midnight
}

// hour is the number of quarters in an hour.
const hour = int(time.Hour / QuarterLength)

// Health returns the health of every known endpoint in the last 24 hours, ordered by provider and name. The first
// quarter begins at from.
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

// HealthBetween returns the health of every endpoint that was called between from, inclusive, and to, exclusive. It
// fills in Day and Quarters only.
func (r *Rollup) HealthBetween(ctx context.Context, from, to time.Time) ([]Health, error) {
	quarters, err := r.Quarters(ctx, from, from, to)
	return gather(quarters, from, to), err
}

// gather groups quarters by endpoint. Sums of the time before from are the usual tally.
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
	slices.SortStableFunc(all, func(a, b Health) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return all
}

// Sum adds up the health of several endpoints. The name and the trend stay empty. When several breakers were open at
// the same time it counts once, to the precision of a quarter.
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
