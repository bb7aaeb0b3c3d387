package sync

import (
	"context"
	"errors"
	"time"

	"reprise/internal/activity"
	"reprise/internal/alerts"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// ConnectionStore keeps connections.
type ConnectionStore interface {
	Outlines(context.Context) ([]library.Outline, error)
	LostConnections(context.Context) ([]library.Connection, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	RenameConnection(ctx context.Context, user int64, conn library.ConnectionID, name string) error
	SaveHold(context.Context, backoff.Hold) error
	HeldStore
	SaveConnection(context.Context, library.Connection) (library.Connection, error)
	DeleteConnection(ctx context.Context, user int64, conn library.ConnectionID, data bool) error
	SetApp(ctx context.Context, user int64, conn library.ConnectionID, app string) error
	SetPaused(ctx context.Context, user int64, conn library.ConnectionID, paused bool) error
	ClearStops(ctx context.Context, user int64, conn library.ConnectionID) error
	SavePending(context.Context, library.Connection) error
	Pending(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	DropPending(ctx context.Context, user int64, conn library.ConnectionID) error
	// SetAccountID gives a connection another id of the same account.
	SetAccountID(ctx context.Context, user int64, conn library.ConnectionID, account string) error
	// WantAudit has a month compared with the next reading, or returns library.ErrNotFound.
	WantAudit(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) error
	alerts.Histories
	alerts.Loves
	alerts.Playlists
	RetrySkipped(ctx context.Context, user int64, conn library.ConnectionID) (n int, err error)
}

// Connections is what a person can do with their connections. What has begun to be stored is finished even if the
// person closes the page. Safe for concurrent use.
type Connections struct {
	connector
	statuses
	guard      *Guard
	syncer     *Syncer
	deliveries Deliveries
	store      ConnectionStore
	bus        *events.Bus
}

// NewConnections returns Connections.
func NewConnections(g *Guard, s *Syncer, d Deliveries, store ConnectionStore, bus *events.Bus) *Connections {
	return &Connections{connector: connector{guard: g, syncer: s, deliveries: d, store: store},
		statuses: statuses{guard: g, syncer: s}, guard: g, syncer: s, deliveries: d, store: store, bus: bus}
}

// ErrPaused reports that a connection is not read because its person has paused it.
var ErrPaused = errors.New("the connection is paused")

// Disconnect removes a connection, and with data also what only that connection has brought.
func (m *Connections) Disconnect(ctx context.Context, user int64, conn library.ConnectionID, data bool) error {
	ctx, done, err := m.claim(ctx, user, conn)
	if err != nil {
		return err
	}
	defer done()
	return m.disconnect(context.WithoutCancel(ctx), user, conn, data)
}

// disconnect is Disconnect on any server. A run on another one stores nothing any more.
func (m *Connections) disconnect(ctx context.Context, user int64, conn library.ConnectionID, data bool) error {
	// First of all no run may store more.
	if err := m.store.SetPaused(ctx, user, conn, true); err != nil {
		return err
	}
	m.syncer.stop(user, conn)
	if err := m.store.DeleteConnection(ctx, user, conn, data); err != nil {
		return err
	}
	m.guard.opt.Backoff.Forget(user, string(conn))
	var detail words.Text
	if data {
		detail = words.New("activity.with_data")
	}
	m.note(ctx, user, conn, activity.Disconnected, detail)
	err := m.guard.opt.Alerts.Disconnected(ctx, m.guard.opt.Registry.Get(conn.Provider()), user, conn)
	m.publish(user, conn)
	return err
}

// AskAgain stops every connection whose credentials were sealed with a lost key, and asks its person to reconnect. Call
// it before anything runs. Only news are announced, so it may be called at every start.
func (m *Connections) AskAgain(ctx context.Context) error {
	all, err := m.store.LostConnections(ctx)
	for _, c := range all {
		p := m.guard.opt.Registry.Get(c.Provider())
		if p == nil {
			continue
		}
		s := providers.OfConnection(c, p.Guarded()[0])
		s.Provider = p
		v := resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection}
		err = errors.Join(err, m.guard.Refuse(ctx, s, v, &resilience.LocalError{
			Problem: words.New("trouble.key"),
			Err:     errors.New("the stored sign-in was sealed with a lost secret key")}))
	}
	return err
}

// Leave disconnects all that a person has connected, whose account is being removed. It may be called again.
func (m *Connections) Leave(ctx context.Context, user int64) error {
	all, err := m.store.UserConnections(ctx, user)
	for _, c := range all {
		if m.guard.opt.Registry.Get(c.Provider()) == nil { // a service that this version does not know
			err = errors.Join(err, m.store.DeleteConnection(ctx, user, c.ID, false))
			continue
		}
		if e := m.disconnect(context.WithoutCancel(ctx), user, c.ID, false); !errors.Is(e, library.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// Rename gives a connection another name. With an empty one it is called like its provider.
func (m *Connections) Rename(ctx context.Context, user int64, conn library.ConnectionID, name string) error {
	if err := m.store.RenameConnection(ctx, user, conn, name); err != nil {
		return err
	}
	m.publish(user, conn)
	return nil
}

// Pause stops reading a connection until Resume.
func (m *Connections) Pause(ctx context.Context, user int64, conn library.ConnectionID) error {
	ctx, done, err := m.claim(ctx, user, conn)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	if err := m.store.SetPaused(ctx, user, conn, true); err != nil {
		return err
	}
	m.syncer.stop(user, conn)
	m.note(ctx, user, conn, activity.Paused, words.Text{})
	m.publish(user, conn)
	return nil
}

// Resume lets a paused connection go on, with a run at once.
func (m *Connections) Resume(ctx context.Context, user int64, conn library.ConnectionID) error {
	ctx, done, err := m.claim(ctx, user, conn)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	if err := m.store.SetPaused(ctx, user, conn, false); err != nil {
		return err
	}
	m.note(ctx, user, conn, activity.Resumed, words.Text{})
	return errors.Join(m.deliveries.Release(ctx, user, conn), m.start(ctx, user, conn))
}

// SyncNow is Sync for a caller that need not know whether a run was under way.
func (m *Connections) SyncNow(ctx context.Context, user int64, conn library.ConnectionID) error {
	_, err := m.Sync(ctx, user, conn)
	return err
}

// Sync starts a run of every stream that may run. One that is under way has perhaps begun too early: followed says that
// another one follows it. If none may run, because of a wait or because a person has to act first, Sync returns a
// *backoff.NotBeforeError; ErrPaused if the connection is paused.
func (m *Connections) Sync(ctx context.Context, user int64, conn library.ConnectionID) (followed bool, err error) {
	ctx, done, err := m.claim(ctx, user, conn)
	if err != nil {
		return false, err
	}
	defer done()
	followed, err = m.syncNow(ctx, user, conn)
	if err == nil {
		m.note(ctx, user, conn, activity.Synced, words.Text{})
	}
	return followed, err
}

func (m *Connections) syncNow(ctx context.Context, user int64, conn library.ConnectionID) (followed bool, err error) {
	c, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return false, err
	}
	if c.Paused {
		return false, ErrPaused
	}
	p := m.guard.opt.Registry.Get(conn.Provider())
	if len(p.Streams) == 0 { // nothing is read there
		return false, m.deliveries.Release(ctx, user, conn)
	}
	var against backoff.State
	for _, stream := range p.Streams {
		state := m.guard.state(c, stream)
		if state.Kind != backoff.Stopped && !state.Until.After(time.Now()) {
			followed = m.syncer.StartAnew(c)
			m.publish(user, conn)
			return followed, nil
		}
		if against.Kind == backoff.Ready || state.Kind == backoff.Held {
			against = state
		}
	}
	return false, &backoff.NotBeforeError{State: against}
}

// LookAgain makes everything due that a connection's provider did not give, and reads its playlists. The errors are
// those of SyncNow.
func (m *Connections) LookAgain(ctx context.Context, user int64, conn library.ConnectionID) error {
	ctx, done, err := m.claim(ctx, user, conn)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	if _, err := m.store.RetrySkipped(ctx, user, conn); err != nil {
		return err
	}
	return m.SyncNow(ctx, user, conn)
}

// Compare has a month of a connection's history compared with what is here, with the run that it starts. It returns
// library.ErrNotFound if the history can't be compared; the other errors are those of SyncNow.
func (m *Connections) Compare(ctx context.Context, user int64, conn library.ConnectionID, month library.Month) error {
	ctx, done, err := m.claim(ctx, user, conn)
	if err != nil {
		return err
	}
	defer done()
	if err := m.store.WantAudit(ctx, user, conn, month); err != nil {
		return err
	}
	m.syncer.reader.last.audited(Key{user, conn, library.Listens}, time.Time{})
	return m.SyncNow(ctx, user, conn)
}

// Decided closes the notification about a connection's history if its person has decided about all of it.
func (m *Connections) Decided(ctx context.Context, user int64, conn library.ConnectionID) error {
	c, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return err
	}
	return m.guard.opt.Alerts.History(ctx, m.guard.opt.Registry.Get(conn.Provider()), c, m.store)
}

// DecidedLoves closes the notification about what a connection's service doesn't list any more.
func (m *Connections) DecidedLoves(ctx context.Context, user int64, conn library.ConnectionID) error {
	c, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return err
	}
	return m.guard.opt.Alerts.Unloved(ctx, m.guard.opt.Registry.Get(conn.Provider()), c, m.store)
}

// DecidedLosses closes the notifications about what a connection's playlists have lost and a person has restored.
func (m *Connections) DecidedLosses(ctx context.Context, user int64, conn library.ConnectionID) error {
	c, err := m.store.Connection(ctx, user, conn)
	if errors.Is(err, library.ErrNotFound) { // they were closed when it was removed
		return nil
	}
	if err != nil {
		return err
	}
	return m.guard.opt.Alerts.Losses(ctx, m.guard.opt.Registry.Get(conn.Provider()), c, m.store)
}

// Retry is "Try again": it lifts a stop or a backoff, starts a run, and makes due all that waits to be sent. If a
// dictated wait remains and keeps every stream from running, it is returned as a *backoff.NotBeforeError.
func (m *Connections) Retry(ctx context.Context, user int64, conn library.ConnectionID) error {
	ctx, done, err := m.claim(ctx, user, conn)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	c, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return err
	}
	if err := m.store.ClearStops(ctx, user, conn); err != nil {
		return err
	}
	p := m.guard.opt.Registry.Get(conn.Provider())
	if err := m.guard.readmit(ctx, p); err != nil {
		return err
	}
	m.guard.opt.Alerts.Acted(ctx, activity.Entry{User: user, Action: activity.Retried, Connection: conn})
	m.guard.opt.Backoff.Retry(providers.KeyOf(c, ""))
	m.guard.hurry(p, c)
	m.syncer.reader.last.anew(Key{user, conn, library.Listens})
	m.publish(user, conn)
	if err := m.deliveries.Release(ctx, user, conn); err != nil {
		return err
	}
	_, err = m.syncNow(ctx, user, conn)
	return err
}

func (m *Connections) start(ctx context.Context, user int64, conn library.ConnectionID) error {
	if _, err := m.store.Connection(ctx, user, conn); err != nil {
		return err
	}
	m.syncer.Start(user, conn)
	m.publish(user, conn)
	return nil
}

// note notes in the activity log what a person did with their connection.
func (m *Connections) note(
	ctx context.Context, user int64, conn library.ConnectionID, did activity.Action, detail words.Text,
) {
	m.guard.opt.Alerts.Note(ctx, activity.Entry{User: user, Action: did, Connection: conn, Detail: detail})
}

func (m *Connections) publish(user int64, conn library.ConnectionID) {
	m.bus.Publish(user, events.Event{Type: events.Connection, Connection: conn})
}
