package resilience

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Options are the settings of a [Backoff]. The zero value means the defaults of the resilience page.
type Options struct {
	Base   time.Duration  // wait after the first failure; default 30 s
	Max    time.Duration  // longest wait; default 30 min
	Jitter float64        // 0 to 1, the share by which a wait varies; default 0.25; negative for none
	Rand   func() float64 // uniform in [0, 1); for tests
}

// stillFailingAfter is how long a backoff stays at its cap before somebody is told.
const stillFailingAfter = 24 * time.Hour

// Key names one stream of one user's connection.
type Key struct {
	User     int64
	Provider string
	// App is whose limits the connection shares: a client id, or the host of a self-hosted server. An empty App
	// stands for the provider itself.
	App    string
	Stream string
}

type connKey struct {
	user     int64
	provider string
}

type appKey struct{ provider, app string }

type conn struct {
	unit
	generation int64
	app        *app
	streams    []*stream // one to three
}

type app struct {
	unit
	name string
}

type stream struct {
	unit
	name string
}

func (c *conn) stream(name string) *stream {
	for _, s := range c.streams {
		if s.name == name {
			return s
		}
	}
	s := &stream{name: name}
	c.streams = append(c.streams, s)
	return s
}

// Backoff decides whether a connection may call its upstream. See the package comment. Safe for concurrent use.
type Backoff struct {
	opt Options

	mu    sync.Mutex
	seq   uint64 // orders permits and failures
	conns map[connKey]*conn
	apps  map[appKey]*app
}

// NewBackoff returns an empty manager.
func NewBackoff(opt Options) *Backoff {
	if opt.Base == 0 {
		opt.Base = 30 * time.Second
	}
	if opt.Max == 0 {
		opt.Max = 30 * time.Minute
	}
	if opt.Jitter == 0 {
		opt.Jitter = 0.25
	}
	if opt.Rand == nil {
		opt.Rand = rand.Float64
	}
	return &Backoff{opt: opt, conns: map[connKey]*conn{}, apps: map[appKey]*app{}}
}

// Permit is the right to one call. It takes exactly one outcome; the zero Permit takes none.
type Permit struct {
	b          *Backoff
	c          *conn
	s          *stream
	app        *app
	id         uint64
	generation int64
}

// Acquire gives a permit, or the state that stands against one. When a backoff has ended, exactly one caller gets
// through; the others are refused, with a zero State.Until, until its outcome is known. generation is that of the
// credential which the caller is going to use.
func (b *Backoff) Acquire(k Key, generation int64) (Permit, State, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(k)
	s := c.stream(k.Stream)
	if c.kind|c.app.kind|s.kind != Ready {
		if st := effectiveLocked(c, s, time.Now()); st.Kind != Ready {
			return Permit{}, st, false
		}
	}
	if generation > c.generation {
		c.generation = generation
	}
	b.seq++
	p := Permit{b: b, c: c, s: s, app: c.app, id: b.seq, generation: generation}
	for _, u := range p.units() {
		if u.kind != Ready {
			u.probe = p.id
		}
	}
	return p, State{}, true
}

// units are what stands between a permit and its call, with the scope of each at the same index in unitScopes.
func (p *Permit) units() [3]*unit { return [3]*unit{&p.app.unit, &p.c.unit, &p.s.unit} }

var unitScopes = [3]Scope{ScopeApp, ScopeConnection, ScopeStream}

// effectiveLocked is the worst of the states that bear on a stream and do not allow a call now: a stop before a wait,
// a longer wait before a shorter one.
func effectiveLocked(c *conn, s *stream, now time.Time) State {
	var worst State
	p := Permit{c: c, s: s, app: c.app}
	for i, u := range p.units() {
		if u.mayCall(now) {
			continue
		}
		st := u.state(unitScopes[i])
		if worst.Kind == Ready || st.Kind == Stopped && worst.Kind != Stopped ||
			(st.Kind == Stopped) == (worst.Kind == Stopped) && st.Until.After(worst.Until) {
			worst = st
		}
	}
	return worst
}

