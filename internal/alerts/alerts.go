package alerts

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// Store keeps what must survive a restart.
type Store interface {
	SaveSuccess(ctx context.Context, user int64, conn library.ConnectionID, stream string, at time.Time) error
	SaveFailure(ctx context.Context, user int64, conn library.ConnectionID, stream string, advice words.Text,
		detail string) error
	SaveStop(context.Context, backoff.Stop) error
	SaveHold(context.Context, backoff.Hold) error
	Admins(context.Context) ([]int64, error)
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	Outlines(context.Context) ([]library.Outline, error)
	// WaitingFor says what waits to be sent to a connection, such as "37 listens are waiting"; empty for nothing.
	WaitingFor(ctx context.Context, user int64, conn library.ConnectionID) (words.Text, error)
	// Note adds an entry to the activity log.
	Note(context.Context, activity.Entry) error
}

// Options are what [New] needs. All are required.
type Options struct {
	Store    Store
	Notifier *notify.Notifier
	Bus      *events.Bus
	Log      *slog.Logger
}

// Alerts acts on the outcomes of calls. See the package comment.
type Alerts struct {
	store    Store
	notifier *notify.Notifier
	bus      *events.Bus
	log      *slog.Logger
	journal  *journal
	teller   teller
	memory   *memory

	// telling keeps opening and closing apart. It is held while the store is written.
	telling sync.Mutex
}

// New returns Alerts that know of no failure yet.
func New(o Options) *Alerts {
	j := &journal{log: o.Log, store: o.Store, down: map[backoff.Key]activity.Action{}}
	return &Alerts{store: o.Store, notifier: o.Notifier, bus: o.Bus, log: o.Log, journal: j, memory: newMemory(),
		teller: teller{store: o.Store, notifier: o.Notifier, journal: j}}
}

// Succeeded stores that a call succeeded, and closes the alerts that this disproves.
func (a *Alerts) Succeeded(ctx context.Context, s providers.Subject, ch backoff.Change) error {
	if s.Channel || ch.Stream.Kind == backoff.Stopped {
		return nil
	}
	recovered := ch.Kind == backoff.Recovered
	if recovered {
		a.journal.recovered(ctx, s, ch)
	}
	var err error
	if !s.Installation() && a.memory.store(s.Key(), recovered) {
		c := s.Connection
		err = a.store.SaveSuccess(ctx, c.User, c.ID, s.Stream, time.Now())
	}
	if ch.Stream.Kind == backoff.Ready {
		err = errors.Join(err, a.close(ctx, s, ch))
	}
	if recovered && ch.Fault.Scope == resilience.ScopeApp {
		err = errors.Join(err, a.Publish(ctx, s.Connection))
	}
	return err
}

// close closes the alerts that a success of one stream disproves: those about that stream, about the connection as a
// whole, and about the app.
func (a *Alerts) close(ctx context.Context, s providers.Subject, ch backoff.Change) error {
	if a.memory.succeed(s.Key()) {
		return nil
	}
	a.telling.Lock()
	defer a.telling.Unlock()
	if a.memory.failedSince(s, ch.Seq) {
		return nil
	}
	own, admins := causesOf(s.Connection.User, s.Stream)
	if ch.AllReady { // one warning for all streams goes when the last of them works again
		own = append(own, notify.CauseStill)
	}
	c := s.Connection
	app := library.ConnectionID(c.Provider())
	by := a.memory.mender(s)
	err := a.notifier.Close(ctx, notify.Closing{User: c.User, Connection: c.ID, Causes: own, MendedBy: by},
		notify.Closing{Connection: c.ID, Causes: admins, MendedBy: by},
		notify.Closing{Connection: app, Causes: appCauses, MendedBy: by})
	if err == nil {
		a.memory.close(s.Key())
	}
	return err
}

// Failed stores what a failure changed, tells the people who have to know, and notes it. What cannot be stored now is
// drawn again by Finish.
func (a *Alerts) Failed(ctx context.Context, s providers.Subject, f *backoff.Failure) error {
	v := find(s, f.Change, f)
	return a.memory.draw(ctx, s.Key(), func(ctx context.Context) error { return a.consequences(ctx, v) })
}

// Finish repeats what follows from a stream's latest failure if it could not be stored.
func (a *Alerts) Finish(ctx context.Context, k backoff.Key) error { return a.memory.redraw(ctx, k) }

// consequences stores and announces what follows from a finding. It may be called again with the same one.
func (a *Alerts) consequences(ctx context.Context, v finding) error {
	a.telling.Lock()
	defer a.telling.Unlock()
	s, c, state, about := v.subject, v.subject.Connection, v.change.Fault, v.about()
	if !s.Channel {
		a.memory.fail(about, v.change.Seq)
	}
	var errs []error
	if v.change.NewHold && !v.ofKeys {
		hold := backoff.Hold{Key: about, Category: state.Category, Since: state.Since, Until: state.Until}
		errs = append(errs, a.store.SaveHold(ctx, hold))
	}
	if s.Channel { // its sender decides the rest
		return errors.Join(errs...)
	}
	if !s.Installation() {
		errs = append(errs, a.store.SaveFailure(ctx, c.User, c.ID, about.Stream, v.advice, v.detail))
	}
	errs = append(errs, a.teller.tell(ctx, v))
	if v.change.NewHold {
		a.journal.held(ctx, s, state)
	}
	if s.Installation() {
		a.memory.setAdvice(about, v.adminAdvice)
	} else if state.Scope == resilience.ScopeApp {
		a.memory.setAdvice(about, v.advice)
		errs = append(errs, a.Publish(ctx, c))
	}
	return errors.Join(errs...)
}

// Advice returns what the latest failure of a connection's app said should be done about it; empty for nothing.
func (a *Alerts) Advice(c library.Connection) words.Text {
	return a.memory.adviceFor(providers.AppKey(c))
}

// Publish tells the browsers of everybody who shares the app of a connection that its state has changed.
func (a *Alerts) Publish(ctx context.Context, c library.Connection) error {
	all, err := a.store.Outlines(ctx)
	for _, other := range all {
		if other.Provider() == c.Provider() && other.App == c.App {
			a.bus.Publish(other.User, events.Event{Type: events.Connection, Connection: other.ID})
		}
	}
	return err
}

// ForgetApps drops what is known of apps, and of the connections to them, which another server has called meanwhile.
func (a *Alerts) ForgetApps(of func(backoff.Key) bool) {
	a.memory.forgetApps(of)
	a.journal.forgetApps(of)
}
