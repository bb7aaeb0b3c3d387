package delivery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/providers"
	"reprise/internal/queue"
	"reprise/internal/resilience"
)

// Options are the settings of deliveries. Zero values mean the defaults of contract.md.
type Options struct {
	Schedule
	Workers      int           // deliveries under way at once; default 4
	BacklogWarn  int           // waiting deliveries from which on the log warns; default 1,000
	BacklogLimit int           // waiting deliveries from which on nobody may ask for more; default 5,000
	KeepDead     time.Duration // how long a dead letter is kept; default 30 days
	Timeout      time.Duration // deadline of one attempt; default 10 min
	Poll         time.Duration // how often the queue is looked at; default 1 s
	Metrics      *metrics.Metrics
}

func (o Options) withDefaults() Options {
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&o.First, time.Second)
	or(&o.Max, time.Hour)
	or(&o.Age, 14*24*time.Hour)
	or(&o.KeepDead, 30*24*time.Hour)
	or(&o.Timeout, 10*time.Minute)
	or(&o.Poll, time.Second)
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.BacklogWarn == 0 {
		o.BacklogWarn = 1000
	}
	if o.BacklogLimit == 0 {
		o.BacklogLimit = 5000
	}
	return o
}

// Guard stands before every call; see the sync package.
type Guard interface {
	Do(context.Context, providers.Subject, func(context.Context, providers.Adapter) error) error
	// CaughtUp is nil when everything that the provider had at that instant has been read, or cannot be read. Otherwise
	// it sees to it that it is read now, and returns a *resilience.NotBeforeError.
	CaughtUp(c library.Connection, at time.Time) error
	// Ready says whether nothing that needs a person stands against carrying something to the connection.
	Ready(c library.Connection) bool
}

// Store is what deliveries are kept in.
type Store interface {
	Queue() *queue.Queue
	SetAttempts(int)
	Work
	PersonStore
	CareStore
}

// Deliveries carries what is owed, and is what a person can do about it. Safe for concurrent use.
type Deliveries struct {
	opt      Options
	registry *providers.Registry
	guard    Guard
	store    Store
	queue    *queue.Queue
	bus      *events.Bus
	log      *slog.Logger
	tell     Messenger // nil: there are no channels
	slots    chan struct{}

	mu     sync.Mutex
	client *river.Client[*sql.Tx] // while it runs
	queues map[string]bool        // those that are looked at
	told   map[int64]time.Time    // when a user's browsers were told last
	untold map[int64]bool         // users with changes since then
	warned bool                   // that much waits

	working map[int64]bool      // what is worked on
	lost    map[int64]time.Time // see resume, which alone uses it
}

// New returns Deliveries; nothing happens before Run.
func New(opt Options, registry *providers.Registry, g Guard, store Store, bus *events.Bus, log *slog.Logger) *Deliveries {
	opt = opt.withDefaults()
	store.SetAttempts(opt.Attempts())
	return &Deliveries{opt: opt, registry: registry, guard: g, store: store, queue: store.Queue(), bus: bus, log: log, slots: make(chan struct{}, opt.Workers),
		told: map[int64]time.Time{}, untold: map[int64]bool{}, working: map[int64]bool{}}
}

// never is a time after which River may take a job for stuck. One process has the queue, begins with a clean one, and knows what it
// works on (see resume); to River, a clock that is put right looks like time that has passed.
const never = 10 * 365 * 24 * time.Hour

// errorsOnly lets River tell of its own errors; those of deliveries are told here.
type errorsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

// stopGrace is how long a stop waits for the attempts under way before it cuts them off.
const stopGrace = 5 * time.Second

