package delivery

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"time"

	"reprise/internal/resilience/backoff"
)

// Schedule is when a delivery that failed is tried again.
type Schedule struct {
	First time.Duration // wait after the first failure
	Max   time.Duration // longest wait
	Age   time.Duration // how long it is tried, counted in waits
	Tries int           // how often it is tried; 0: as often as fits into Age
}

// The jitter is small enough that what is done beside the wait keeps each within a fifth of its nominal length.
const (
	jitterShare = 0.1
	mostJitter  = 5 * time.Minute
)

// WithDefaults returns s with the default in place of each zero: waits of 1 s to 1 h for 14 days.
func (s Schedule) WithDefaults() Schedule {
	s.First = cmp.Or(s.First, time.Second)
	s.Max = cmp.Or(s.Max, time.Hour)
	s.Age = cmp.Or(s.Age, 14*24*time.Hour)
	return s
}

// nominal returns the wait after n failures without its jitter. It doubles from First to Max.
func (s Schedule) nominal(n int) time.Duration {
	d := s.First
	for i := 1; i < n && d < s.Max; i++ {
		d *= 2
	}
	return min(d, s.Max)
}

// delay returns the wait after n failures with its jitter: a tenth more or less, at most five minutes, and never
// longer than Max. At Max it varies below.
func (s Schedule) delay(n int) time.Duration {
	d := s.nominal(n)
	j := min(time.Duration(float64(d)*jitterShare), mostJitter)
	low, high := d-j, min(d+j, s.Max)
	return low + time.Duration(rand.Float64()*float64(high-low))
}

// due returns when a delivery is tried again whose nth attempt has failed with err: after its own wait, and not before
// its connection may call.
func (s Schedule) due(n int, err error) time.Time {
	at := time.Now().Add(s.delay(n))
	if f, ok := errors.AsType[*backoff.Failure](err); ok {
		if may := f.Change.Stream.Until; may.After(at) {
			return may
		}
	}
	return at
}

// Attempts returns how many attempts are made: Tries, or as many as fit into Age; at least one.
func (s Schedule) Attempts() int {
	if s.Tries > 0 {
		return s.Tries
	}
	const most = 10_000
	n, total := 1, time.Duration(0)
	for ; n < most; n++ {
		if total += s.nominal(n); total > s.Age {
			break
		}
	}
	return n
}
