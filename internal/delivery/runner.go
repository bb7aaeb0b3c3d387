package delivery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"reprise/internal/queue"
)

// runner runs the queue.
type runner struct {
	Parts
	opt      *options
	queue    *queue.Queue
	browsers *browsers
	worker   *worker

	mu     sync.Mutex
	client *river.Client[*sql.Tx] // while it runs
	open   map[string]bool        // queues

	warned bool                // that the backlog is long; used by care alone
	lost   map[int64]time.Time // used by resume alone
	cared  cared               // used by follow alone
	failed atomic.Bool         // something that care does has failed
}

// never is later than any job could be stuck. One process has the queue, begins with no running jobs, and knows which
// jobs it works on (see resume); to River, a corrected clock looks like time that has passed.
const never = 10 * 365 * 24 * time.Hour

// pollEvery is how often River looks at each queue by itself. It is woken for what is due, so this only catches what it
// missed because of an error of the database.
const pollEvery = time.Minute

// errorsOnly passes on River's errors. Failures of deliveries are logged here.
type errorsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

// stopGrace is how long a stop waits for the attempts under way before it cuts them off.
const stopGrace = 5 * time.Second

// run implements Deliveries.Run.
func (r *runner) run(ctx context.Context) error {
	workers := river.NewWorkers()
	for _, kind := range Kinds {
		river.AddWorkerArgs(workers, args{kind: kind}, r.worker)
	}
	idle := river.QueueConfig{MaxWorkers: 1, FetchPollInterval: time.Hour}
	client, err := r.queue.Client(ctx, river.Config{Workers: workers, JobTimeout: r.opt.get().Timeout,
		RescueStuckJobsAfter: never, FetchPollInterval: pollEvery, FetchCooldown: river.FetchCooldownMin,
		Logger: slog.New(errorsOnly{r.Log.Handler()}),
		Queues: map[string]river.QueueConfig{"none": idle}}) // River needs one to begin with
	if err != nil {
		return err
	}
	if err := r.releaseReady(ctx); err != nil {
		return err
	}
	changes, unsubscribe := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed,
		river.EventKindJobCancelled, river.EventKindJobSnoozed)
	defer unsubscribe()
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	r.mu.Lock()
	r.client, r.open = client, map[string]bool{}
	r.mu.Unlock()
	if err := r.openQueues(ctx); err != nil {
		return errors.Join(err, client.StopAndCancel(context.WithoutCancel(ctx)))
	}
	var keep sync.WaitGroup
	keep.Go(func() { r.queue.Keep(ctx, r.due, func(err error) { r.careFailed(ctx, err) }) })
	daily := &comparer{guard: r.Guard, store: r.Store, registry: r.Registry, teller: r.Teller, log: r.Log,
		slots: r.opt}
	keep.Go(func() { daily.run(ctx) })
	r.follow(ctx, changes)
	keep.Wait()
	r.mu.Lock()
	r.client = nil // what a person begins from here on waits for the next start
	r.mu.Unlock()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := client.Stop(grace); err != nil { // attempts that are cut off are due again
		return client.StopAndCancel(context.WithoutCancel(ctx))
	}
	return nil
}

// due logs how many deliveries the worker of a queue has before it.
func (r *runner) due(d queue.Due) {
	r.Log.Info("deliveries are due", "queue", d.Queue, "count", d.Count)
}

// openQueues opens every queue that has jobs. Queues with new jobs are opened as the jobs are inserted.
func (r *runner) openQueues(ctx context.Context) error {
	names, err := r.queue.Names(ctx)
	for _, name := range names {
		err = errors.Join(err, r.openQueue(name))
	}
	return err
}

// openQueue has the queue worked, one job at a time, unless it is or nothing runs.
func (r *runner) openQueue(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil || r.open[name] {
		return nil
	}
	if err := r.client.Queues().Add(name, river.QueueConfig{MaxWorkers: 1}); err != nil {
		return fmt.Errorf("open queue %s: %w", name, err)
	}
	r.open[name] = true
	return nil
}

// releaseReady makes due what was parked for a reason that is gone: a setting was corrected, the process died between a
// reconnect and its release, or a delivery was parked at the very moment of the reconnect.
func (r *runner) releaseReady(ctx context.Context) error {
	connections, err := r.Store.Parked(ctx)
	for _, c := range connections {
		if r.Registry.Get(c.Provider()) != nil && !c.Paused && r.Guard.Ready(c) {
			err = errors.Join(err, r.queue.Release(ctx, queue.Of(c.User, c.ID)))
		}
	}
	return errors.Join(err, r.Store.ReleaseChannels(ctx))
}

// follow tells the browsers of changes, opens queues, and takes care of deliveries, until ctx ends.
func (r *runner) follow(ctx context.Context, changes <-chan *river.Event) {
	every := time.NewTicker(careEvery)
	defer every.Stop()
	r.care(ctx)
	var later <-chan time.Time // when browsers that got an event a moment ago get the next
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-r.queue.Fresh():
			r.careFailed(ctx, r.openQueue(name))
		case e := <-changes:
			if e != nil && (e.Kind == river.EventKindJobFailed || e.Kind == river.EventKindJobSnoozed) {
				r.queue.Look() // it waits now
			}
			if e != nil && e.Job != nil && !r.browsers.changed(e.Job) && later == nil {
				later = time.After(tellEvery)
			}
		case <-later:
			later = nil
			r.browsers.tellLater()
		case <-every.C:
			if r.restless() {
				r.care(ctx)
			}
		}
	}
}
