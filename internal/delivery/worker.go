package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"reprise/internal/library"
	"reprise/internal/queue"
	"reprise/internal/resilience"
)

// job is one attempt at a delivery.
type job struct {
	Payload
	ID        int64
	Kind      string
	CreatedAt time.Time
	History   bool
	Again     bool  // an attempt went before this one, and perhaps nobody knows what came of it
	wanted    int64 // of the copy, as it was read; of messages, the number of the newest
	Last      bool  // no attempt follows this one
}

// worker takes the deliveries of one kind from the queue.
type worker[T interface {
	river.JobArgs
	payload() Payload
}] struct {
	river.WorkerDefaults[T]
	d *Deliveries
}

// Work implements river.Worker.
func (w *worker[T]) Work(ctx context.Context, j *river.Job[T]) error {
	w.d.work(j.ID, true)
	defer w.d.work(j.ID, false)
	return w.d.attempt(ctx, job{Payload: j.Args.payload(), ID: j.ID, Kind: j.Kind, CreatedAt: j.CreatedAt,
		History: j.Priority == priorityHistory, Again: j.Attempt > 1, Last: j.Attempt >= j.MaxAttempts})
}

// work notes whether a delivery is worked on.
func (d *Deliveries) work(id int64, on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if on {
		d.working[id] = true
	} else {
		delete(d.working, id)
	}
}

// NextRetry implements river.Worker.
func (w *worker[T]) NextRetry(j *river.Job[T]) time.Time {
	return time.Now().Add(w.d.opt.Delay(j.Attempt))
}

func payloadOf(args []byte) (p Payload, err error) {
	return p, json.Unmarshal(args, &p)
}

// attempt carries a delivery, if it may be carried now, and says to the queue what came of it.
func (d *Deliveries) attempt(ctx context.Context, j job) error {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return river.JobSnooze(0)
	}
	if j.Schema > Schema { // written down by a newer version, which was taken back
		d.opt.Metrics.Delivery(j.Kind, "postponed")
		return river.JobSnooze(time.Hour)
	}
	if j.Kind == Notify {
		err := d.carryMessages(ctx, &j)
		result, err := d.settle(context.WithoutCancel(ctx), j, err)
		d.opt.Metrics.Delivery(j.Kind, result)
		return err
	}
	c, err := d.store.Connection(ctx, j.User, j.Provider)
	switch {
	case errors.Is(err, library.ErrNotFound) || err == nil && (c.Paused || d.registry.Get(j.Provider) == nil):
		d.opt.Metrics.Delivery(j.Kind, "parked")
		return d.park(ctx, j)
	case err == nil:
		err = d.carry(ctx, c, &j)
	}
	result, err := d.settle(context.WithoutCancel(ctx), j, err)
	d.opt.Metrics.Delivery(j.Kind, result)
	return err
}

func (d *Deliveries) carry(ctx context.Context, c library.Connection, j *job) error {
	switch j.Kind {
	case SubmitListens, Scrobble:
		return d.carryListens(ctx, c, j)
	case WritePlaylist:
		return d.carryPlaylist(ctx, c, j)
	case Archive:
		return d.carryMonth(ctx, c, j)
	}
	return fmt.Errorf("no such kind of delivery: %q", j.Kind)
}

// errAgain is returned by a carrier that has not failed, and wants to go on at once.
var errAgain = errors.New("to be continued")

