package delivery

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"reprise/internal/queue"
)

// runner runs the queue.
type runner struct {
	Parts
	opt      *options
	browsers *browsers
	worker   *worker

	announcer *announcer

	later chan struct{} // has a value when browsers have not been told of everything

	warned bool        // that the backlog is long; used by care alone
	cared  cared       // used by follow alone
	failed atomic.Bool // something that care does has failed
}

const (
	// mostAtOnce is how many connections are sent to at once at most. How many attempts are under way is up to Workers.
	mostAtOnce = 1000
	// stopGrace is how long a stop waits for the shares under way before it cuts them off.
	stopGrace = 5 * time.Second
)

// runStore is what running the queue needs of the store.
type runStore interface {
	// Resume makes the deliveries to some connections due that are noted as running. Nobody may be working on them.
	Resume(ctx context.Context, which func(Due) bool) error
	// Due returns the deliveries that became due after a time and until another one, by connection, and when the next
	// one becomes due; zero if none does.
	Due(ctx context.Context, after, until time.Time) (all []Due, next time.Time, err error)
	// Earlier makes deliveries that wait due earlier by a time.
	Earlier(ctx context.Context, by time.Duration) error
	// Release makes due what is parked of a connection.
	Release(context.Context, Send) error
}

// run implements Deliveries.Run.
func (r *runner) run(ctx context.Context) error {
	if err := errors.Join(r.Store.Resume(ctx, r.mine), r.releaseReady(ctx)); err != nil {
		if ctx.Err() != nil { // stopped at the start, which is no failure
			return nil
		}
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	r.worker.stopping = func() bool { return ctx.Err() != nil }
	daily := &comparer{guard: r.Guard, store: r.Store, registry: r.Registry, teller: r.Teller, log: r.Log,
		slots: r.opt}
	var others sync.WaitGroup
	others.Go(func() { daily.run(ctx) })
	others.Go(func() { r.follow(ctx) })
	others.Go(func() { r.announcer.run(ctx) })
	crew := queue.Crew[Send]{Work: r.worker.work, AtOnce: mostAtOnce, Grace: stopGrace, Due: r.due, Log: r.Log,
		Failed: func(err error) { r.careFailed(ctx, err) }}
	if r.Guard.Leads() {
		crew.Earlier = r.Store.Earlier
	}
	err := queue.Work(ctx, r.Store.Queue(), crew)
	stop()
	others.Wait()
	return err
}

// due returns jobs for what has become due, and logs how many deliveries each is about.
func (r *runner) due(ctx context.Context, after, until time.Time) (jobs []Send, next time.Time, err error) {
	all, next, err := r.Store.Due(ctx, after, until)
	for _, d := range all {
		if !r.mine(d) {
			continue
		}
		r.Log.Info("deliveries are due", "user_id", d.User, "provider", d.Connection, "count", d.Count)
		jobs = append(jobs, d.Send)
	}
	return jobs, next, err
}

// mine reports whether this server makes the deliveries to a connection.
func (r *runner) mine(d Due) bool {
	if d.Gone {
		return r.Guard.Leads()
	}
	return r.Guard.Holds(d.Connection, d.App)
}

// changed has browsers told of the end of attempts.
func (r *runner) changed(to Send) {
	if !r.browsers.changed(to) {
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
		if r.Registry.Get(c.Provider()) != nil && !c.Paused && r.Guard.Holds(c.ID, c.App) && r.Guard.Ready(c) {
			err = errors.Join(err, r.Store.Release(ctx, Send{User: c.User, Connection: c.ID}))
		}
	}
	if r.Guard.Leads() {
		err = errors.Join(err, r.Store.ReleaseChannels(ctx))
	}
	return err
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
