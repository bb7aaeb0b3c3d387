package backoff

import (
	"time"

	"reprise/internal/resilience"
)

// Permit is the right to make one call. It takes exactly one outcome; the zero Permit takes none.
type Permit struct {
	of         *Manager
	b          *Manager // of, until the outcome is known
	c          *conn
	s          *stream
	app        *app
	id         uint64
	generation int64
	troubled   bool // it was given after a failure that nothing has ended yet
	attempt    int  // number of the first try of each request, from 1
	latest     int  // number of the latest one, as the log shows it; 0 before a request
	waited     time.Duration
	// Terms are what Done has to know of the call. They are set before it.
	Terms Terms
}

// Waited returns how long the call has waited since the failure before it; 0 without one.
func (p *Permit) Waited() time.Duration { return p.waited }

// Acquire returns a permit, or the state that forbids the call. When a backoff has ended, exactly one caller gets
// through; the others are refused, with a zero State.Until, until its outcome is known. generation is that of the
// credential that the caller is going to use.
func (b *Manager) Acquire(k Key, generation int64) (p Permit, st State, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(&k)
	s := c.stream(k.Stream)
	p.c, p.s, p.app, p.generation = c, s, c.app, generation
	trouble := c.kind|c.app.kind|s.kind != Ready
	p.attempt = 1
	if trouble {
		now := time.Now()
		if st = p.effectiveLocked(now); st.Kind != Ready {
			return Permit{}, st, false
		}
		p.follows(now)
	}
	if generation > c.generation {
		c.generation = generation
	}
	b.seq++
	p.of, p.b, p.id = b, b, b.seq
	if p.troubled = trouble; trouble {
		for _, u := range p.units() {
			if u.kind != Ready {
				u.probe = p.id
			}
		}
	}
	return p, st, true
}

// follows numbers the call behind the failures before it.
func (p *Permit) follows(now time.Time) {
	for _, u := range p.units() {
		if u.attempt >= p.attempt {
			p.attempt, p.waited = u.attempt+1, now.Sub(u.failed)
		}
	}
}

// units returns the states that a call depends on; the scope of each is at the same index in unitScopes.
func (p *Permit) units() [3]*unit { return [3]*unit{&p.app.unit, &p.c.unit, &p.s.unit} }

var unitScopes = [3]resilience.Scope{resilience.ScopeApp, resilience.ScopeConnection, resilience.ScopeStream}

// effectiveLocked returns the worst of the states that do not allow the permit's call now: a stop before a wait, a
// longer wait before a shorter one.
func (p *Permit) effectiveLocked(now time.Time) State {
	var worst State
	for i, u := range p.units() {
		if u.mayCall(now) {
			continue
		}
		st := u.shown(unitScopes[i], now)
		if worst.Kind == Ready || st.Kind == Stopped && worst.Kind != Stopped ||
			(st.Kind == Stopped) == (worst.Kind == Stopped) && st.Until.After(worst.Until) {
			worst = st
		}
	}
	return worst
}

// Attempt returns the number of the first try at each request of the call, from 1.
func (p *Permit) Attempt() int { return p.attempt }

// Clean reports whether the permit was given while nothing was known to fail.
func (p *Permit) Clean() bool { return p != nil && !p.troubled }

