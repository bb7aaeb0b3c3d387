package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	Connection(ctx context.Context, user int64, provider string) (library.Connection, error)
	SaveHold(context.Context, resilience.Hold) error
	SaveConnection(context.Context, library.Connection) (library.Connection, error)
	DeleteConnection(ctx context.Context, user int64, provider string, data bool) error
	SetPaused(ctx context.Context, user int64, provider string, paused bool) error
	ClearStops(ctx context.Context, user int64, provider string) error
	SavePending(context.Context, library.Connection) error
	Pending(ctx context.Context, user int64, provider string) (library.Connection, error)
	DropPending(ctx context.Context, user int64, provider string) error
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
	c := library.Connection{User: user, Provider: p.Name, Credentials: g.Credentials, AuthorizedAt: g.AuthorizedAt, ExpiresAt: g.ExpiresAt}
	return m.connect(ctx, p, c, adapter)
}

// Connect proves what a person has typed in by a real call and stores it as the user's connection. Nothing is stored
// when the proof fails; the error is the call's. When there is a connection to another account already, the new one
// waits and the error is an *OtherAccountError.
func (m *Connections) Connect(ctx context.Context, p *providers.Provider, user int64, fields library.Credentials) (library.Connection, error) {
	c := library.Connection{User: user, Provider: p.Name, Credentials: fields, AuthorizedAt: time.Now()}
	return m.connect(ctx, p, c, p.Open(m.guard.opt.Client, fields))
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
	old, err := m.store.Connection(ctx, c.User, p.Name)
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
func (m *Connections) Choice(ctx context.Context, user int64, p *providers.Provider) (*OtherAccountError, error) {
	pending, err := m.store.Pending(ctx, user, p.Name)
	if err != nil {
		return nil, err
	}
	old, err := m.store.Connection(ctx, user, p.Name)
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

// Choose ends the wait of another account's credential: it becomes the connection, or is forgotten.
func (m *Connections) Choose(ctx context.Context, user int64, provider string, accept bool) (library.Connection, error) {
	pending, err := m.store.Pending(ctx, user, provider)
	if err != nil {
		return pending, err
	}
	if !accept {
		return pending, m.store.DropPending(ctx, user, provider)
	}
	return m.take(ctx, pending)
}

// take stores a proved connection as the next generation, forgets what stood against the old one, and starts to read.
func (m *Connections) take(ctx context.Context, c library.Connection) (library.Connection, error) {
	ctx = context.WithoutCancel(ctx)
	did := activity.Reconnected
	if _, err := m.store.Connection(ctx, c.User, c.Provider); errors.Is(err, library.ErrNotFound) {
		did = activity.Connected
	}
	c, err := m.store.SaveConnection(ctx, c)
	if err != nil {
		return c, err
	}
	told := m.guard.opt.Alerts
	told.Note(ctx, activity.Entry{User: c.User, Action: did, Provider: c.Provider, Subject: c.Account})
	m.guard.opt.Backoff.Reconnected(providers.KeyOf(c, ""), c.Generation)
	m.syncer.Cancel(c.User, c.Provider) // what the old credential still reads does not count
	m.syncer.Forget(c.User, c.Provider)
	err = errors.Join(
		told.Connected(ctx, m.guard.opt.Registry.Get(c.Provider), c.User),
		m.deliveries.Connected(ctx, c),
		told.Publish(ctx, c)) // what stood against the app has gone for all who share it
	m.syncer.StartAnew(c)
	return c, err
}

// Disconnect removes a connection, and with data also what was read through it alone.
func (m *Connections) Disconnect(ctx context.Context, user int64, provider string, data bool) error {
	ctx = context.WithoutCancel(ctx)
	// First out of the way of runs, which would store more.
	if err := m.store.SetPaused(ctx, user, provider, true); err != nil {
		return err
	}
	m.syncer.Stop(user, provider)
	if err := m.store.DeleteConnection(ctx, user, provider, data); err != nil {
		return err
	}
	m.guard.opt.Backoff.Forget(user, provider)
	detail := ""
	if data {
		detail = "What was read through it alone was deleted."
	}
	m.note(ctx, user, provider, activity.Disconnected, detail)
	err := m.guard.opt.Alerts.Disconnected(ctx, m.guard.opt.Registry.Get(provider), user)
	m.publish(user, provider)
	return err
}

// Pause stops reading a connection until Resume.
func (m *Connections) Pause(ctx context.Context, user int64, provider string) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.store.SetPaused(ctx, user, provider, true); err != nil {
		return err
	}
	m.syncer.Stop(user, provider)
	m.note(ctx, user, provider, activity.Paused, "")
	m.publish(user, provider)
	return nil
}

// Resume lets a paused connection go on, with a run at once.
func (m *Connections) Resume(ctx context.Context, user int64, provider string) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.store.SetPaused(ctx, user, provider, false); err != nil {
		return err
	}
	m.note(ctx, user, provider, activity.Resumed, "")
	return errors.Join(m.deliveries.Release(ctx, user, provider), m.start(ctx, user, provider))
}

