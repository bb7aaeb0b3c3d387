package resilience

import "time"

// State returns what stands against a call of k now; a zero State when nothing does. A backoff that has ended, and
// waits for its next attempt, still shows as Waiting until that attempt succeeds.
func (b *Backoff) State(k Key) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.conns[connKey{k.User, k.Provider}]
	if !ok {
		if a, ok := b.apps[appKey{k.Provider, k.App}]; ok {
			return a.state(ScopeApp)
		}
		return State{}
	}
	c = b.connLocked(k)
	s := c.stream(k.Stream)
	if st := effectiveLocked(c, s, time.Now()); st.Kind != Ready {
		return st
	}
	p := Permit{c: c, s: s, app: c.app}
	for i, u := range p.units() {
		if u.kind != Ready {
			return u.state(unitScopes[i])
		}
	}
	return State{}
}

// Reconnected tells that a connection has a new credential, proved by a real call: its failures are forgotten and
// outcomes of older generations change nothing from now on. A hold of the app stays; a stop of the app, which the
// proof has disproved, does not.
func (b *Backoff) Reconnected(k Key, generation int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(k)
	c.generation = max(c.generation, generation)
	b.clearLocked(c, true)
}

// Retry is a person's "Try again": it lifts a stop or a backoff of the connection and of its streams. A wait that the
// upstream dictated stays, and is returned with true.
func (b *Backoff) Retry(k Key) (State, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(k)
	b.clearLocked(c, false)
	now := time.Now()
	worst := effectiveLocked(c, &stream{}, now)
	for _, s := range c.streams {
		if st := effectiveLocked(c, s, now); st.Until.After(worst.Until) {
			worst = st
		}
	}
	return worst, worst.Kind == Held
}

func (b *Backoff) clearLocked(c *conn, holds bool) {
	if holds || c.kind != Held {
		c.reset()
	}
	for _, s := range c.streams {
		if holds || s.kind != Held {
			s.reset()
		}
	}
	if c.app.kind != Held {
		c.app.reset()
	}
}

// Forget drops everything known of a connection, when it is disconnected.
func (b *Backoff) Forget(user int64, provider string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, connKey{user, provider})
}

// RestoreFatal puts back, after a restart, a stop that was stored when it happened; k.Stream is empty when the whole
// connection stopped.
func (b *Backoff) RestoreFatal(k Key, generation int64, c Category, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	cn := b.connLocked(k)
	cn.generation = max(cn.generation, generation)
	u := &cn.unit
	if k.Stream != "" {
		u = &cn.stream(k.Stream).unit
	}
	*u = unit{kind: Stopped, category: c, since: since, failures: 1, failedAt: u.failedAt}
}

// RestoreHold puts back, after a restart, a hold that was stored when it began. scope says of what: the app, the
// connection, or the stream that k names. A hold that has ended meanwhile is left out.
func (b *Backoff) RestoreHold(k Key, scope Scope, c Category, since, until time.Time) {
	if !until.After(time.Now()) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var u *unit
	switch scope {
	case ScopeApp:
		u = &b.appLocked(k).unit
	case ScopeConnection:
		u = &b.connLocked(k).unit
	default:
		u = &b.connLocked(k).stream(k.Stream).unit
	}
	if u.kind == Stopped {
		return
	}
	*u = unit{kind: Held, category: c, since: since, until: until, failures: 1, failedAt: u.failedAt}
}

func (b *Backoff) connLocked(k Key) *conn {
	c, ok := b.conns[connKey{k.User, k.Provider}]
	if !ok {
		c = &conn{streams: make([]*stream, 0, 2)}
		b.conns[connKey{k.User, k.Provider}] = c
	}
	if c.app == nil || c.app.name != k.App {
		c.app = b.appLocked(k)
	}
	return c
}

func (b *Backoff) appLocked(k Key) *app {
	a, ok := b.apps[appKey{k.Provider, k.App}]
	if !ok {
		a = &app{name: k.App}
		b.apps[appKey{k.Provider, k.App}] = a
	}
	return a
}
