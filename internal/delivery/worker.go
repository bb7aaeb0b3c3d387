package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/queue"
	"reprise/internal/resilience"
)

// attempt is one try at a delivery.
type attempt struct {
	Taken
	due     time.Time           // of the next attempt, once it is known
	why     resilience.Category // of its failure, or of what postponed it
	failure *Failure            // nil: none to be stored
	seen    int64               // version of the copy that was read; of messages, the id of the newest one
}

// again reports whether an attempt went before, whose outcome may be unknown.
func (a *attempt) again() bool { return a.Number > 1 }

// subject returns what the attempt's calls are made for.
func (a *attempt) subject(c library.Connection) providers.Subject {
	s := providers.OfConnection(c, library.Deliveries)
	s.Attempt = a.Number
	return s
}

// last reports whether no attempt follows.
func (a *attempt) last() bool { return a.Number >= a.Most }

// workerStore is what the worker needs of the store.
type workerStore interface {
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	// Take notes the oldest deliveries that are due to a connection as running, at most so many, and returns them.
	Take(ctx context.Context, to Send, most int) ([]Taken, error)
	// Finish ends a job with what became of the deliveries that it took. If more is due, the next job is inserted.
	Finish(context.Context, *river.Job[Send], Share) error
	endStore
}

// endStore ends deliveries that may come again.
type endStore interface {
	// EndCopy ends the delivery of a copy, as done or as dead, unless ours has changed since c was read: then it
	// returns false, and the delivery has to go on.
	EndCopy(ctx context.Context, id int64, c Copy, done bool) (ended bool, err error)
	// EndMessages ends the delivery of a channel's messages, as done or as dead, unless a message with an id above seen
	// waits: then it returns false, and the delivery has to go on.
	EndMessages(ctx context.Context, id, channel, seen int64, done bool) (ended bool, err error)
	// DeferMessages makes the delivery, which is running, wait until a time, under the same condition.
	DeferMessages(ctx context.Context, id, channel, seen int64, until time.Time) (deferred bool, err error)
}

// deliverer makes attempts at the deliveries of a kind.
type deliverer interface {
	deliver(ctx context.Context, c library.Connection, a *attempt) error
}

// errAgain is returned by a deliverer that has not failed and wants to go on at once.
var errAgain = errors.New("to be continued")

// errStopped is the outcome of an attempt to whose connection nothing is sent now.
var errStopped = errors.New("the connection is gone or paused")

// worker makes attempts at the deliveries of one connection after the other, as River asks for.
type worker struct {
	registry *providers.Registry
	store    workerStore
	guard    Guard
	jobs     func() *queue.Queue
	log      *slog.Logger
	metrics  attemptCounts
	opt      *options
	kinds    map[string]deliverer
	listens  *listenDeliverer
	messages *messageDeliverer // nil: there are no channels
	changed  func(to Send)     // is called when the ends of a share are stored
	stopping func() bool       // whether no attempt is to begin any more

	mu      sync.Mutex
	working map[Send]work // shares under way
}

// work is a share under way.
type work struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// attemptCounts counts attempts, and deliveries that were given up.
type attemptCounts interface {
	Delivery(kind, result string)
	DeadLetter(resilience.Category)
}

func newWorker(p Parts, opt *options, b *browsers) *worker {
	counts := opt.get().Metrics
	listens := &listenDeliverer{guard: p.Guard, store: p.Store, registry: p.Registry, metrics: counts}
	copies := copyWriter{guard: p.Guard, store: p.Store, browsers: b}
	w := &worker{registry: p.Registry, store: p.Store, guard: p.Guard, jobs: p.Store.Queue, log: p.Log, metrics: counts,
		opt: opt, listens: listens, working: map[Send]work{},
		kinds: map[string]deliverer{
			SubmitListens: listens,
			Scrobble:      listens,
			DeleteListens: &deletionDeliverer{guard: p.Guard, store: p.Store, metrics: counts},
			WritePlaylist: &playlistDeliverer{copies, p.Registry, p.Teller},
			WriteLoves:    &loveDeliverer{copyWriter: copies, store: p.Store, registry: p.Registry},
			Archive:       &monthDeliverer{copies},
		}}
	if p.Messenger != nil {
		w.messages = &messageDeliverer{messenger: p.Messenger, store: p.Store}
	}
	return w
}

