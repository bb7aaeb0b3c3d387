package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// ConnectionStore keeps connections.
type ConnectionStore interface {
	Connections(context.Context) ([]library.Connection, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	RenameConnection(ctx context.Context, user int64, conn library.ConnectionID, name string) error
	SaveHold(context.Context, resilience.Hold) error
	SaveConnection(context.Context, library.Connection) (library.Connection, error)
	DeleteConnection(ctx context.Context, user int64, conn library.ConnectionID, data bool) error
	SetPaused(ctx context.Context, user int64, conn library.ConnectionID, paused bool) error
	ClearStops(ctx context.Context, user int64, conn library.ConnectionID) error
	SavePending(context.Context, library.Connection) error
	Pending(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	DropPending(ctx context.Context, user int64, conn library.ConnectionID) error
}

// OtherAccountError says that a proved credential belongs to another account than the connection. It waits, stored,
// for its person's choice.
type OtherAccountError struct{ Old, New string }

func (e *OtherAccountError) Error() string {
	return fmt.Sprintf("connected as %q until now, this is %q", e.Old, e.New)
}

// otherAccount names both accounts. Those that are called alike, as on two servers, are told apart by what else is known
// of them.
func otherAccount(old, now library.Connection) *OtherAccountError {
	if old.Account == now.Account {
		for _, c := range []*library.Connection{&old, &now} {
			c.Account += " (" + strings.TrimSuffix(c.AccountID, "#"+c.Account) + ")"
		}
	}
	return &OtherAccountError{Old: old.Account, New: now.Account}
}

// Connections is what a person can do with their connections. What has begun to be stored is finished although the person
// closes the page meanwhile. Safe for concurrent use.
type Connections struct {
	guard      *Guard
	syncer     *Syncer
	deliveries Deliveries
	store      ConnectionStore
	bus        *events.Bus
}

// NewConnections returns Connections.
func NewConnections(g *Guard, s *Syncer, d Deliveries, store ConnectionStore, bus *events.Bus) *Connections {
	return &Connections{guard: g, syncer: s, deliveries: d, store: store, bus: bus}
}

// ErrPaused says that a connection is not read because its person has paused it.
var ErrPaused = errors.New("the connection is paused")

// ConnectOAuth proves a permission that has just been given on a provider's own page and stores it as the user's
// connection.
func (m *Connections) ConnectOAuth(ctx context.Context, p *providers.Provider, user int64, g oauth.Grant) (library.Connection, error) {
	client := m.guard.opt.Client
	if p.OAuth != nil {
		client = oauth.GrantClient(client, g.Credentials)
	}
	adapter := p.Open(client, g.Credentials)
	c := library.Connection{User: user, ID: cmp.Or(g.Connection, library.ConnectionID(p.Name)), Credentials: g.Credentials,
		AuthorizedAt: g.AuthorizedAt, ExpiresAt: g.ExpiresAt}
	return m.connect(ctx, p, c, adapter)
}

// Connect proves what a person has typed in by a real call and stores it as the user's connection. Nothing is stored
// when the proof fails; the error is the call's. When there is a connection to another account already, the new one
// waits and the error is an *OtherAccountError.
func (m *Connections) Connect(
	ctx context.Context, p *providers.Provider, c library.Connection,
) (library.Connection, error) {
	c.AuthorizedAt = time.Now()
	return m.connect(ctx, p, c, p.Open(m.guard.opt.Client, c.Credentials))
}

func (m *Connections) connect(ctx context.Context, p *providers.Provider, c library.Connection, adapter providers.Adapter) (library.Connection, error) {
	if err := m.Held(p, c.Credentials); err != nil {
		return c, err
	}
	account, err := adapter.Prove(resilience.WithUser(ctx, c.User, p.Name))
	if err != nil {
		return c, m.Refused(ctx, p, c.Credentials, err)
	}
	maps.Copy(c.Credentials, account.Learned)
	c.App = p.App(c.Credentials)
	c.AccountID, c.Account, c.CreatedAt = account.ID, account.Name, time.Now()
	old, err := m.store.Connection(ctx, c.User, c.ID)
	switch {
	case err == nil && old.AccountID != c.AccountID:
		if err := m.store.SavePending(ctx, c); err != nil {
			return c, err
		}
		return c, otherAccount(old, c)
	case err != nil && !errors.Is(err, library.ErrNotFound):
		return c, err
	}
	return m.take(ctx, c)
}

// Choice is between which accounts a person has to choose; the error is [library.ErrNotFound] when there is nothing to.
func (m *Connections) Choice(
	ctx context.Context, user int64, conn library.ConnectionID,
) (*OtherAccountError, error) {
	pending, err := m.store.Pending(ctx, user, conn)
	if err != nil {
		return nil, err
	}
	old, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return nil, err
	}
	return otherAccount(old, pending), nil
}

// Held is a *resilience.NotBeforeError while the provider has asked everybody who shares these limits to wait. No call
// may be made then, not even to connect.
func (m *Connections) Held(p *providers.Provider, credentials library.Credentials) error {
	state := m.guard.opt.Backoff.State(resilience.Key{Provider: p.Name, App: p.App(credentials)})
	if state.Kind == resilience.Held && state.Until.After(time.Now()) {
		return &resilience.NotBeforeError{State: state}
	}
	return nil
}

// Refused judges the answer to somebody who wanted to connect. It returns a *resilience.Failure of err, after storing the
// wait that the provider may have dictated.
func (m *Connections) Refused(ctx context.Context, p *providers.Provider, credentials library.Credentials, err error) error {
	v := resilience.Classify(err)
	failure := &resilience.Failure{Verdict: v, Err: err}
	if v.Category == resilience.Unknown {
		m.guard.opt.Metrics.Unclassified(p.Name)
	}
	if v.Scope != resilience.ScopeApp && v.Scope != resilience.ScopeKey || v.NotBefore.IsZero() {
		return failure
	}
	hold := resilience.Hold{Key: resilience.Key{Provider: p.Name, App: p.App(credentials)}, Category: v.Category,
		Since: time.Now(), Until: v.NotBefore}
	m.guard.opt.Backoff.RestoreHold(hold)
	if _, ofKeys := errors.AsType[*resilience.KeysError](err); ofKeys { // stored key by key
		return failure
	}
	return errors.Join(failure, m.store.SaveHold(context.WithoutCancel(ctx), hold))
}

// Choice is what a person makes of the credential of another account.
type Choice string

// The choices.
const (
	Keep    Choice = "keep"    // the connection stays with its account; the credential is forgotten
	Replace Choice = "replace" // the connection leads to the other account from now on
	Another Choice = "another" // the other account becomes another connection
)

// ErrTooMany says that a person has as many connections to a provider as there can be.
var ErrTooMany = errors.New("there are too many connections to this service already")

// Choose ends the wait of another account's credential, and returns the connection that it became, if it did.
func (m *Connections) Choose(
	ctx context.Context, user int64, conn library.ConnectionID, choice Choice,
) (library.Connection, error) {
	pending, err := m.store.Pending(ctx, user, conn)
	if err != nil {
		return pending, err
	}
	switch choice {
	case Replace:
		return m.take(ctx, pending)
	case Another:
		if pending.ID, err = m.Next(ctx, user, conn.Provider()); err != nil {
			return pending, err
		}
		c, err := m.take(ctx, pending)
		return c, errors.Join(err, m.store.DropPending(context.WithoutCancel(ctx), user, conn))
	}
	return pending, m.store.DropPending(ctx, user, conn)
}

// Next returns the id of the next connection that a person can make to a provider, or ErrTooMany.
func (m *Connections) Next(ctx context.Context, user int64, provider string) (library.ConnectionID, error) {
	all, err := m.store.UserConnections(ctx, user)
	if err != nil {
		return "", err
	}
	id, ok := library.NextConnectionID(provider, func(id library.ConnectionID) bool {
		return slices.ContainsFunc(all, func(c library.Connection) bool { return c.ID == id })
	})
	if !ok {
		return "", ErrTooMany
	}
	return id, nil
}

// Rename gives a connection another name; with an empty one it is called as its provider.
func (m *Connections) Rename(ctx context.Context, user int64, conn library.ConnectionID, name string) error {
	if err := m.store.RenameConnection(ctx, user, conn, name); err != nil {
		return err
	}
	m.publish(user, conn)
	return nil
}

// take stores a proved connection as the next generation, forgets what stood against the old one, and starts to read.
func (m *Connections) take(ctx context.Context, c library.Connection) (library.Connection, error) {
	ctx = context.WithoutCancel(ctx)
	did := activity.Reconnected
	if _, err := m.store.Connection(ctx, c.User, c.ID); errors.Is(err, library.ErrNotFound) {
		did = activity.Connected
	}
	c, err := m.store.SaveConnection(ctx, c)
	if err != nil {
		return c, err
	}
	told := m.guard.opt.Alerts
	told.Note(ctx, activity.Entry{User: c.User, Action: did, Connection: c.ID, Subject: c.Account})
	m.guard.opt.Backoff.Reconnected(providers.KeyOf(c, ""), c.Generation)
	m.syncer.Cancel(c.User, c.ID) // what the old credential still reads does not count
	m.syncer.Forget(c.User, c.ID)
	err = errors.Join(
		told.Connected(ctx, m.guard.opt.Registry.Get(c.Provider()), c),
		m.deliveries.Connected(ctx, c),
		told.Publish(ctx, c)) // what stood against the app has gone for all who share it
	m.syncer.StartAnew(c)
	return c, err
}

// Disconnect removes a connection, and with data also what was read through it alone.
func (m *Connections) Disconnect(ctx context.Context, user int64, conn library.ConnectionID, data bool) error {
	ctx = context.WithoutCancel(ctx)
	// First out of the way of runs, which would store more.
	if err := m.store.SetPaused(ctx, user, conn, true); err != nil {
		return err
	}
	m.syncer.Stop(user, conn)
	if err := m.store.DeleteConnection(ctx, user, conn, data); err != nil {
		return err
	}
	m.guard.opt.Backoff.Forget(user, string(conn))
	detail := ""
	if data {
		detail = "What was read through it alone was deleted."
	}
	m.note(ctx, user, conn, activity.Disconnected, detail)
	err := m.guard.opt.Alerts.Disconnected(ctx, m.guard.opt.Registry.Get(conn.Provider()), user, conn)
	m.publish(user, conn)
	return err
}

// Pause stops reading a connection until Resume.
func (m *Connections) Pause(ctx context.Context, user int64, conn library.ConnectionID) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.store.SetPaused(ctx, user, conn, true); err != nil {
		return err
	}
	m.syncer.Stop(user, conn)
	m.note(ctx, user, conn, activity.Paused, "")
	m.publish(user, conn)
	return nil
}

