package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	Payload
	ID        int64
	Kind      string
	CreatedAt time.Time
	History   bool
	Number    int                 // of the attempt, from 1; the ones before have been used up
	Most      int                 // attempts that the delivery has in all
	due       time.Time           // of the next attempt, once it is known
	why       resilience.Category // of its failure, or of what postponed it
	seen      int64               // version of the copy that was read; of messages, the id of the newest one
}

// again reports whether an attempt went before, whose outcome may be unknown.
func (a *attempt) again() bool { return a.Number > 1 }

// last reports whether no attempt follows.
func (a *attempt) last() bool { return a.Number >= a.Most }

// workerStore is what the worker needs of the store.
type workerStore interface {
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	// NoteFailure stores why an attempt failed. dead says that no other follows.
	NoteFailure(ctx context.Context, id int64, f Failure, dead bool) error
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

// worker makes the attempts that River asks for, and returns to River what follows from their outcomes.
type worker struct {
	river.WorkerDefaults[args]
	registry *providers.Registry
	store    workerStore
	queue    *queue.Queue
	log      *slog.Logger
	metrics  attemptCounts
	opt      *options
	kinds    map[string]deliverer
	messages *messageDeliverer // nil: there are no channels

	mu      sync.Mutex
	working map[int64]work      // attempts under way, by delivery
	next    map[int64]time.Time // of deliveries whose attempt has failed just now, when the next one is due
}

// work is an attempt under way.
type work struct {
	user   int64
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
	w := &worker{registry: p.Registry, store: p.Store, queue: p.Store.Queue(), log: p.Log, metrics: counts,
		opt: opt, working: map[int64]work{},
		next: map[int64]time.Time{},
		kinds: map[string]deliverer{
			SubmitListens: listens,
			Scrobble:      listens,
			DeleteListens: &deletionDeliverer{guard: p.Guard, store: p.Store, metrics: counts},
			WritePlaylist: &playlistDeliverer{copies, p.Registry, p.Teller},
			Archive:       &monthDeliverer{copies},
		}}
	if p.Messenger != nil {
		w.messages = &messageDeliverer{messenger: p.Messenger, store: p.Store}
	}
	return w
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, j *river.Job[args]) error {
	ctx, end := w.begin(ctx, j.ID, j.Args.User)
	defer end()
	return w.attempt(resilience.WithAttempt(ctx, j.Attempt), attempt{Payload: j.Args.Payload, ID: j.ID, Kind: j.Kind,
		CreatedAt: j.CreatedAt, History: j.Priority == priorityHistory, Number: j.Attempt, Most: j.MaxAttempts})
}

// Timeout implements river.Worker. River would watch over each deadline with a goroutine and two contexts of its own.
func (w *worker) Timeout(*river.Job[args]) time.Duration { return -1 }

// NextRetry implements river.Worker.
func (w *worker) NextRetry(j *river.Job[args]) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, known := w.next[j.ID]
	if delete(w.next, j.ID); known {
		return at
	}
	return time.Now().Add(w.opt.get().Schedule.delay(j.Attempt)) // cut off
}

