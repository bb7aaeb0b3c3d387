package alerts

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Store keeps what must survive a restart.
type Store interface {
	SaveSuccess(ctx context.Context, user int64, provider, stream string, at time.Time) error
	SaveFailure(ctx context.Context, user int64, provider, stream, advice, detail string) error
	SaveStop(context.Context, resilience.Stop) error
	SaveHold(context.Context, resilience.Hold) error
	Admins(context.Context) ([]int64, error)
	Connections(context.Context) ([]library.Connection, error)
	// WaitingFor says in words what waits to be sent to a connection, such as "37 listens"; empty for nothing.
	WaitingFor(ctx context.Context, user int64, provider string) (string, error)
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

// Alerts draws the consequences of outcomes. See the package comment.
type Alerts struct {
	store    Store
	notifier *notify.Notifier
	bus      *events.Bus
	log      *slog.Logger
	journal  journal

	// telling keeps opening and closing apart. It is held while the store is written.
	telling sync.Mutex

	mu sync.Mutex
	// failed is the Seq of the latest failure of a stream, a connection or an app.
	failed map[resilience.Key]uint64
	// closed are the streams whose alerts were closed after their latest failure: a further success need not look.
	closed map[resilience.Key]bool
	// owed are the consequences that could not be stored, by stream.
	owed map[resilience.Key]func(context.Context) error
	// advice is what the latest failure of an app advised, for all its users.
	advice map[resilience.Key]string
	// stored is when a success of a stream of deliveries was stored last.
	stored map[resilience.Key]time.Time
}

// New returns Alerts that know of no failure yet.
func New(o Options) *Alerts {
	return &Alerts{store: o.Store, notifier: o.Notifier, bus: o.Bus, log: o.Log,
		journal: journal{log: o.Log, store: o.Store, down: map[resilience.Key]activity.Action{}},
		failed:  map[resilience.Key]uint64{}, closed: map[resilience.Key]bool{},
		owed:   map[resilience.Key]func(context.Context) error{},
		advice: map[resilience.Key]string{}, stored: map[resilience.Key]time.Time{}}
}

// Succeeded stores that a call succeeded, and closes the alerts that this disproves.
func (a *Alerts) Succeeded(ctx context.Context, s providers.Subject, ch resilience.Change) error {
	if s.Channel || ch.After.Kind == resilience.Stopped {
		return nil
	}
	recovered := ch.Kind == resilience.Recovered
	if recovered {
		a.journal.recovered(ctx, s, ch)
	}
	var err error
	if !s.Installation() && (a.worthStoring(s.Key()) || recovered) {
		c := s.Connection
		err = a.store.SaveSuccess(ctx, c.User, c.Provider, s.Stream, time.Now())
	}
	if ch.After.Kind == resilience.Ready {
		err = errors.Join(err, a.close(ctx, s, ch))
	}
	if recovered && ch.State.Scope == resilience.ScopeApp {
		err = errors.Join(err, a.Publish(ctx, s.Connection))
	}
	return err
}

// storeEvery is how often a success of deliveries is stored: a backlog makes many calls.
const storeEvery = time.Minute

// worthStoring reports whether a success of the stream is to be stored now, and takes it for stored.
func (a *Alerts) worthStoring(k resilience.Key) bool {
	if k.Stream != library.Deliveries {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.stored[k]) < storeEvery {
		return false
	}
	a.stored[k] = time.Now()
	return true
}

// Failed stores what a failure changed, tells the people who have to know, and notes it. What cannot be stored now is
// drawn again by Finish.
func (a *Alerts) Failed(ctx context.Context, s providers.Subject, f *resilience.Failure) error {
	return a.draw(ctx, s.Key(), func(ctx context.Context) error { return a.consequences(ctx, s, f) })
}

// Finish draws the consequences of a stream's latest failure again if they could not be stored.
func (a *Alerts) Finish(ctx context.Context, k resilience.Key) error {
	a.mu.Lock()
	owed := a.owed[k]
	a.mu.Unlock()
	if owed == nil {
		return nil
	}
	return a.draw(ctx, k, owed)
}

// draw calls consequences and keeps them for Finish if they fail.
func (a *Alerts) draw(ctx context.Context, k resilience.Key, consequences func(context.Context) error) error {
	err := consequences(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.owed, k)
	if err != nil {
		a.owed[k] = consequences
	}
	return err
}

// consequences draws those of a failure. It may be called again for the same failure.
func (a *Alerts) consequences(ctx context.Context, s providers.Subject, f *resilience.Failure) error {
	a.telling.Lock()
	defer a.telling.Unlock()
	c, state := s.Connection, f.Change.State
	at := keyOfScope(s, state.Scope)
	if !s.Channel {
		a.noteFailure(at, f.Change)
	}
	var errs []error
	if f.Change.NewHold && !ofKeys(f) {
		hold := resilience.Hold{Key: at, Category: state.Category, Since: state.Since, Until: state.Until}
		errs = append(errs, a.store.SaveHold(ctx, hold))
	}
	if s.Channel { // the rest is up to whoever sends by it
		return errors.Join(errs...)
	}
	if !s.Installation() {
		stream := s.Stream
		if state.Scope != resilience.ScopeStream {
			stream = ""
		}
		errs = append(errs, a.store.SaveFailure(ctx, c.User, c.Provider, stream, AdviceOf(f), resilience.Excerpt(f.Error())))
	}
	errs = append(errs, a.tell(ctx, s, f))
	if f.Change.NewHold {
		a.journal.held(ctx, s, state)
	}
	if s.Installation() {
		a.advise(c, adminAdvice(f))
	} else if state.Scope == resilience.ScopeApp {
		a.advise(c, AdviceOf(f))
		errs = append(errs, a.Publish(ctx, c))
	}
	return errors.Join(errs...)
}

// keyOfScope returns the key of what a state is about: a stream, a connection, or all connections that share an app.
func keyOfScope(s providers.Subject, scope resilience.Scope) resilience.Key {
	switch {
	case scope == resilience.ScopeApp, s.Installation():
		return providers.AppKey(s.Connection)
	case scope == resilience.ScopeConnection:
		return providers.KeyOf(s.Connection, "")
	}
	return s.Key()
}

// noteFailure notes that alerts of what a failure concerns may be open from now on.
func (a *Alerts) noteFailure(at resilience.Key, ch resilience.Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed[at] = max(a.failed[at], ch.Seq)
	maps.DeleteFunc(a.closed, func(k resilience.Key, _ bool) bool {
		return k.Provider == at.Provider && (k.User == at.User || at.User == 0)
	})
}

// close closes the alerts that a success of one stream disproves: those about that stream, about the connection as a
// whole, and about the app.
func (a *Alerts) close(ctx context.Context, s providers.Subject, ch resilience.Change) error {
	k := s.Key()
	a.mu.Lock()
	closed := a.closed[k]
	delete(a.owed, k)
	a.mu.Unlock()
	if closed {
		return nil
	}
	a.telling.Lock()
	defer a.telling.Unlock()
	if a.failedSince(s, ch) {
		return nil
	}
	own, admins := causesOf(s.Connection.User, s.Stream)
	if ch.AllReady { // one warning for all streams goes when the last of them works again
		own = append(own, notify.CauseStill)
	}
	provider := s.Connection.Provider
	err := errors.Join(a.notifier.Resolve(ctx, s.Connection.User, provider, own...),
		a.notifier.Resolve(ctx, 0, provider, append(admins, appCauses...)...))
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed[k] = true
	delete(a.failed, k)
	return nil
}

// failedSince reports whether a failure of what the subject belongs to is newer than a success.
func (a *Alerts) failedSince(s providers.Subject, success resilience.Change) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range []resilience.Key{s.Key(), providers.KeyOf(s.Connection, ""), providers.AppKey(s.Connection)} {
		if a.failed[k] > success.Seq {
			return true
		}
	}
	return false
}

// Publish tells the browsers of everybody who shares the app of a connection that its state has changed.
func (a *Alerts) Publish(ctx context.Context, c library.Connection) error {
	all, err := a.store.Connections(ctx)
	for _, other := range all {
		if other.Provider == c.Provider && other.App == c.App {
			a.bus.Publish(other.User, events.Event{Type: events.Connection, Provider: c.Provider})
		}
	}
	return err
}
