package sync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/turns"
)

// connector makes connections, and renews them.
type connector struct {
	guard      *Guard
	syncer     *Syncer
	deliveries Deliveries
	store      ConnectionStore

	another sync.Mutex // from the choice of an id for another connection until that is stored
}

// OtherAccountError reports that a proved credential belongs to another account than the connection. It is stored
// until its person chooses.
type OtherAccountError struct {
	Old, New string
	// Moved says that only the address differs: the names of both accounts are equal, so that it may be one server at
	// a new address.
	Moved bool
}

func (e *OtherAccountError) Error() string {
	return fmt.Sprintf("connected as %q until now, this is %q", e.Old, e.New)
}

// sameAccount reports whether a proved connection leads to the account that it led to before. Where names of accounts
// that differ only in their case are one, an older connection may have the name as its person typed it.
func sameAccount(old, now library.Connection, anyCase bool) bool {
	return old.AccountID == now.AccountID || anyCase && strings.EqualFold(old.AccountID, now.AccountID)
}

// otherAccount names both accounts. If their names are equal, as on two servers, what else is known of them is added.
func otherAccount(p *providers.Provider, old, now library.Connection) *OtherAccountError {
	from, to := p.NamedHost(old.Credentials), p.NamedHost(now.Credentials)
	moved := from != "" && to != "" && strings.EqualFold(old.Account, now.Account)
	if strings.EqualFold(old.Account, now.Account) {
		for _, c := range []*library.Connection{&old, &now} {
			c.Account += " (" + strings.TrimSuffix(c.AccountID, "#"+c.Account) + ")"
		}
	}
	return &OtherAccountError{Old: old.Account, New: now.Account, Moved: moved}
}

// ConnectOAuth proves a permission that has just been given on a provider's own page by a real call, and stores it as
// the user's connection.
func (m *connector) ConnectOAuth(
	ctx context.Context, p *providers.Provider, user int64, g oauth.Grant,
) (library.Connection, error) {
	call := m.proof(p, user)
	if p.OAuth != nil {
		call = oauth.AuthorizeGrant(call, g.Credentials)
	}
	c := library.Connection{User: user, ID: cmp.Or(g.Connection, library.ConnectionID(p.Name)),
		Credentials:  g.Credentials,
		AuthorizedAt: g.AuthorizedAt, ExpiresAt: g.ExpiresAt}
	return m.connect(ctx, call, p, c)
}

// Connect proves what a person has typed in by a real call, and stores it as the connection: c has its user, id and
// credentials, and may have a name. If the proof fails, nothing is stored, and the error wraps a *backoff.Failure.
// If the connection leads to another account already, the new one waits and the error is an *OtherAccountError.
func (m *connector) Connect(
	ctx context.Context, p *providers.Provider, c library.Connection,
) (library.Connection, error) {
	c.AuthorizedAt = time.Now()
	call := m.proof(p, c.User)
	call.Typed = true
	return m.connect(ctx, call, p, c)
}

// proof returns the call that proves a new credential, for which its person waits.
func (m *connector) proof(p *providers.Provider, user int64) resilience.Call {
	return resilience.Call{Client: m.guard.opt.Client, User: user, Provider: p.Name, Proof: true, Eager: true,
		Turn: &turns.Turn{}}
}