// Done gives the permit back with what its call came to, and says whether that changed the state. Only the first call
// counts. An outcome of a credential that has been replaced since changes nothing, nor does a success that was under
// way before the latest failure.
func (p *Permit) Done(v Verdict) Change {
	b := p.b
	if b == nil {
		return Change{}
	}
	p.b = nil
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range p.units() {
		if u.probe == p.id {
			u.probe = 0
		}
	}
	if p.generation < p.c.generation || v.Class == Canceled {
		return Change{}
	}
	if v.Class == OK {
		return p.succeedLocked()
	}
	u, scope := p.faultLocked(v.Scope)
	if v.Class == Fatal {
		return b.stopLocked(u, scope, v.Category, p.id)
	}
	return b.waitLocked(u, scope, v, p.id)
}

func (p *Permit) faultLocked(s Scope) (*unit, Scope) {
	switch s {
	case ScopeApp, ScopeKey:
		return &p.app.unit, ScopeApp
	case ScopeConnection:
		return &p.c.unit, ScopeConnection
	}
	return &p.s.unit, ScopeStream
}

func (p *Permit) succeedLocked() Change {
	var ended State
	for i, u := range p.units() {
		if u.kind == Ready || u.kind == Stopped || u.failedAt > p.id {
			continue
		}
		if st := u.state(unitScopes[i]); ended.Kind == Ready || st.Since.Before(ended.Since) {
			ended = st
		}
		u.reset()
	}
	if ended.Kind == Ready {
		return Change{}
	}
	return Change{Kind: Recovered, State: ended}
}

func (b *Backoff) stopLocked(u *unit, scope Scope, c Category, permit uint64) Change {
	if u.kind == Stopped {
		return Change{}
	}
	b.seq++
	if u.since.IsZero() {
		u.since = time.Now()
	}
	u.kind, u.category, u.until, u.failedAt = Stopped, c, time.Time{}, b.seq
	u.failures++
	return Change{Kind: BecameFatal, State: u.state(scope)}
}

func (b *Backoff) waitLocked(u *unit, scope Scope, v Verdict, permit uint64) Change {
	if u.kind == Stopped {
		return Change{}
	}
	now := time.Now()
	before := *u
	if u.failedAt < permit { // else the call began before the latest failure and tells nothing new
		if u.failures == 0 {
			u.since = now
		}
		u.failures++
		if v.FatalAfter == 0 || u.category != v.Category {
			u.repeats = 0
		}
		u.repeats++
		if v.FatalAfter > 0 && u.repeats >= v.FatalAfter {
			return b.stopLocked(u, scope, Contract, permit)
		}
		delay, capped := b.delay(u.failures, v.FirstDelay)
		u.category = v.Category
		u.until = now.Add(delay)
		if before.kind != Held || !before.until.After(u.until) {
			u.kind = Waiting
		} else {
			u.until = before.until
		}
		if capped && u.capSince.IsZero() {
			u.capSince = now
		}
		b.seq++
		u.failedAt = b.seq
	}
	newHold := b.holdLocked(u, v, before)
	ch := Change{State: u.state(scope), NewHold: newHold}
	switch {
	case before.kind == Ready:
		ch.Kind = Began
	case !u.capSince.IsZero() && !u.capTold && now.Sub(u.capSince) >= stillFailingAfter:
		u.capTold = true
		ch.Kind = StillFailing
	}
	return ch
}

// holdLocked applies the wait that the upstream dictated. A rate limit is kept to the second; for an outage it is the
// least that we wait. A smaller value never shortens a hold that already stands.
func (b *Backoff) holdLocked(u *unit, v Verdict, before unit) bool {
	if v.NotBefore.IsZero() || before.kind == Held && !v.NotBefore.After(before.until) {
		return false
	}
	exact := v.Category != Upstream && v.Category != Network
	if !exact && !v.NotBefore.After(u.until) {
		return false
	}
	u.kind, u.until, u.category = Held, v.NotBefore, v.Category
	return true
}

// delay is the wait after n failures in a row: min(base · 2^(n−1), max) · U[1−j, min(1+j, max/d)], so that it never
// exceeds max and still varies there.
func (b *Backoff) delay(n int, first time.Duration) (d time.Duration, capped bool) {
	d = b.opt.Base
	if first > 0 {
		d = min(d, first)
	}
	for i := 1; i < n && d < b.opt.Max; i++ {
		d *= 2
	}
	d = min(d, b.opt.Max)
	j := max(b.opt.Jitter, 0)
	low, high := 1-j, min(1+j, float64(b.opt.Max)/float64(d))
	return time.Duration(float64(d) * (low + (high-low)*b.opt.Rand())), d == b.opt.Max
}
