package delivery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"reprise/internal/events"
	"reprise/internal/providers"
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
	Do(ctx context.Context, c providers.Connection, stream string, call func(context.Context, providers.Adapter) error) error
	// CaughtUp is nil when everything that the provider had at that instant has been read, or cannot be read. Otherwise
	// it sees to it that it is read now, and returns a *resilience.NotBeforeError.
	CaughtUp(c providers.Connection, at time.Time) error
	// Ready says whether nothing that needs a person stands against carrying something to the connection.
	Ready(c providers.Connection) bool
}

// Queue opens the queue.
type Queue interface {
	Queue(context.Context, river.Config) (*river.Client[*sql.Tx], error)
	SetAttempts(int)
}

// Store is what deliveries are kept in.
type Store interface {
	Queue
	Work
	PersonStore
	CareStore
}

// Deliveries carries what is owed, and is what a person can do about it. Safe for concurrent use.
type Deliveries struct {
	opt      Options
	registry providers.Registry
	guard    Guard
	store    Store
	bus      *events.Bus
	log      *slog.Logger
	slots    chan struct{}

	mu     sync.Mutex
	tried  map[int64]time.Time // when a delivery's latest attempt of this process ended without success
	told   map[int64]time.Time // when a user's browsers were told last
	warned bool                // that much waits
}

// New returns Deliveries; nothing happens before Run.
func New(opt Options, registry providers.Registry, g Guard, store Store, bus *events.Bus, log *slog.Logger) *Deliveries {
	opt = opt.withDefaults()
	store.SetAttempts(opt.Attempts())
	return &Deliveries{opt: opt, registry: registry, guard: g, store: store, bus: bus, log: log, slots: make(chan struct{}, opt.Workers),
		tried: map[int64]time.Time{}, told: map[int64]time.Time{}}
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
	client, err := d.store.Queue(ctx, river.Config{Workers: workers, Queues: d.queues(), JobTimeout: d.opt.Timeout,
		RescueStuckJobsAfter: d.opt.Timeout + time.Minute, FetchPollInterval: d.opt.Poll, FetchCooldown: river.FetchCooldownMin})
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
	d.follow(ctx, changes)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := client.Stop(grace); err != nil { // what is cut off is due again
		return client.StopAndCancel(context.WithoutCancel(ctx))
	}
	return nil
}

// queues has one for each provider that takes something.
func (d *Deliveries) queues() map[string]river.QueueConfig {
	all := map[string]river.QueueConfig{}
	for _, p := range d.registry {
		if !p.Takes.Nothing() {
			all[QueueOf(p.Name)] = river.QueueConfig{MaxWorkers: 1}
		}
	}
	return all
}

// releaseReady makes due what was parked for a reason that is gone: a setting was put right, the process died between a
// reconnect and this, or a delivery was parked at the very moment of the reconnect.
func (d *Deliveries) releaseReady(ctx context.Context) error {
	connections, err := d.store.Parked(ctx)
	for _, c := range connections {
		if d.registry.Get(c.Provider) != nil && !c.Paused && d.guard.Ready(c) {
			err = errors.Join(err, d.store.Release(ctx, c.User, c.Provider))
		}
	}
	return err
}

// follow tells the browsers what the queue has noted, and looks after what nobody asks for, until ctx ends.
func (d *Deliveries) follow(ctx context.Context, changes <-chan *river.Event) {
	every := time.NewTicker(careEvery)
	defer every.Stop()
	d.care(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-changes:
			if e != nil && e.Job != nil {
				d.changed(e.Job)
			}
		case <-every.C:
			d.care(ctx)
		}
	}
}

// changed tells the browsers of a delivery's person, at most once a second: an event is only a hint to look again.
func (d *Deliveries) changed(job *rivertype.JobRow) {
	p, err := payloadOf(job.EncodedArgs)
	if err != nil {
		return
	}
	d.mu.Lock()
	soon := time.Since(d.told[p.User]) < time.Second && job.State == rivertype.JobStateCompleted
	if !soon {
		d.told[p.User] = time.Now()
	}
	d.mu.Unlock()
	if !soon {
		d.publish(p.User, p.Provider)
	}
}

func (d *Deliveries) publish(user int64, provider string) {
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
