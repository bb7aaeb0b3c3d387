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

type appKey struct{ provider, app string }

// What a call that goes well reads of these stands first in each, so that it costs few lines of the processor's cache.
type conn struct {
	provider   string
	next       *conn // of the same user
	generation int64
	app        *app
	streams    *stream // one to three, linked
	unit
}

type app struct {
	name string
	unit
}

type stream struct {
	name string
	next *stream
	unit
}

// find returns the stream of that name, or nil when nothing is known of it.
func (c *conn) find(name string) *stream {
	s := c.streams
	for s != nil && s.name != name {
		s = s.next
	}
	return s
}

func (c *conn) stream(name string) *stream {
	s := c.find(name)
	if s == nil {
		s = &stream{name: name, next: c.streams}
		c.streams = s
	}
	return s
}

// Backoff decides whether a connection may call its upstream. See the package comment. Safe for concurrent use.
type Backoff struct {
	opt Options

	mu    sync.Mutex
	seq   uint64          // orders permits and failures
	users map[int64]*conn // the first connection of each; hashing a number is cheaper than hashing a name
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
	return &Backoff{opt: opt, users: map[int64]*conn{}, apps: map[appKey]*app{}}
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
func (b *Backoff) Acquire(k Key, generation int64) (p Permit, st State, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.connLocked(&k)
	s := c.stream(k.Stream)
	p.c, p.s, p.app, p.generation = c, s, c.app, generation
	trouble := c.kind|c.app.kind|s.kind != Ready
	if trouble {
		if st = p.effectiveLocked(time.Now()); st.Kind != Ready {
			return Permit{}, st, false
		}
	}
	if generation > c.generation {
		c.generation = generation
	}
	b.seq++
	p.b, p.id = b, b.seq
	if trouble {
		for _, u := range p.units() {
			if u.kind != Ready {
				u.probe = p.id
			}
		}
	}
	return p, st, true
}

// units are what stands between a permit and its call, with the scope of each at the same index in unitScopes.
func (p *Permit) units() [3]*unit { return [3]*unit{&p.app.unit, &p.c.unit, &p.s.unit} }

var unitScopes = [3]Scope{ScopeApp, ScopeConnection, ScopeStream}

// effectiveLocked is the worst of the states that do not allow the permit's call now: a stop before a wait, a longer wait
// before a shorter one.
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
