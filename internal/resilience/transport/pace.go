package transport

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"reprise/internal/resilience"
)

// Paces limit requests to what upstreams accept, per host and pooled key: to a documented rate, to what an answer
// says is left until its reset, and by a distance between requests that is learned from answers that say "too many".
// Safe for concurrent use.
type Paces struct {
	mu    sync.Mutex
	rates map[string]float64 // requests per second, by host
	all   map[paceKey]*pace
}

type paceKey struct{ host, key string }

type pace struct {
	limiter *rate.Limiter // nil where nothing is documented
	spent   time.Time     // nothing is left until then
	space   time.Duration // learned distance between two requests; 0 for none
	next    time.Time     // the earliest instant of the next one, by space
}

const (
	// maxPause is how long a request waits for its turn here. For longer waits the stream is put off.
	maxPause = 15 * time.Second
	// The learned distance doubles with every request that was too many, and shrinks by a tenth with every other.
	minSpace = 250 * time.Millisecond
	maxSpace = 10 * time.Second
	// unixTimes is the smallest number of seconds that is taken for a date: as a wait it would be years.
	unixTimes = 1e8
)

// NewPaces returns paces with these rates, in requests per second by host (with its port, if it has one). A rate of 0
// is none.
func NewPaces(rates map[string]float64) *Paces {
	ps := &Paces{rates: map[string]float64{}, all: map[paceKey]*pace{}}
	maps.Copy(ps.rates, rates)
	return ps
}

// Limit changes the rate of a host. What was learned from its answers stays.
func (ps *Paces) Limit(host string, perSecond float64) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.rates[host] == perSecond {
		return
	}
	ps.rates[host] = perSecond
	for k, p := range ps.all {
		if k.host == host {
			p.limiter = limiter(perSecond)
		}
	}
}

// limiter returns a limiter of that many requests per second, nil for 0.
func limiter(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}

// wait waits for the turn of a request. It returns a time if that is too far off, or later than ctx ends: the request
// has to come back then. The error is that of a canceled context.
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

// reserve takes a turn, and returns how far off it is; false if that is too far, and no turn was taken.
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

// findLocked returns the pace of an upstream, or nil if it has no limit.
func (ps *Paces) findLocked(host, key string) *pace {
	k := paceKey{host, key}
	p := ps.all[k]
	if perSecond := ps.rates[host]; p == nil && perSecond > 0 {
		p = &pace{limiter: limiter(perSecond)}
		ps.all[k] = p
	}
	return p
}

// learn notes what an answer says about the pace. The header of a request without an answer is nil.
func (ps *Paces) learn(host, key string, header http.Header, v resilience.Verdict) {
	if ps == nil || header == nil {
		return
	}
	now := time.Now()
	spent := spentUntil(header, now)
	tooMany := v.Category == resilience.RateLimit
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

// spentUntil returns when requests are left again, if an answer says that none is; zero otherwise. The reset is in
// seconds from now (ListenBrainz) or a Unix time (MusicBrainz, GitHub and most others).
func spentUntil(h http.Header, now time.Time) time.Time {
	// Without Get, since every answer is looked at.
	if left := h["X-Ratelimit-Remaining"]; len(left) == 0 || left[0] != "0" {
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
	until, _ := resilience.After(in, now)
	return until
}
