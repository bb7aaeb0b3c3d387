package backoff

import (
	"math"
	"time"

	"reprise/internal/resilience"
)

// State returns what forbids a call of k now; a zero State if nothing does. A backoff that has ended, and waits for
// its next attempt, still shows as Waiting until that attempt succeeds.
func (b *Manager) State(k Key) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.findLocked(k.User, k.Connection) == nil {
		if a, ok := b.apps[appKey{k.Provider, k.App}]; ok {
			return a.shown(resilience.ScopeApp, now)
		}
		return State{}
	}
	c := b.connLocked(&k)
	p := Permit{c: c, s: c.find(k.Stream), app: c.app}
	if p.s == nil {
		p.s = &stream{}
	}
	return p.stateLocked(now)
}

// Reconnected resets a connection that has a new credential, proved by a real call: its failures are forgotten, and
// outcomes of older generations are ignored from now on. A hold of the app stays; a stop of the app, which the proof
// has disproved, does not.
func (b *Manager) Reconnected(k Key, generation int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(&k)
	c.generation = max(c.generation, generation)
	now := time.Now()
	b.seq++
	for _, u := range c.units() {
		if u == &c.app.unit && u.hold.After(now) {
			u.lift(b.seq, now)
		} else {
			u.reset()
		}
	}
}

// Retry is a person's "Try again": it ends a stop or a backoff of the connection, its streams and its app, so that
// one call may find out at once. A wait that the upstream dictated stays, and is returned with true.
func (b *Manager) Retry(k Key) (State, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(&k)
	now := time.Now()
	b.seq++
	for _, u := range c.units() {
		u.lift(b.seq, now)
	}
	p := Permit{c: c, s: &stream{}, app: c.app}
	worst := p.effectiveLocked(now)
	for p.s = c.streams; p.s != nil; p.s = p.s.next {
		if st := p.effectiveLocked(now); st.Until.After(worst.Until) {
			worst = st
		}
	}
	return worst, worst.Kind == Held
}

// KeysBack ends what forbids calls to all users of a provider for want of a key, since a key of the pool can be used
// again. Waits that the provider dictated for other reasons are given in still, and stay.
func (b *Manager) KeysBack(provider string, still []Hold) {
	b.mu.Lock()
	now := time.Now()
	b.seq++
	for key, a := range b.apps {
		if u := &a.unit; key.provider == provider && u.kind != Ready {
			*u = unit{kind: Waiting, category: u.category, since: u.since, until: now,
				failedAt: b.seq, liftedAt: b.seq, probe: u.probe}
		}
	}
	b.mu.Unlock()
	for _, h := range still {
		if h.Key.User == 0 && h.Key.Provider == provider {
			b.RestoreHold(h)
		}
	}
}

// units returns the states of the connection, of its streams and of its app.
func (c *conn) units() []*unit {
	all := []*unit{&c.app.unit, &c.unit}
	for s := c.streams; s != nil; s = s.next {
		all = append(all, &s.unit)
	}
	return all
}

// Forget drops everything known of a connection, when it is disconnected. Outcomes of its calls are ignored from now
// on.
func (b *Manager) Forget(user int64, connection string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.findLocked(user, connection)
	if c == nil {
		return
	}
	c.generation = math.MaxInt64 // calls under way are out of date
	c.unit.reset()
	for s := c.streams; s != nil; s = s.next {
		s.unit.reset()
	}
	first := b.users[user]
	if first != c {
		before := first
		for before.next != c {
			before = before.next
		}
		before.next = c.next
	} else if b.users[user] = c.next; c.next == nil {
		delete(b.users, user)
	}
}

// RestoreStop restores, after a restart, a stop that was stored when it happened.
func (b *Manager) RestoreStop(s Stop) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(&s.Key)
	c.generation = max(c.generation, s.Generation)
	u := &c.unit
	if s.Key.Stream != "" {
		u = &c.stream(s.Key.Stream).unit
	}
	*u = unit{kind: Stopped, category: s.Category, forAdmin: s.ForAdmin, since: s.Since, failures: 1,
		failedAt: u.failedAt, hold: u.hold, holdFor: u.holdFor}
}

// RestoreHold restores, after a restart, a hold that was stored when it began. One that has ended is ignored.
func (b *Manager) RestoreHold(h Hold) {
	now := time.Now()
	if !h.Until.After(now) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var u *unit
	switch {
	case h.Key.User == 0:
		u = &b.appLocked(&h.Key).unit
	case h.Key.Stream == "":
		u = &b.connLocked(&h.Key).unit
	default:
		u = &b.connLocked(&h.Key).stream(h.Key.Stream).unit
	}
	if !u.dictate(h.Until, h.Category, now) || u.kind == Stopped {
		return
	}
	if u.kind == Ready {
		u.since, u.failures = h.Since, 1
	}
	u.settle(now)
}

func (b *Manager) findLocked(user int64, id string) *conn {
	c := b.users[user]
	for c != nil && c.id != id {
		c = c.next
	}
	return c
}

func (b *Manager) connLocked(k *Key) *conn {
	c := b.findLocked(k.User, k.Connection)
	if c == nil {
		c = &conn{id: k.Connection, next: b.users[k.User]}
		b.users[k.User] = c
	}
	if c.app == nil || c.app.name != k.App {
		c.app = b.appLocked(k)
	}
	return c
}

func (b *Manager) appLocked(k *Key) *app {
	a, ok := b.apps[appKey{k.Provider, k.App}]
	if !ok {
		a = &app{name: k.App}
		b.apps[appKey{k.Provider, k.App}] = a
	}
	return a
}

// ForgetApps drops everything known of apps, and of the connections to them, before it is restored: another process has
// called them meanwhile. of is asked for the key of an app.
func (b *Manager) ForgetApps(of func(app Key) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	gone := map[*app]bool{}
	for k, a := range b.apps {
		if of(Key{Provider: k.provider, App: k.app}) {
			gone[a] = true
			delete(b.apps, k)
		}
	}
	for user, first := range b.users {
		var kept *conn
		for c := first; c != nil; {
			next := c.next
			if gone[c.app] {
				c.generation = math.MaxInt64 // calls under way are out of date
			} else {
				c.next, kept = kept, c
			}
			c = next
		}
		if kept == nil {
			delete(b.users, user)
		} else {
			b.users[user] = kept
		}
	}
}