// retry notes when a delivery is tried again whose attempt has failed: after its own wait, and not before its
// connection may call.
func (w *worker) retry(a *attempt, err error) {
	a.due = time.Now().Add(w.opt.get().Schedule.delay(a.Number))
	if f, ok := errors.AsType[*resilience.Failure](err); ok {
		if may := f.Change.After.Until.Add(queue.Precision); may.After(a.due) {
			a.due = may
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next[a.ID] = a.due
}

// begin notes that an attempt at a delivery is under way, until end is called.
func (w *worker) begin(ctx context.Context, id, user int64) (_ context.Context, end func()) {
	ctx, cancel := context.WithTimeout(ctx, w.opt.get().Timeout)
	now := work{user: user, cancel: cancel, done: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.working[id] = now
	return ctx, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.working, id)
		close(now.done)
	}
}

// cutOff ends the attempts at a person's deliveries, and returns when they have ended.
func (w *worker) cutOff(user int64) {
	var mine []work
	w.mu.Lock()
	for _, now := range w.working {
		if now.user == user {
			now.cancel()
			mine = append(mine, now)
		}
	}
	w.mu.Unlock()
	for _, now := range mine {
		<-now.done
	}
}

// exceptWorking removes the deliveries from all that have an attempt under way.
func (w *worker) exceptWorking(all map[int64]time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(all, func(id int64, _ time.Time) bool { _, ok := w.working[id]; return ok })
}

// attempt makes an attempt, if one may be made now, and returns what River is to do.
func (w *worker) attempt(ctx context.Context, a attempt) error {
	free, ok := w.opt.slot(ctx)
	if !ok {
		return river.JobSnooze(0)
	}
	defer free()
	if a.Schema > payloadSchema { // enqueued by a newer version that was taken back
		w.metrics.Delivery(a.Kind, "postponed")
		return river.JobSnooze(time.Hour)
	}
	began := time.Now()
	ctx, end := w.opt.get().Began(ctx, Attempt{ID: a.ID, User: a.User, Connection: a.Connection, Kind: a.Kind,
		CreatedAt: a.CreatedAt, Number: a.Number})
	result, err := w.deliver(ctx, &a)
	end(result, a.why)
	w.metrics.Delivery(a.Kind, result)
	w.report(ctx, &a, began, result)
	return err
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

// deliver makes an attempt and returns its result in a word (see metrics.DeliveryResults), and what River is to do.
func (w *worker) deliver(ctx context.Context, a *attempt) (result string, _ error) {
	after := context.WithoutCancel(ctx)
	if a.Kind == Notify {
		err := fmt.Errorf("no such kind of delivery: %q", a.Kind)
		if w.messages != nil {
			err = w.messages.deliver(ctx, a)
		}
		return w.settle(after, a, err)
	}
	c, err := w.store.Connection(ctx, a.User, a.Connection)
	if errors.Is(err, library.ErrNotFound) ||
		err == nil && (c.Paused || w.registry.Get(a.Connection.Provider()) == nil) {
		return "parked", w.park(ctx, a)
	}
	if err == nil {
		kind, ok := w.kinds[a.Kind]
		if !ok {
			return w.settle(after, a, fmt.Errorf("no such kind of delivery: %q", a.Kind))
		}
		err = kind.deliver(ctx, c, a)
	}
	return w.settle(after, a, err)
}

// settle returns what follows from an outcome: the result in a word, and what River is to do.
func (w *worker) settle(ctx context.Context, a *attempt, err error) (result string, _ error) {
	if err == nil {
		return "done", nil
	}
	if errors.Is(err, errAgain) {
		return "done", river.JobSnooze(0)
	}
	v := resilience.VerdictOf(err)
	a.why = v.Category
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
		if e.State.Kind == resilience.Stopped {
			return "parked", w.park(ctx, a)
		}
		if v.Category == resilience.CircuitOpen {
			w.noteFailure(ctx, a, v, explain(v, err), false)
		}
		return "postponed", w.wait(ctx, a, e.State)
	}
	f := explain(v, err)
	dead := v.Scope == resilience.ScopeItem || v.Class == resilience.Retriable && v.NotBefore.IsZero() && a.last()
	w.noteFailure(ctx, a, v, f, dead)
	if dead && again(a.Kind) { // ours may have changed meanwhile
		return w.bury(ctx, a, v.Category)
	}
	switch {
	case v.Class == resilience.Canceled && a.Kind != Notify && w.registry.Get(a.Connection.Provider()).Takes.Doubles:
		return "canceled", errors.New("cut off") // the attempt counts, so that the next one asks first
	case v.Class == resilience.Canceled:
		return "canceled", river.JobSnooze(0)
	case v.Scope == resilience.ScopeItem:
		return w.dead(v.Category, river.JobCancel(errors.New(f.Category)))
	case v.Class == resilience.Fatal:
		return "parked", w.park(ctx, a)
	case v.NotBefore.After(time.Now()):
		return "postponed", w.wait(ctx, a, resilience.State{Kind: resilience.Held, Until: v.NotBefore})
	case dead:
		return w.dead(v.Category, errors.New(f.Category))
	}
	w.retry(a, err)
	return "retrying", errors.New(f.Category) // River counts it; the reason is stored with the delivery
}

// bury ends the delivery of a copy or of messages as dead, unless there is something new since it was read.
func (w *worker) bury(ctx context.Context, a *attempt, why resilience.Category) (result string, _ error) {
	var ended bool
	var err error
	if a.Kind == Notify {
		ended, err = w.store.EndMessages(ctx, a.ID, a.channel(), a.seen, false)
	} else {
		ended, err = w.store.EndCopy(ctx, a.ID, a.copy(), false)
	}
	switch {
	case err != nil:
		return "retrying", err
	case !ended:
		return "retrying", river.JobSnooze(0)
	}
	return w.dead(why, nil)
}

// dead counts a delivery that was given up.
func (w *worker) dead(why resilience.Category, err error) (result string, _ error) {
	w.metrics.DeadLetter(why)
	return "dead", err
}

// noteFailure stores why an attempt failed. dead says that no other follows.
func (w *worker) noteFailure(ctx context.Context, a *attempt, v resilience.Verdict, f Failure, dead bool) {
	if v.Class == resilience.Canceled {
		return
	}
	if dead {
		w.log.Warn("delivery given up", "delivery_id", a.ID, "user_id", a.User, "provider", a.Connection,
			"category", f.Category, "err", f.Answer)
	}
	if err := w.store.NoteFailure(ctx, a.ID, f, dead); err != nil {
		w.log.Error("failure of a delivery cannot be stored", "delivery_id", a.ID, "provider", a.Connection, "err", err)
	}
}

// wait postpones a delivery, and the others to the same connection, until the connection may call again.
func (w *worker) wait(ctx context.Context, a *attempt, s resilience.State) error {
	if s.Until.IsZero() { // another call is finding out
		s.Until = time.Now().Add(time.Second)
	}
	a.due = s.Until
	if a.Kind == Notify {
		return w.messages.wait(ctx, a, s.Until)
	}
	until := s.Until.Add(queue.Apart) // the deliveries before this one come no earlier than they may
	if err := w.queue.Postpone(ctx, queue.Of(a.User, a.Connection), a.ID, until); err != nil {
		w.log.Error("deliveries cannot be postponed", "delivery_id", a.ID, "provider", a.Connection, "err", err)
	}
	return river.JobSnooze(max(time.Until(until), 0))
}

// park parks all deliveries to a connection.
func (w *worker) park(ctx context.Context, a *attempt) error {
	if err := w.queue.Park(context.WithoutCancel(ctx), queue.Of(a.User, a.Connection)); err != nil {
		w.log.Error("deliveries cannot be parked", "delivery_id", a.ID, "provider", a.Connection, "err", err)
	}
	return river.JobSnooze(queue.ForGood)
}
