// Package backoff keeps the retry state per user, provider and stream, in memory and behind one mutex. Asking and
// deciding is one step: [Manager.Acquire] returns a [Permit], or the time until which there is none. Every permit takes
// exactly one verdict, with [Permit.Done], which returns the [Change] that this outcome made, decided under the same
// lock. So exactly one caller sees each change, however many failed at once, and nobody has to ask for the state again.
//
// What must outlive the process (holds, stops) is in the Change; the caller stores it and gives it back with
// [Manager.RestoreHold] and [Manager.RestoreStop].
package backoff

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Options are the settings of a [Manager]. Zero values mean the defaults.
type Options struct {
	Base   time.Duration  // wait after the first failure; default 30 s
	Max    time.Duration  // longest wait; default 30 min
	Jitter float64        // 0 to 1, the share by which a wait varies; default 0.25; negative for none
	Rand   func() float64 // uniform in [0, 1); for tests
}

// stillFailingAfter is how long a backoff stays at its longest wait before people hear about it.
const stillFailingAfter = 24 * time.Hour

// Key names one stream of one user's connection.
type Key struct {
	User       int64
	Connection string // its id among those of the user
	Provider   string
	// App is what shares its limits with others: a client id, or the host of a self-hosted server. Empty means
	// the provider itself.
	App    string
	Stream string
}

type appKey struct{ provider, app string }

// The fields that a successful call reads come first in each, so that they share few cache lines.
type conn struct {
	id         string // see Key
	next       *conn  // of the same user
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

// find returns the stream of that name, or nil if nothing is known of it.
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

// Manager decides whether a connection may call its upstream now. See the package comment. Safe for concurrent use.
type Manager struct {
	opt Options

	mu    sync.Mutex
	seq   uint64          // orders permits and failures
	users map[int64]*conn // the first connection of each; hashing a number is cheaper than hashing a name
	apps  map[appKey]*app
}

// New returns a Manager that knows of no failure.
func New(opt Options) *Manager {
	return &Manager{opt: opt.withDefaults(), users: map[int64]*conn{}, apps: map[appKey]*app{}}
}

// Configure changes the settings. Waits that have begun keep their ends.
func (b *Manager) Configure(opt Options) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if opt.Rand == nil {
		opt.Rand = b.opt.Rand
	}
	b.opt = opt.withDefaults()
}

// Options returns the settings that hold now.
func (b *Manager) Options() Options {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opt
}

func (opt Options) withDefaults() Options {
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
	return opt
}
