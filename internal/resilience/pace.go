package resilience

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Paces keep requests to what upstreams bear, per host and pooled key: a rate where the provider documents one; what an
// answer says is left until its reset; and a distance between requests that is learned from being told to slow down, for
// those that document nothing. Safe for concurrent use.
type Paces struct {
	rates map[string]float64 // requests per second, by host

	mu  sync.Mutex
	all map[paceKey]*pace
}

type paceKey struct{ host, key string }

type pace struct {
	limiter *rate.Limiter // nil where nothing is documented
	spent   time.Time     // nothing is left until then
	space   time.Duration // learned distance between two requests; 0 for none
	next    time.Time     // the earliest instant of the next one, by space
}

const (
	// maxPause is the longest that a request waits for its turn here. A longer wait is a schedule's.
	maxPause = 15 * time.Second
	// The learned distance: it doubles with every request that was too many, and shrinks by a tenth with every other.
	minSpace = 250 * time.Millisecond
	maxSpace = 10 * time.Second
	// unixTimes is from where on a number of seconds is a date: as a wait it would be years.
	unixTimes = 1e8
)

// NewPaces returns paces with these rates, in requests per second by host (with its port, when it has one). A rate of 0
// is none.
func NewPaces(rates map[string]float64) *Paces {
	return &Paces{rates: rates, all: map[paceKey]*pace{}}
}

// wait returns when the request may go out. The time is not zero when that is too far off, or later than ctx ends, and the
// request has to come back then; the error is that of a context that was canceled.
func (ps *Paces) wait(ctx context.Context, host, key string) (time.Time, error) {
	if ps == nil {
		return time.Time{}, nil
	}
	pause, ok := ps.reserve(host, key)
	if !ok {
		return time.Now().Add(pause), nil
	}
	if pause <= 0 {
		return time.Time{}, nil
	}
	turn := time.Now().Add(pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return time.Time{}, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return time.Time{}, context.Canceled
		}
		return turn, nil // the run's time is over, which is no fault of the upstream's
	}
}

// reserve takes a turn, and says how far off it is; false when it is too far off, and was not taken.
func (ps *Paces) reserve(host, key string) (time.Duration, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.findLocked(host, key)
	if p == nil {
		return 0, true
	}
	now := time.Now()
	turn := now
	for _, t := range []time.Time{p.spent, p.next} {
		if t.After(turn) {
			turn = t
		}
	}
	if p.limiter != nil {
		r := p.limiter.ReserveN(turn, 1)
		turn = turn.Add(r.DelayFrom(turn))
		if turn.Sub(now) > maxPause {
			r.CancelAt(now)
		}
	}
	pause := turn.Sub(now)
	if pause > maxPause {
		return pause, false
	}
	if p.space > 0 {
		p.next = turn.Add(p.space)
	}
	return pause, true
}

// findLocked returns the pace of an upstream, or nil when there is nothing to keep to.
func (ps *Paces) findLocked(host, key string) *pace {
	k := paceKey{host, key}
	p := ps.all[k]
	if perSecond := ps.rates[host]; p == nil && perSecond > 0 {
		p = &pace{limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))}
		ps.all[k] = p
	}
	return p
}

// learn notes what an answer says about the pace. Headers of a request that was not answered are nil.
func (ps *Paces) learn(host, key string, header http.Header, v Verdict) {
	if ps == nil || header == nil {
		return
	}
	now := time.Now()
	spent := spentUntil(header, now)
	tooMany := v.Category == RateLimit
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.findLocked(host, key)
	if p == nil {
		if spent.IsZero() && !tooMany {
			return
		}
		p = &pace{}
		ps.all[paceKey{host, key}] = p
	}
	if spent.After(p.spent) {
		p.spent = spent
	}
	switch {
	case tooMany:
		p.space = min(max(2*p.space, minSpace), maxSpace)
		p.next = now.Add(p.space)
	case p.space > 0:
		if p.space -= p.space / 10; p.space < minSpace/10 {
			p.space = 0
		}
	case p.limiter == nil && !p.spent.After(now): // as if nothing had been
		delete(ps.all, paceKey{host, key})
	}
}

// spentUntil is when requests are left again, for an answer that says that none is; zero for any other. The reset comes
// in seconds from now (ListenBrainz), or as Unix time (MusicBrainz, GitHub and most others).
func spentUntil(h http.Header, now time.Time) time.Time {
	if left := h["X-Ratelimit-Remaining"]; len(left) == 0 || left[0] != "0" { // the canonical name: this is looked at with every answer
		return time.Time{}
	}
	in, err := strconv.ParseFloat(h.Get("X-RateLimit-Reset-In"), 64)
	if err != nil {
		in, err = strconv.ParseFloat(h.Get("X-RateLimit-Reset"), 64)
		if err == nil && in > unixTimes {
			in -= float64(now.Unix())
		}
	}
	if err != nil {
		return time.Time{}
	}
	until, _ := After(in, now)
	return until
}