func (m *connector) connect(
	ctx context.Context, call resilience.Call, p *providers.Provider, c library.Connection,
) (library.Connection, error) {
	ctx, done, err := m.guard.opt.Apps.Claim(ctx, appOf(p, p.App(c.Credentials)))
	if err != nil {
		return c, err
	}
	defer done()
	if err := m.Held(p, c.Credentials); err != nil {
		return c, err
	}
	var account providers.Account
	host := p.NamedHost(c.Credentials)
	err = m.guard.opt.Screen.Try(ctx, call, host, func(ctx context.Context) (err error) {
		account, err = p.Open(call, c.Credentials).Prove(ctx)
		call.Turn.End()
		return err
	})
	if err != nil {
		err = m.Refused(ctx, p, c.Credentials, err)
		return c, errors.Join(err, m.guard.opt.Alerts.NotLetIn(context.WithoutCancel(ctx), p, c, err))
	}
	ctx = context.WithoutCancel(ctx) // what is proved is stored
	maps.Copy(c.Credentials, account.Learned)
	c.App = p.App(c.Credentials)
	c.AccountID, c.Account, c.CreatedAt = library.ID(account.ID), library.Name(account.Name), time.Now()
	old, err := m.store.Connection(ctx, c.User, c.ID)
	if c.Name == "" && (old.Name == "" || old.Name == old.Credentials[labelled]) { // nobody chose it
		if c.Name = m.unlike(ctx, c, library.Name(account.Label)); c.Name != "" {
			c.Credentials[labelled] = c.Name
		}
	}
	switch {
	case err == nil && !sameAccount(old, c, account.AnyCase):
		if err := m.store.SavePending(ctx, c); err != nil {
			return c, err
		}
		return c, otherAccount(p, old, c)
	case err == nil && old.AccountID != c.AccountID: // but for its case
		if err := m.store.SetAccountID(ctx, c.User, c.ID, c.AccountID); err != nil {
			return c, err
		}
	case err != nil && !errors.Is(err, library.ErrNotFound):
		return c, err
	}
	return m.take(ctx, c, account.Lacks...)
}

// labelled is the credential that holds the name that a connection got without its person.
const labelled = "label"

// unlike returns a name for a connection, with its number if another one of the person has that name.
func (m *connector) unlike(ctx context.Context, c library.Connection, name string) string {
	all, err := m.store.UserConnections(ctx, c.User)
	taken := func(other library.Connection) bool { return other.ID != c.ID && other.Name == name }
	if name == "" || err != nil || !slices.ContainsFunc(all, taken) {
		return name
	}
	return fmt.Sprintf("%s %d", name, max(c.ID.Number(), 2))
}

// Choices returns the accounts between which a person has to choose; the error is [library.ErrNotFound] if there is no
// choice.
func (m *connector) Choices(
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
	return otherAccount(m.guard.opt.Registry.Get(conn.Provider()), old, pending), nil
}

// Held returns a *backoff.NotBeforeError while the provider has asked everybody who shares these limits to wait.
// No call may be made then, not even to connect.
func (m *connector) Held(p *providers.Provider, credentials library.Credentials) error {
	state := m.stateOf(p, p.App(credentials))
	if state.Kind == backoff.Held && state.Until.After(time.Now()) {
		return &backoff.NotBeforeError{State: state}
	}
	return nil
}

// ServiceState returns what keeps everybody from calling a provider now: all its keys are spent or refused, or the
// installation's app is stopped or held. Ready if nothing does: only then may a page say that the service answers well.
func (m *connector) ServiceState(p *providers.Provider) backoff.State {
	if state := m.AppState(p); state.Kind == backoff.Stopped || state.Until.After(time.Now()) {
		return state
	}
	if p.Pool == nil || p.Pool.Instead { // without keys, calls go on with people's own permissions
		return backoff.State{}
	}
	short, ok := p.Keys.Short()
	if !ok {
		return backoff.State{}
	}
	state := backoff.State{Kind: backoff.Held, Category: short.Category, Scope: resilience.ScopeApp,
		Until: short.Until}
	if short.Until.IsZero() { // refused, until an administrator acts
		state.Kind = backoff.Stopped
	}
	return state
}

// AppState returns the state of the installation's app at a provider, which all connections share that name no server
// of their own.
func (m *connector) AppState(p *providers.Provider) backoff.State {
	return m.stateOf(p, p.App(nil))
}

// stateOf returns the state of an app of a provider, as the server has it that calls it.
func (m *connector) stateOf(p *providers.Provider, app string) (s backoff.State) {
	if name := appOf(p, app); !m.guard.opt.Apps.Holds(name) {
		if saved := m.guard.opt.Apps.State(name); saved != "" && json.Unmarshal([]byte(saved), &s) == nil {
			return s
		}
	}
	return m.guard.opt.Backoff.State(backoff.Key{Provider: p.Name, App: app})
}

