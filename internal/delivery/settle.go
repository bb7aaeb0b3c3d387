package delivery

import (
	"context"
	"errors"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// settle returns what follows from an outcome: the result in a word, and how the attempt ended. It notes in the share
// what follows for the others.
func (w *worker) settle(ctx context.Context, a *attempt, s *Share, err error) (result string, _ End) {
	if err == nil {
		return "done", a.used(Done)
	}
	if errors.Is(err, errAgain) {
		return "done", a.waits(time.Now())
	}
	if errors.Is(err, errStopped) {
		s.Park = true
		return "parked", a.unused(Parked)
	}
	v := resilience.VerdictOf(err)
	a.why = v.Category
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		if e.State.Kind == backoff.Stopped {
			s.Park = true
			return "parked", a.unused(Parked)
		}
		if v.Category == resilience.CircuitOpen {
			w.failed(a, v, explain(v, err), false)
		}
		return w.wait(ctx, a, s, e.State.Until)
	}
	f := explain(v, err)
	dead := v.Scope == resilience.ScopeItem || v.Class == resilience.Retriable && v.NotBefore.IsZero() && a.last()
	w.failed(a, v, f, dead)
	if dead && again(a.Kind) { // ours may have changed meanwhile
		return w.bury(ctx, a, v.Category)
	}
	switch {
	case v.Class == resilience.Canceled && a.Kind != Notify && w.registry.Get(a.Connection.Provider()).Takes.Doubles:
		return "canceled", w.retry(a, err) // the attempt counts, so that the next one asks first
	case v.Class == resilience.Canceled:
		return "canceled", a.waits(time.Now())
	case dead:
		w.metrics.DeadLetter(v.Category)
		return "dead", a.used(Dead)
	case v.Class == resilience.Fatal:
		s.Park = true
		return "parked", a.unused(Parked)
	case v.NotBefore.After(time.Now()):
		return w.wait(ctx, a, s, v.NotBefore)
	}
	return "retrying", w.retry(a, err)
}

// retry has a delivery tried again whose attempt has failed: after its own wait, and not before its connection may
// call.
func (w *worker) retry(a *attempt, err error) End {
	a.due = w.opt.get().Schedule.due(a.Number, err)
	end := a.used(Retrying)
	end.Due = a.due
	return end
}

// bury ends the delivery of a copy or of messages as dead, unless there is something new since it was read.
func (w *worker) bury(ctx context.Context, a *attempt, why resilience.Category) (result string, _ End) {
	var ended bool
	var err error
	if a.Kind == Notify {
		ended, err = w.store.EndMessages(ctx, a.ID, a.channel(), a.seen, false)
	} else {
		ended, err = w.store.EndCopy(ctx, a.ID, a.copy(), false)
	}
	switch {
	case err != nil:
		return "retrying", w.retry(a, err)
	case !ended:
		return "retrying", a.waits(time.Now())
	}
	w.metrics.DeadLetter(why)
	return "dead", a.used(Dead)
}

// failed notes why an attempt failed. dead says that no other follows.
func (w *worker) failed(a *attempt, v resilience.Verdict, f Failure, dead bool) {
	if v.Class == resilience.Canceled {
		return
	}
	if dead {
		w.log.Warn("delivery given up", "delivery_id", a.ID, "user_id", a.User, "provider", a.Connection,
			"category", f.Category, "err", f.Answer)
	}
	a.failure = &f
}

// wait postpones a delivery, and the others to the same connection, until the connection may call again.
func (w *worker) wait(ctx context.Context, a *attempt, s *Share, until time.Time) (result string, _ End) {
	if until.IsZero() { // another call is finding out
		until = time.Now().Add(time.Second)
	}
	a.due = until
	if a.Kind != Notify {
		s.Until = until
		return "postponed", a.waits(until)
	}
	deferred, err := w.store.DeferMessages(ctx, a.ID, a.channel(), a.seen, until)
	if err == nil && !deferred { // a message has come that may be sent earlier
		until = time.Now()
	}
	return "postponed", a.waits(until)
}