// Resume lets a paused connection go on, with a run at once.
func (m *Connections) Resume(ctx context.Context, user int64, conn library.ConnectionID) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.store.SetPaused(ctx, user, conn, false); err != nil {
		return err
	}
	m.note(ctx, user, conn, activity.Resumed, "")
	return errors.Join(m.deliveries.Release(ctx, user, conn), m.start(ctx, user, conn))
}

// SyncNow starts a run of every stream that may run, or joins those under way. When none may, because of a wait or
// because a person has to act first, it returns a *resilience.NotBeforeError; ErrPaused when the connection is paused.
func (m *Connections) SyncNow(ctx context.Context, user int64, conn library.ConnectionID) error {
	err := m.syncNow(ctx, user, conn)
	if err == nil {
		m.note(ctx, user, conn, activity.Synced, "")
	}
	return err
}

func (m *Connections) syncNow(ctx context.Context, user int64, conn library.ConnectionID) error {
	c, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return err
	}
	if c.Paused {
		return ErrPaused
	}
	p := m.guard.opt.Registry.Get(conn.Provider())
	if len(p.Streams) == 0 { // nothing is read there
		return m.deliveries.Release(ctx, user, conn)
	}
	var against resilience.State
	for _, stream := range p.Streams {
		state := m.guard.state(c, stream)
		if state.Kind != resilience.Stopped && !state.Until.After(time.Now()) { // also while a call finds out: it is joined
			return m.start(ctx, user, conn)
		}
		if against.Kind == resilience.Ready || state.Kind == resilience.Held {
			against = state
		}
	}
	return &resilience.NotBeforeError{State: against}
}

// Retry is "Try again": it lifts a stop or a backoff and starts a run. A dictated wait stays; when it leaves no stream
// to run, it is returned as a *resilience.NotBeforeError.
func (m *Connections) Retry(ctx context.Context, user int64, conn library.ConnectionID) error {
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
	m.publish(user, conn)
	if err := m.deliveries.Release(ctx, user, conn); err != nil {
		return err
	}
	return m.syncNow(ctx, user, conn)
}

func (m *Connections) start(ctx context.Context, user int64, conn library.ConnectionID) error {
	c, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return err
	}
	m.syncer.Start(c)
	m.publish(user, conn)
	return nil
}

// note notes what a person did with their connection.
func (m *Connections) note(ctx context.Context, user int64, conn library.ConnectionID, did activity.Action, detail string) {
	m.guard.opt.Alerts.Note(ctx, activity.Entry{User: user, Action: did, Connection: conn, Detail: detail})
}

func (m *Connections) publish(user int64, conn library.ConnectionID) {
	m.bus.Publish(user, events.Event{Type: events.Connection, Connection: conn})
}