// Ask returns an error if the nth attempt at a request of the permit's run may not go out any more: something that it
// depends on was stopped, or told to wait, or its credential was replaced or forgotten. A wait that we guess ends no
// run. Ask takes nothing from the permit, and answers also after Done.
func (p *Permit) Ask(endpoint string, n int) error {
	if p == nil || p.c == nil {
		return nil
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.latest = n
	if p.generation >= p.c.generation && p.app.kind|p.c.kind|p.s.kind == Ready { // the usual case
		return nil
	}
	now := time.Now()
	if st := p.metLocked(now); st.Kind != Ready {
		return &NotBeforeError{State: st, Endpoint: endpoint, Met: true}
	}
	return nil
}

func (p *Permit) metLocked(now time.Time) State {
	if p.generation < p.c.generation { // the next run has the new credential, or none
		return State{Kind: Waiting, Scope: resilience.ScopeConnection, Until: now}
	}
	for _, u := range p.units() {
		if u.kind == Stopped || u.kind != Ready && u.hold.After(now) {
			return p.effectiveLocked(now)
		}
	}
	return State{}
}

// stateLocked returns what keeps the permit's stream from calling now. A wait that has ended still shows until the
// next attempt succeeds.
func (p *Permit) stateLocked(now time.Time) State {
	if st := p.effectiveLocked(now); st.Kind != Ready {
		return st
	}
	for i, u := range p.units() {
		if u.kind != Ready {
			return u.shown(unitScopes[i], now)
		}
	}
	return State{}
}

// allReadyLocked reports whether every stream of the permit's connection may call.
func (p *Permit) allReadyLocked() bool {
	kinds := p.app.kind | p.c.kind | p.s.kind
	for s := p.c.streams; s != nil; s = s.next {
		kinds |= s.kind
	}
	return kinds == Ready
}

// Done returns the permit with the verdict on its call, and reports what that changed. Only the first call counts. An
// outcome that is out of date changes nothing:
//   - any of a credential that has been replaced or forgotten since;
//   - a success, or a retriable failure without a longer hold, of a call that began before the latest failure;
//   - a fatal failure of a call that began before a person's "Try again" lifted a stop or a backoff.
func (p *Permit) Done(v resilience.Verdict) Change {
	b := p.b
	if b == nil {
		return Change{}
	}
	p.b = nil
	v = p.whole(v)
	learned := v
	if v.Scope == resilience.ScopeItem { // the call itself went well
		learned = resilience.Verdict{}
	}
	b.mu.Lock()
	if learned.Class == resilience.OK &&
		p.c.kind|p.app.kind|p.s.kind == Ready { // the usual case: nothing to end, and no probe
		ready, seq := p.allReadyLocked(), b.seq
		b.mu.Unlock()
		return Change{Verdict: v, AllReady: ready, Seq: seq}
	}
	defer b.mu.Unlock()
	ch := p.doneLocked(b, learned)
	ch.Verdict = v
	ch.Stream, ch.AllReady, ch.Seq = p.stateLocked(time.Now()), p.allReadyLocked(), b.seq
	return ch
}

func (p *Permit) doneLocked(b *Manager, v resilience.Verdict) Change {
	units := p.units()
	for _, u := range units {
		if u.probe == p.id {
			u.probe = 0
		}
	}
	if p.generation < p.c.generation || v.Class == resilience.Canceled {
		return Change{}
	}
	if v.Class == resilience.OK {
		return p.succeedLocked()
	}
	if v.FatalAfter == 0 && v.Scope != resilience.ScopeEndpoint { // another failure: no longer the same one in a row
		for _, u := range units {
			u.repeats = 0
		}
	}
	if v.Scope == resilience.ScopeEndpoint {
		return b.putOffLocked(&p.s.unit, v, p.id)
	}
	u, scope := p.faultLocked(v.Scope)
	if v.Class == resilience.Retriable {
		return p.waitLocked(b, u, scope, v)
	}
	if u.kind == Stopped || p.id < u.liftedAt {
		return Change{}
	}
	u.failures++
	u.attempt, u.failed = max(u.attempt+1, p.latest), time.Now()
	return b.stopLocked(u, scope, v)
}

// faultLocked returns the unit that a failure speaks about. A key whose failure gets this far is in no pool: it is the
// app's own registration with the provider, such as the project of its client id, so all its users share it.
func (p *Permit) faultLocked(s resilience.Scope) (*unit, resilience.Scope) {
	switch s {
	case resilience.ScopeApp, resilience.ScopeKey:
		return &p.app.unit, resilience.ScopeApp
	case resilience.ScopeConnection:
		return &p.c.unit, resilience.ScopeConnection
	}
	return &p.s.unit, resilience.ScopeStream
}

func (p *Permit) succeedLocked() Change {
	var ended State
	for i, u := range p.units() {
		if u.kind == Ready || u.kind == Stopped || u.failedAt > p.id {
			continue
		}
		if st := u.state(unitScopes[i], time.Now()); ended.Kind == Ready || st.Since.Before(ended.Since) {
			ended = st
		}
		u.reset()
	}
	if ended.Kind == Ready {
		return Change{}
	}
	return Change{Kind: Recovered, Fault: ended}
}

func (b *Manager) stopLocked(u *unit, scope resilience.Scope, v resilience.Verdict) Change {
	now := time.Now()
	if u.since.IsZero() {
		u.since = now
	}
	b.seq++
	u.kind, u.category, u.until, u.failedAt = Stopped, v.Category, time.Time{}, b.seq
	u.forAdmin, u.strays, u.mendable = v.ForAdmin, 0, false
	return Change{Kind: BecameFatal, Fault: u.state(scope, now)}
}

func (p *Permit) waitLocked(b *Manager, u *unit, scope resilience.Scope, v resilience.Verdict) Change {
	now := time.Now()
	before := u.kind
	late := u.failedAt > p.id // the call began before the latest failure: only a longer hold would be news
	n := u.failures
	if !late || before == Ready {
		n++
	}
	longer := u.dictate(v.EndOfWait(n, now), v.Category, now)
	if before == Stopped || late && !longer {
		return Change{}
	}
	if u.since.IsZero() {
		u.since = now
	}
	told := false
	if !late || before == Ready {
		u.failures = n
		u.attempt, u.failed = max(u.attempt+1, p.latest), now
		told = u.strayed(v)
		if u.repeated(v) {
			return b.stopLocked(u, scope, resilience.Verdict{Category: resilience.Contract})
		}
		delay, capped := b.opt.Delay(u.failures, v.FirstDelay)
		u.kind, u.category, u.until = Waiting, v.Category, now.Add(delay)
		if capped && u.capSince.IsZero() {
			u.capSince = now
		}
	}
	u.settle(now)
	b.seq++
	u.failedAt = b.seq
	ch := Change{Fault: u.state(scope, now), NewHold: longer && u.kind == Held}
	switch {
	case before == Ready:
		ch.Kind = Began
	case told:
		ch.Kind = WentAstray
	case !u.capSince.IsZero() && !u.capTold && now.Sub(u.capSince) >= stillFailingAfter:
		u.capTold = true
		ch.Kind = StillFailing
	}
	return ch
}

// putOffLocked makes a stream wait for something that all users share, without counting a failure. The waits are
// spread, so that not everybody comes back at once.
func (b *Manager) putOffLocked(u *unit, v resilience.Verdict, permit uint64) Change {
	if u.kind == Stopped || u.failedAt > permit {
		return Change{}
	}
	now := time.Now()
	began := u.kind == Ready
	if began {
		u.since = now
	}
	news := u.failures == 0 && u.category != v.Category
	if news { // a failure of its own would be the better reason
		u.category = v.Category
	}
	wait := max(v.NotBefore.Sub(now), time.Second)
	wait += time.Duration(float64(wait) * max(b.opt.Jitter, 0) * b.opt.Rand())
	u.kind, u.until = Waiting, now.Add(wait)
	u.settle(now)
	b.seq++
	u.failedAt = b.seq
	ch := Change{Fault: u.state(resilience.ScopeStream, now)}
	switch {
	case began:
		ch.Kind = Began
	case v.Category == resilience.CircuitOpen && !u.capTold && now.Sub(u.since) >= stillFailingAfter:
		u.capTold, ch.Kind = true, StillFailing
	case !news:
		return Change{}
	}
	return ch
}

// scheduleJitter is the most by which a wait varies whose first length the caller names, so that the caller can keep to
// a schedule of its own.
const scheduleJitter = 0.1

// Delay returns the wait after n failures in a row: min(base · 2^(n−1), max) · U[1−j, min(1+j, max/d)]. It never
// exceeds max, and still varies there. first replaces the base if it is shorter; 0 keeps it.
func (opt Options) Delay(n int, first time.Duration) (d time.Duration, capped bool) {
	opt = opt.withDefaults()
	d, j := opt.Base, max(opt.Jitter, 0)
	if first > 0 {
		d, j = min(d, first), min(j, scheduleJitter)
	}
	for i := 1; i < n && d < opt.Max; i++ {
		d *= 2
	}
	d = min(d, opt.Max)
	low, high := 1-j, min(1+j, float64(opt.Max)/float64(d))
	return time.Duration(float64(d) * (low + (high-low)*opt.Rand())), d == opt.Max
}