// settle says to the queue what an outcome leads to, and in a word what came of the attempt (see metrics.DeliveryResults).
func (d *Deliveries) settle(ctx context.Context, j job, err error) (result string, _ error) {
	if err == nil {
		return "done", nil
	}
	if errors.Is(err, errAgain) {
		return "done", river.JobSnooze(0)
	}
	if state, ok := waitOf(err); ok {
		if state.Kind == resilience.Stopped {
			return "parked", d.park(ctx, j)
		}
		return "postponed", d.wait(ctx, j, state)
	}
	v := resilience.VerdictOf(err)
	f := Explain(v, err)
	given := v.Scope == resilience.ScopeItem || v.Class == resilience.Retriable && v.NotBefore.IsZero() && j.Last
	d.note(ctx, j, v, f, given)
	if given && again(j.Kind) { // ours may have changed meanwhile
		return d.bury(ctx, j, v.Category)
	}
	switch {
	case v.Class == resilience.Canceled && j.Kind != Notify && d.registry.Get(j.Provider).Takes.Doubles:
		return "canceled", errors.New("cut off") // the attempt counts, so that the next one asks first
	case v.Class == resilience.Canceled:
		return "canceled", river.JobSnooze(0)
	case v.Scope == resilience.ScopeItem:
		return d.dead(v.Category, river.JobCancel(errors.New(f.Category)))
	case v.Class == resilience.Fatal:
		return "parked", d.park(ctx, j)
	case v.NotBefore.After(time.Now()):
		return "postponed", d.wait(ctx, j, resilience.State{Kind: resilience.Held, Until: v.NotBefore})
	case given:
		return d.dead(v.Category, errors.New(f.Category))
	}
	return "retrying", errors.New(f.Category) // the queue counts it; the words are kept with the delivery
}

// bury gives the delivery of a copy or of messages up, unless there is something new since it was read.
func (d *Deliveries) bury(ctx context.Context, j job, why resilience.Category) (result string, _ error) {
	var ended bool
	var err error
	if j.Kind == Notify {
		ended, err = d.store.EndMessages(ctx, j.ID, channelOf(j.Payload), j.wanted, false)
	} else {
		ended, err = d.store.EndCopy(ctx, j.ID, Copy{User: j.User, Provider: j.Provider, Kind: j.Kind, Ref: j.Ref, Wanted: j.wanted}, false)
	}
	switch {
	case err != nil:
		return "retrying", err
	case !ended:
		return "retrying", river.JobSnooze(0)
	}
	return d.dead(why, nil)
}

// dead counts a delivery that was given up.
func (d *Deliveries) dead(why resilience.Category, err error) (result string, _ error) {
	d.opt.Metrics.DeadLetter(why)
	return "dead", err
}

// note keeps why an attempt failed. given says that there will be no other.
func (d *Deliveries) note(ctx context.Context, j job, v resilience.Verdict, f Failure, given bool) {
	if v.Class == resilience.Canceled {
		return
	}
	if given {
		d.log.Warn("delivery given up", "delivery_id", j.ID, "user_id", j.User, "provider", j.Provider, "category", f.Category, "err", f.Answer)
	}
	if err := d.store.NoteFailure(ctx, j.ID, f, given); err != nil {
		d.log.Error("failure of a delivery cannot be kept", "delivery_id", j.ID, "provider", j.Provider, "err", err)
	}
}

// wait postpones a delivery, and with it what else is owed there, until its connection may call again.
func (d *Deliveries) wait(ctx context.Context, j job, s resilience.State) error {
	if s.Until.IsZero() { // another call is finding out
		s.Until = time.Now().Add(time.Second)
	}
	if j.Kind == Notify {
		return d.deferMessages(ctx, j, s.Until)
	}
	until := s.Until.Add(queue.Apart) // so that the ones before this one come no earlier than they may
	if err := d.queue.Postpone(ctx, queue.Of(j.User, j.Provider), j.ID, until); err != nil {
		d.log.Error("deliveries cannot be postponed", "delivery_id", j.ID, "provider", j.Provider, "err", err)
	}
	return river.JobSnooze(max(time.Until(until), 0))
}

// park lets everything that is owed there wait for a person.
func (d *Deliveries) park(ctx context.Context, j job) error {
	if err := d.queue.Park(context.WithoutCancel(ctx), queue.Of(j.User, j.Provider)); err != nil {
		d.log.Error("deliveries cannot be parked", "delivery_id", j.ID, "provider", j.Provider, "err", err)
	}
	return river.JobSnooze(queue.ForGood)
}