// work works a job. It takes a share of what is due to a connection, attempts it in order, and stores all
// ends together. A share is small enough that other connections do not wait long for their turn.
func (w *worker) work(ctx context.Context, job *river.Job[Send]) error {
	free, ok := w.opt.slot(ctx)
	if !ok {
		return river.JobSnooze(0)
	}
	defer free()
	used, done, err := w.guard.Use(ctx, job.Args.User, job.Args.Connection)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // another server makes these deliveries
		return queue.End(ctx, w.jobs(), job)
	}
	if err != nil {
		return err
	}
	defer done()
	ctx, end := w.begin(used, job.Args)
	defer end()
	var all []Taken
	err = w.insist(ctx, func(ctx context.Context) (err error) {
		all, err = w.store.Take(ctx, job.Args, shareMost)
		return err
	})
	if err != nil {
		return err
	}
	share := w.share(ctx, all)
	if err := w.insist(ctx, func(ctx context.Context) error { return w.store.Finish(ctx, job, share) }); err != nil {
		return err
	}
	if len(all) > 0 {
		w.changed(job.Args)
	}
	return nil
}

const (
	// shareMost is how many deliveries to one connection are taken together at most.
	shareMost = 100
	// shareFor is how long after a share began no more attempts of it begin.
	shareFor = 3 * time.Second
	// shareContended is the same while others wait for their turn.
	shareContended = time.Second
)

