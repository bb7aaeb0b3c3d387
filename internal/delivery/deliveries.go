package delivery

import (
	"context"
	"log/slog"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/playrules"
	"reprise/internal/providers"
	"reprise/internal/queue"
	"reprise/internal/resilience"
)

// Options are the settings of deliveries. Zero values mean the defaults.
type Options struct {
	Schedule
	Workers      int           // attempts under way at once; default 4
	BacklogWarn  int           // waiting deliveries at which the log warns; default 1,000
	BacklogLimit int           // waiting deliveries at which nobody may add more; default 5,000
	KeepDead     time.Duration // how long a dead letter is kept; default 30 days
	Timeout      time.Duration // deadline of one attempt; default 10 min
	Metrics      *metrics.Metrics
	// Began, if set, is called for every attempt that begins. The attempt uses the context that it returns, and calls
	// the function that it returns at its end, with its result (see metrics.DeliveryResults) and why it failed.
	Began func(context.Context, Attempt) (context.Context, func(result string, why resilience.Category))
}

// Attempt is an attempt at a delivery.
type Attempt struct {
	ID, User   int64
	Connection library.ConnectionID
	Kind       string
	CreatedAt  time.Time // of the delivery
	Number     int       // from 1; see [Delivery.Attempts]
}

func (o Options) withDefaults() Options {
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	o.Schedule = o.Schedule.WithDefaults()
	or(&o.KeepDead, 30*24*time.Hour)
	or(&o.Timeout, 10*time.Minute)
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.BacklogWarn == 0 {
		o.BacklogWarn = 1000
	}
	if o.BacklogLimit == 0 {
		o.BacklogLimit = 5000
	}
	if o.Began == nil {
		o.Began = func(ctx context.Context, _ Attempt) (context.Context, func(string, resilience.Category)) {
			return ctx, func(string, resilience.Category) {}
		}
	}
	return o
}

// Guard is asked before every call; see the sync package.
type Guard interface {
	Do(context.Context, providers.Subject, func(context.Context, resilience.Call, providers.Adapter) error) error
	// ReadSince returns nil when everything that the provider had at a time has been read, or cannot be read.
	// Otherwise it has it read now, and returns a *backoff.NotBeforeError: the first attempt at a new delivery is
	// usually put off by that.
	ReadSince(c library.Connection, at time.Time) error
	// Holds reports whether this server makes the calls of a connection with that app, and Leads whether it does what
	// isn't shared out, such as sending to channels.
	Holds(conn library.ConnectionID, app string) bool
	Leads() bool
	// Use returns a context for the deliveries to a connection or a channel, and a function to call at their end. The
	// error counts as a canceled context if another server makes them.
	Use(ctx context.Context, user int64, to library.ConnectionID) (context.Context, func(), error)
	// Ready reports whether deliveries to the connection need no person.
	Ready(c library.Connection) bool
}

// Store keeps deliveries and what they are about. It is the sum of what the parts of this package need.
type Store interface {
	Queue() *queue.Queue
	runStore
	careStore
	workerStore
	listenStore
	deletionStore
	copyStore
	loveStore
	matchStore
	personStore
	compareStore
	// Routing returns what decides where a person's listens go.
	Routing(ctx context.Context, user int64) (Routes, error)
	// RulesFor returns a person's rules for what they play; nil without any.
	RulesFor(ctx context.Context, user int64) (*playrules.Set, error)
}

// Parts are what deliveries work with.
type Parts struct {
	Registry  *providers.Registry
	Guard     Guard
	Store     Store
	Messenger Messenger // nil: there are no channels
	Teller    Teller    // nil: nobody is asked about copies
	Bus       *events.Bus
	Log       *slog.Logger
}

// Deliveries makes deliveries, and is what a person can do about them. It is safe for concurrent use.
type Deliveries struct {
	Parts
	opt      *options
	browsers *browsers
	runner   *runner
}

// New returns Deliveries. Nothing happens before Run.
func New(p Parts, opt Options) *Deliveries {
	now := newOptions(opt)
	b := newBrowsers(p.Bus)
	r := &runner{Parts: p, opt: now, browsers: b, worker: newWorker(p, now, b), later: make(chan struct{}, 1)}
	r.worker.changed = r.changed
	r.announcer = newAnnouncer(p)
	return &Deliveries{Parts: p, opt: now, browsers: b, runner: r}
}

// Configure changes the settings, except for Metrics and Began. Attempts under way go on, and waits that have begun
// keep their ends.
func (d *Deliveries) Configure(opt Options) { d.opt.set(opt) }

// Options returns the settings that hold now.
func (d *Deliveries) Options() Options { return d.opt.get() }

// Run makes attempts at what is due until ctx ends, and returns when every attempt has ended.
func (d *Deliveries) Run(ctx context.Context) error { return d.runner.run(ctx) }

// publish tells a person's browsers that their deliveries have changed.
func (d *Deliveries) publish(user int64, conn library.ConnectionID) { d.browsers.publish(user, conn) }