// Claim returns a context for the calls that connect a person to a provider whose consent page they have seen; see
// [leases.Holder.Claim].
func (m *connector) Claim(ctx context.Context, p *providers.Provider) (context.Context, func(), error) {
	return m.guard.opt.Apps.Claim(ctx, appOf(p, p.App(nil)))
}

// Refused judges the failure of an attempt to connect. It returns a *backoff.Failure of err, after storing the
// wait that the provider may have dictated.
func (m *connector) Refused(
	ctx context.Context, p *providers.Provider, credentials library.Credentials, err error,
) error {
	v := resilience.VerdictOf(err)
	failure := &backoff.Failure{Change: backoff.Change{Verdict: v}, Err: err}
	if v.Category == resilience.Unknown {
		m.guard.opt.Metrics.Unclassified(p.Name)
	}
	if v.Scope != resilience.ScopeApp && v.Scope != resilience.ScopeKey || v.NotBefore.IsZero() {
		return failure
	}
	hold := backoff.Hold{Key: backoff.Key{Provider: p.Name, App: p.App(credentials)}, Category: v.Category,
		Since: time.Now(), Until: v.NotBefore}
	m.guard.opt.Backoff.RestoreHold(hold)
	if _, ofKeys := errors.AsType[*keys.Error](err); ofKeys { // stored key by key
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
	// Moved says that it is the same account of the same server at a new address: listens, positions and choices stay.
	Moved Choice = "moved"
)

// Choose decides about another account's credential. It returns the connection that the credential became, if it did.
func (m *connector) Choose(
	ctx context.Context, user int64, conn library.ConnectionID, choice Choice,
) (library.Connection, error) {
	pending, err := m.store.Pending(ctx, user, conn)
	if err != nil {
		return pending, err
	}
	ctx, done, err := m.guard.opt.Apps.Claim(ctx, m.guard.app(conn, pending.App))
	if err != nil {
		return pending, err
	}
	defer done()
	switch choice {
	case Moved:
		if err := m.store.SetAccountID(ctx, user, conn, pending.AccountID); err != nil {
			return pending, err
		}
		return m.take(ctx, pending)
	case Replace:
		return m.take(ctx, pending)
	case Another:
		m.another.Lock()
		defer m.another.Unlock()
		if pending.ID, err = m.Next(ctx, user, conn.Provider()); err != nil {
			return pending, err
		}
		c, err := m.take(ctx, pending)
		return c, errors.Join(err, m.store.DropPending(context.WithoutCancel(ctx), user, conn))
	}
	return pending, m.store.DropPending(ctx, user, conn)
}

// ErrTooMany reports that a person has as many connections to a provider as there can be.
var ErrTooMany = errors.New("there are too many connections to this service already")

// Next returns the id of the next connection that a person can make to a provider, or ErrTooMany.
func (m *connector) Next(ctx context.Context, user int64, provider string) (library.ConnectionID, error) {
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

// take stores a proved connection as the next generation, forgets the trouble of the old one, and starts to read. lacks
// are the streams that its server is known not to offer.
func (m *connector) take(ctx context.Context, c library.Connection, lacks ...string) (library.Connection, error) {
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
	m.syncer.cancel(c.User, c.ID) // it still reads with the old credential
	m.syncer.forget(c.User, c.ID)
	for _, stream := range lacks {
		err = errors.Join(err, m.syncer.reader.noteLack(ctx, c, stream))
	}
	err = errors.Join(err,
		told.Connected(ctx, m.guard.opt.Registry.Get(c.Provider()), c),
		m.deliveries.Connected(ctx, c, did == activity.Reconnected),
		told.Publish(ctx, c)) // the trouble of the app has ended for all who share it
	m.syncer.StartAnew(c)
	return c, err
}