// insist does something with the database until it succeeds, or ctx ends: an end that is not stored would have its
// delivery repeated.
func (w *worker) insist(ctx context.Context, do func(context.Context) error) error {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := do(context.WithoutCancel(ctx))
		if err == nil || ctx.Err() != nil {
			return err
		}
		w.log.Error("the state of deliveries cannot be stored", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// begin notes that a share is under way, until end is called.
func (w *worker) begin(ctx context.Context, to Send) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	now := work{cancel: cancel, done: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.working[to] = now
	return ctx, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.working[to].done == now.done { // the next share may have begun
			delete(w.working, to)
		}
		close(now.done)
	}
}

// cutOff ends the attempts at a person's deliveries, and returns when they have ended.
func (w *worker) cutOff(user int64) {
	var mine []work
	w.mu.Lock()
	for to, now := range w.working {
		if to.User == user {
			now.cancel()
			mine = append(mine, now)
		}
	}
	w.mu.Unlock()
	for _, now := range mine {
		<-now.done
	}
}

// share makes attempts at deliveries that were taken together, and returns what became of them. Those that it does not
// come to wait as before.
func (w *worker) share(ctx context.Context, all []Taken) (s Share) {
	began := time.Now()
	late := func() bool {
		took := time.Since(began)
		return w.stopping() || took >= shareFor || took >= shareContended && w.opt.contended()
	}
	for len(all) > 0 {
		if s.Park || !s.Until.IsZero() || ctx.Err() != nil || len(s.Ends) > 0 && late() {
			for _, d := range all {
				s.Ends = append(s.Ends, d.waits(time.Time{}))
			}
			return s
		}
		n := 1
		if all[0].Schema > Schema { // made by a newer version that was taken back
			w.metrics.Delivery(all[0].Kind, "postponed")
			s.Ends = append(s.Ends, all[0].waits(time.Now().Add(time.Hour)))
		} else {
			n = fitting(all, w.registry.Get(all[0].Connection.Provider()))
			w.attempt(ctx, all[:n], &s)
		}
		all = all[n:]
	}
	return s
}

// attempt makes an attempt at deliveries that go out together. It notes in the share how it ended for each, and what
// that means for the others.
func (w *worker) attempt(ctx context.Context, all []Taken, s *Share) {
	ctx, cancel := context.WithTimeout(ctx, w.opt.get().Timeout)
	defer cancel()
	began := time.Now()
	attempts := make([]*attempt, len(all))
	ended := make([]func(string, resilience.Category), len(all))
	for i, d := range all {
		attempts[i] = &attempt{Taken: d}
		ctx, ended[i] = w.opt.get().Began(ctx, Attempt{ID: d.ID, User: d.User, Connection: d.Connection, Kind: d.Kind,
			CreatedAt: d.CreatedAt, Number: d.Number})
	}
	for i, err := range w.deliver(ctx, attempts) {
		a := attempts[i]
		result, end := w.settle(context.WithoutCancel(ctx), a, s, err)
		end.Failure = a.failure
		s.Ends = append(s.Ends, end)
		ended[i](result, a.why)
		w.metrics.Delivery(a.Kind, result)
		w.report(ctx, a, began, result)
	}
}

// report logs an attempt: its number in the life of the delivery, how many are left, and when the next one follows, and
// why.
func (w *worker) report(ctx context.Context, a *attempt, began time.Time, result string) {
	left := a.Most - a.Number
	switch result {
	case "done", "dead":
		left = 0
	case "postponed", "parked", "canceled":
		left++ // it used none up
	}
	all := []slog.Attr{slog.Int64("delivery_id", a.ID), slog.Int64("user_id", a.User),
		slog.String("provider", string(a.Connection)), slog.String("kind", a.Kind), slog.Int("attempt", a.Number),
		slog.String("outcome", result), slog.Int64("took_ms", time.Since(began).Milliseconds()),
		slog.Int("attempts_left", left)}
	if a.why != resilience.None {
		all = append(all, slog.String("category", a.why.String()))
	}
	if !a.due.IsZero() {
		all = append(all, slog.Int64("next_in_ms", max(time.Until(a.due).Milliseconds(), 0)))
	}
	w.log.LogAttrs(ctx, slog.LevelInfo, "delivery attempt", all...)
}

// deliver makes an attempt at deliveries and returns the outcome for each.
func (w *worker) deliver(ctx context.Context, all []*attempt) []error {
	a := all[0]
	if a.Kind == Notify {
		if w.messages == nil {
			return alike(all, fmt.Errorf("no such kind of delivery: %q", a.Kind))
		}
		return w.try(ctx, all, func() []error { return alike(all, w.messages.deliver(ctx, a)) })
	}
	c, err := w.store.Connection(ctx, a.User, a.Connection)
	if errors.Is(err, library.ErrNotFound) ||
		err == nil && (c.Paused || w.registry.Get(a.Connection.Provider()) == nil) {
		err = errStopped
	}
	kind, ok := w.kinds[a.Kind]
	switch {
	case err != nil:
		return alike(all, err)
	case !ok:
		return alike(all, fmt.Errorf("no such kind of delivery: %q", a.Kind))
	case len(all) > 1:
		return w.try(ctx, all, func() []error { return w.listens.submitAll(ctx, c, all) })
	}
	return w.try(ctx, all, func() []error { return alike(all, kind.deliver(ctx, c, a)) })
}

// alike returns the same outcome for all attempts.
func alike(all []*attempt, err error) []error {
	errs := make([]error, len(all))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// try calls a function and makes an error of its panic, so that one delivery does not end the attempts at others.
func (w *worker) try(ctx context.Context, all []*attempt, do func() []error) (errs []error) {
	defer func() {
		if v := recover(); v != nil {
			w.log.ErrorContext(ctx, "an attempt at a delivery panicked", "err", v, "stack", string(debug.Stack()))
			errs = alike(all, fmt.Errorf("panic: %v", v))
		}
	}()
	return do()
}