// SyncNow starts a run of every stream that may run, or joins those under way. When none may, because of a wait or
// because a person has to act first, it returns a *resilience.NotBeforeError; ErrPaused when the connection is paused.
func (m *Connections) SyncNow(ctx context.Context, user int64, provider string) error {
	err := m.syncNow(ctx, user, provider)
	if err == nil {
		m.note(ctx, user, provider, activity.Synced, "")
	}
	return err
}

func (m *Connections) syncNow(ctx context.Context, user int64, provider string) error {
	c, err := m.store.Connection(ctx, user, provider)
	if err != nil {
		return err
	}
	if c.Paused {
		return ErrPaused
	}
	p := m.guard.opt.Registry.Get(provider)
	if len(p.Streams) == 0 { // nothing is read there
		return m.deliveries.Release(ctx, user, provider)
	}
	var against resilience.State
	for _, stream := range p.Streams {
		state := m.guard.state(c, stream)
		if state.Kind != resilience.Stopped && !state.Until.After(time.Now()) { // also while a call finds out: it is joined
			return m.start(ctx, user, provider)
		}
		if against.Kind == resilience.Ready || state.Kind == resilience.Held {
			against = state
		}
	}
	return &resilience.NotBeforeError{State: against}
}

// Retry is "Try again": it lifts a stop or a backoff and starts a run. A dictated wait stays; when it leaves no stream
// to run, it is returned as a *resilience.NotBeforeError.
func (m *Connections) Retry(ctx context.Context, user int64, provider string) error {
	ctx = context.WithoutCancel(ctx)
	c, err := m.store.Connection(ctx, user, provider)
	if err != nil {
		return err
	}
	if err := m.store.ClearStops(ctx, user, provider); err != nil {
		return err
	}
	p := m.guard.opt.Registry.Get(provider)
	if err := m.guard.readmit(ctx, p); err != nil {
		return err
	}
	m.guard.opt.Alerts.Acted(ctx, activity.Entry{User: user, Action: activity.Retried, Provider: provider})
	m.guard.opt.Backoff.Retry(providers.KeyOf(c, ""))
	m.guard.hurry(p, c)
	m.publish(user, provider)
	if err := m.deliveries.Release(ctx, user, provider); err != nil {
		return err
	}
	return m.syncNow(ctx, user, provider)
}

func (m *Connections) start(ctx context.Context, user int64, provider string) error {
	c, err := m.store.Connection(ctx, user, provider)
	if err != nil {
		return err
	}
	m.syncer.Start(c)
	m.publish(user, provider)
	return nil
}

// note notes what a person did with their connection.
func (m *Connections) note(ctx context.Context, user int64, provider string, did activity.Action, detail string) {
	m.guard.opt.Alerts.Note(ctx, activity.Entry{User: user, Action: did, Provider: provider, Detail: detail})
}

func (m *Connections) publish(user int64, provider string) {
	m.bus.Publish(user, events.Event{Type: events.Connection, Provider: provider})
}