// Run carries deliveries until ctx ends, and returns when every attempt has ended.
func (d *Deliveries) Run(ctx context.Context) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker[submitListens]{d: d})
	river.AddWorker(workers, &worker[scrobble]{d: d})
	river.AddWorker(workers, &worker[writePlaylist]{d: d})
	river.AddWorker(workers, &worker[archive]{d: d})
	river.AddWorker(workers, &worker[messages]{d: d})
	client, err := d.queue.Client(ctx, river.Config{Workers: workers, JobTimeout: d.opt.Timeout, RescueStuckJobsAfter: never,
		FetchPollInterval: d.opt.Poll, FetchCooldown: river.FetchCooldownMin, Logger: slog.New(errorsOnly{d.log.Handler()}),
		Queues: map[string]river.QueueConfig{"none": {MaxWorkers: 1, FetchPollInterval: time.Hour}}}) // River wants one to begin with
	if err != nil {
		return err
	}
	if err := d.releaseReady(ctx); err != nil {
		return err
	}
	changes, unsubscribe := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled, river.EventKindJobSnoozed)
	defer unsubscribe()
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	d.mu.Lock()
	d.client, d.queues = client, map[string]bool{}
	d.mu.Unlock()
	if err := d.openQueues(ctx); err != nil {
		return errors.Join(err, client.StopAndCancel(context.WithoutCancel(ctx)))
	}
	d.follow(ctx, changes)
	d.mu.Lock()
	d.client = nil // what a person begins from here on is the next start's
	d.mu.Unlock()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := client.Stop(grace); err != nil { // what is cut off is due again
		return client.StopAndCancel(context.WithoutCancel(ctx))
	}
	return nil
}

// openQueues has every queue looked at in which something waits or may come to wait. A queue that nobody uses costs
// nothing.
func (d *Deliveries) openQueues(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.client == nil { // not running; Run does it
		return nil
	}
	names, err := d.store.Queues(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if d.queues[name] {
			continue
		}
		if err := d.client.Queues().Add(name, river.QueueConfig{MaxWorkers: 1}); err != nil {
			return fmt.Errorf("open queue %s: %w", name, err)
		}
		d.queues[name] = true
	}
	return nil
}

// started is publish for what a person has begun, which may need a queue that was not looked at before.
func (d *Deliveries) started(ctx context.Context, user int64, provider string) error {
	defer d.publish(user, provider)
	return d.openQueues(ctx)
}

// releaseReady makes due what was parked for a reason that is gone: a setting was put right, the process died between a
// reconnect and this, or a delivery was parked at the very moment of the reconnect.
func (d *Deliveries) releaseReady(ctx context.Context) error {
	connections, err := d.store.Parked(ctx)
	for _, c := range connections {
		if d.registry.Get(c.Provider) != nil && !c.Paused && d.guard.Ready(c) {
			err = errors.Join(err, d.queue.Release(ctx, queue.Of(c.User, c.Provider)))
		}
	}
	return errors.Join(err, d.store.ReleaseChannels(ctx))
}

// follow tells the browsers what the queue has noted, and looks after what nobody asks for, until ctx ends.
func (d *Deliveries) follow(ctx context.Context, changes <-chan *river.Event) {
	every := time.NewTicker(careEvery)
	defer every.Stop()
	d.care(ctx)
	var later <-chan time.Time // when those are told who were told a moment ago
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-changes:
			if e != nil && e.Job != nil && !d.changed(e.Job) && later == nil {
				later = time.After(tellEvery)
			}
		case <-later:
			later = nil
			d.tellLater()
		case <-every.C:
			d.care(ctx)
		}
	}
}

// tellEvery is how often a person's browsers are told at the most: an event is only a hint to look again.
const tellEvery = time.Second

// changed tells the browsers of a delivery's person, unless they were told a moment ago: then it returns false, and
// tellLater does it.
func (d *Deliveries) changed(job *rivertype.JobRow) bool {
	p, err := payloadOf(job.EncodedArgs)
	if err != nil {
		return true
	}
	d.mu.Lock()
	soon := time.Since(d.told[p.User]) < tellEvery
	if soon {
		d.untold[p.User] = true
	} else {
		d.told[p.User] = time.Now()
	}
	d.mu.Unlock()
	if !soon {
		d.publish(p.User, p.Provider)
	}
	return !soon
}

func (d *Deliveries) tellLater() {
	d.mu.Lock()
	users := slices.Collect(maps.Keys(d.untold))
	for _, user := range users {
		d.told[user] = time.Now()
	}
	clear(d.untold)
	d.mu.Unlock()
	for _, user := range users {
		d.publish(user, "")
	}
}

func (d *Deliveries) publish(user int64, provider string) {
	if _, channel := ChannelNumber(provider); channel {
		provider = ""
	}
	d.bus.Publish(user, events.Event{Type: events.Deliveries, Provider: provider})
}

// waitOf is the wait that an error speaks of, if it is one.
func waitOf(err error) (resilience.State, bool) {
	e, ok := errors.AsType[*resilience.NotBeforeError](err)
	if !ok {
		return resilience.State{}, false
	}
	return e.State, true
}
