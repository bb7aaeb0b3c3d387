package delivery

import (
	"context"
	"errors"
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

	later chan struct{} // has a value when browsers have not been told of everything

	warned bool                // that the backlog is long; used by care alone
	lost   map[int64]time.Time // used by resume alone
	cared  cared               // used by follow alone
	failed atomic.Bool         // something that care does has failed
}

// errorsOnly passes on River's errors. Failures of deliveries are logged here.
type errorsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

// run implements Deliveries.Run.
func (r *runner) run(ctx context.Context) error {
	workers := river.NewWorkers()
	for _, kind := range Kinds {
		river.AddWorkerArgs(workers, args{kind: kind}, r.worker)
	}
	if err := r.releaseReady(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	failed := func(err error) { r.careFailed(ctx, err) }
	daily := &comparer{guard: r.Guard, store: r.Store, registry: r.Registry, teller: r.Teller, log: r.Log,
		slots: r.opt}
	var others sync.WaitGroup
	others.Go(func() { r.queue.Keep(ctx, r.due, failed) })
	others.Go(func() { daily.run(ctx) })
	others.Go(func() { r.follow(ctx) })
	err := r.queue.Work(ctx, queue.Crew{Workers: workers,
		AtOnce: func() int { return r.opt.get().Workers }, Timeout: r.opt.get().Timeout,
		Log: slog.New(errorsOnly{r.Log.Handler()}), Ended: r.ended, Failed: failed})
	stop()
	others.Wait()
	return err
}

// due logs how many deliveries the worker of a queue has before it.
func (r *runner) due(d queue.Due) {
	r.Log.Info("deliveries are due", "queue", d.Queue, "count", d.Count)
}

// ended has browsers told of the end of an attempt.
func (r *runner) ended(e *river.Event) {
	if e.Kind == river.EventKindJobFailed || e.Kind == river.EventKindJobSnoozed {
		r.queue.Look() // it waits now
	}
	if e.Job != nil && !r.browsers.changed(e.Job) {
		select {
		case r.later <- struct{}{}:
		default:
		}
	}
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

// follow tells the browsers of changes, and takes care of deliveries, until ctx ends.
func (r *runner) follow(ctx context.Context) {
	every := time.NewTicker(careEvery)
	defer every.Stop()
	r.care(ctx)
	var later <-chan time.Time // when browsers that got an event a moment ago get the next
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.later:
			if later == nil {
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
