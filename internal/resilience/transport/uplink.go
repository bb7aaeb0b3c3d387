package transport

import (
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"reprise/internal/resilience"
)

// UplinkOptions are the settings of an [Uplink].
type UplinkOptions struct {
	// Upstreams are the hosts that are reached over the uplink; see [Uplink.Reach].
	Upstreams map[string]string
	// Changed, if set, is called when the uplink is lost, when it is back, and with the first answer after the start.
	// It is called by the goroutine of the call that found out, one call at a time.
	Changed func(offline bool)
	Rand    func() float64 // uniform in [0, 1); for tests
}

// Uplink tells failures of our own connection to the internet from those of upstreams: if several upstreams fail in
// the network and none answers in between, the fault is ours. While it lasts one call in a while goes out to find
// out; all others are refused without counting as failures, with times to come back that are spread. Safe for
// concurrent use.
type Uplink struct {
	opt UplinkOptions

	telling sync.Mutex // held around Changed, so that changes are reported in their order

	mu      sync.Mutex
	hosts   map[string]string // that are reached over the uplink, each with the name of its upstream
	told    uplinkState
	called  map[string]time.Time // upstreams, and when they were last called
	failed  map[string]bool      // those that have failed in the network since one of them answered
	offline bool
	probe   time.Time     // the next one
	every   time.Duration // from one probe to the next
	probing bool
}

// uplinkState is what Changed was called with last.
type uplinkState uint8

const (
	uplinkUntold uplinkState = iota
	uplinkThere
	uplinkLost
)

// The times between probes. They are long, since a call that cannot leave costs its whole timeout.
const (
	minProbe = 15 * time.Second
	maxProbe = 2 * time.Minute
	// inUse is how long an upstream counts as one that could have answered, after its latest call.
	inUse = time.Hour
	// lostBy is how many upstreams have to fail, if that many are in use.
	lostBy = 3
)

// NewUplink returns an uplink that is taken to be there.
func NewUplink(opt UplinkOptions) *Uplink {
	if opt.Rand == nil {
		opt.Rand = rand.Float64
	}
	u := &Uplink{opt: opt, hosts: map[string]string{}, called: map[string]time.Time{}, failed: map[string]bool{}}
	maps.Copy(u.hosts, opt.Upstreams)
	return u
}

// Reach adds a host (with its port, if it has one) that is reached over the uplink, with the name of its upstream. A
// server at home is not one of them.
func (u *Uplink) Reach(host, upstream string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hosts[host] = upstream
}

// Offline reports whether the uplink is lost, and when the next probe may go out.
func (u *Uplink) Offline() (until time.Time, offline bool) {
	if u == nil {
		return time.Time{}, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return resilience.ByClock(u.probe, time.Now()), u.offline
}

// trip is a call on its way. The zero trip does not go over the uplink.
type trip struct {
	of       *Uplink
	upstream string
	probe    bool // it goes out to find out whether the uplink is back
}

// enter reports whether a call may go out, or when to come back. A trip must be followed by leave.
func (u *Uplink) enter(host string) (trip, time.Time, bool) {
	if u == nil {
		return trip{}, time.Time{}, true
	}
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	t := trip{of: u, upstream: u.hosts[host]}
	if t.upstream == "" {
		return trip{}, time.Time{}, true
	}
	u.called[t.upstream] = now
	if !u.offline {
		return t, time.Time{}, true
	}
	if u.probing || u.probe.After(now) {
		return trip{}, u.laterLocked(now), false
	}
	u.probing, t.probe = true, true
	return t, time.Time{}, true
}

// laterLocked returns when a refused call may come back: after the next probe, at a time of its own.
func (u *Uplink) laterLocked(now time.Time) time.Time {
	next := resilience.ByClock(u.probe, now)
	if !next.After(now) {
		next = now
	}
	return next.Add(time.Duration((0.05 + u.opt.Rand()) * float64(u.every)))
}

// leave notes the verdict on a call. It returns when to come back if the call failed for want of an uplink, which
// says nothing about the upstream.
func (t trip) leave(v resilience.Verdict) (time.Time, bool) {
	u := t.of
	if u == nil {
		return time.Time{}, false
	}
	now := time.Now()
	u.mu.Lock()
	was := u.offline
	if t.probe {
		u.probing = false
	}
	switch {
	case v.Class == resilience.Canceled:
	case v.Category != resilience.Network:
		clear(u.failed)
		u.offline = false
	case !u.offline:
		u.failed[t.upstream] = true
		u.lostLocked(now)
	case t.probe:
		u.every = min(2*u.every, maxProbe)
		u.probe = now.Add(u.every)
	}
	ours := was && u.offline && v.Category == resilience.Network
	var later time.Time
	if ours {
		later = u.laterLocked(now)
	}
	news := u.stateLocked() != u.told && (u.offline || v.Class != resilience.Canceled &&
		v.Category != resilience.Network)
	u.mu.Unlock()
	if news {
		u.tell()
	}
	return later, ours
}

func (u *Uplink) stateLocked() uplinkState {
	if u.offline {
		return uplinkLost
	}
	return uplinkThere
}

// lostLocked decides, after a failure, whether it is the uplink.
func (u *Uplink) lostLocked(now time.Time) {
	used := 0
	for _, at := range u.called {
		if now.Sub(at) < inUse {
			used++
		}
	}
	if n := len(u.failed); n >= lostBy || n >= 2 && n == used {
		u.offline, u.every = true, minProbe
		u.probe = now.Add(minProbe)
	}
}

// tell calls Changed with the present state, unless that was the latest.
func (u *Uplink) tell() {
	u.telling.Lock()
	defer u.telling.Unlock()
	u.mu.Lock()
	state := u.stateLocked()
	news := state != u.told
	u.told = state
	u.mu.Unlock()
	if news && u.opt.Changed != nil {
		u.opt.Changed(state == uplinkLost)
	}
}
