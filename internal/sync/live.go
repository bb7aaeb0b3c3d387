package sync

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// LiveStore keeps what the servers that call the services know of people's connections for each other.
type LiveStore interface {
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	// LiveStates returns what was saved last of the connections of a person.
	LiveStates(ctx context.Context, user int64) (map[library.ConnectionID][]byte, error)
	// SaveLiveStates leaves out connections that are gone.
	SaveLiveStates(context.Context, []library.LiveState) error
}

// liveStates is what is known of each connection of a person, and changes too often to be in the database of one server
// alone.
type liveStates map[library.ConnectionID]liveConnection

// liveConnection is that of one connection.
type liveConnection struct {
	Streams map[string]live `json:"s"`
	Advice  words.Text      `json:"a,omitzero"` // about its app
}

// live is that of one stream.
type live struct {
	State   backoff.State `json:"s"`
	Running bool          `json:"r,omitempty"`
	Every   time.Duration `json:"e,omitempty"` // how often it is read; 0 if nothing is
	Sharing int           `json:"n,omitempty"` // see StreamStatus
}

// here returns what this server knows of a connection.
func (m *statuses) here(p *providers.Provider, c library.Connection) liveConnection {
	l := liveConnection{Streams: map[string]live{}}
	for _, stream := range p.Guarded() {
		k := Key{c.User, c.ID, stream}
		one := live{State: m.guard.state(c, stream), Running: m.syncer.Running(k)}
		one.Every, one.Sharing = m.syncer.Rhythm(k)
		l.Streams[stream] = one
		if one.State.Scope == resilience.ScopeApp && one.State.Kind != backoff.Ready {
			l.Advice = m.guard.opt.Alerts.Advice(c)
		}
	}
	return l
}

// liveOf returns what is known of each connection of a person: by this server, or by those that call the services.
func (m *statuses) liveOf(ctx context.Context, user int64, all []library.Connection) (liveStates, error) {
	states := liveStates{}
	var saved map[library.ConnectionID][]byte
	for _, c := range all {
		p := m.guard.opt.Registry.Get(c.Provider())
		switch {
		case p == nil:
			continue
		case m.remote == nil || m.guard.Holds(c.ID, c.App):
			states[c.ID] = m.here(p, c)
			continue
		case saved == nil:
			var err error
			if saved, err = m.remote.LiveStates(ctx, user); err != nil {
				return nil, err
			}
		}
		var l liveConnection
		if state := saved[c.ID]; state != nil {
			if err := json.Unmarshal(state, &l); err != nil {
				return nil, err
			}
		}
		states[c.ID] = l
	}
	return states, nil
}

// ReadRemote has the states of connections read that other servers save. Call it before anything else.
func (m *Connections) ReadRemote(store LiveStore) { m.remote = store }

// Ref names a connection of a person. An empty Connection means all that they have.
type Ref struct {
	User       int64
	Connection library.ConnectionID
}

// SaveLive saves what this server knows of connections whose service it calls, for the other servers.
func (m *Connections) SaveLive(ctx context.Context, store LiveStore, refs ...Ref) error {
	byApp, wanted := map[string][]library.LiveState{}, map[int64][]library.ConnectionID{}
	for _, ref := range refs {
		wanted[ref.User] = append(wanted[ref.User], ref.Connection)
	}
	for user, these := range wanted {
		all, err := store.UserConnections(ctx, user)
		if err != nil {
			return err
		}
		for _, c := range all {
			p := m.guard.opt.Registry.Get(c.Provider())
			if p == nil || !slices.Contains(these, c.ID) && !slices.Contains(these, "") || !m.guard.Holds(c.ID, c.App) {
				continue
			}
			state, err := json.Marshal(m.here(p, c))
			if err != nil {
				return err
			}
			app := m.guard.app(c.ID, c.App)
			byApp[app] = append(byApp[app], library.LiveState{User: c.User, Connection: c.ID, State: state})
			if err := m.saveApp(ctx, app, m.guard.opt.Backoff.State(providers.AppKey(c))); err != nil {
				return err
			}
		}
	}
	for app, states := range byApp {
		ctx, done, err := m.guard.opt.Apps.Use(ctx, app)
		if err != nil { // another server knows better
			continue
		}
		err = store.SaveLiveStates(ctx, states)
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

// saveApp saves the state of an app for the other servers.
func (m *Connections) saveApp(ctx context.Context, app string, now backoff.State) error {
	state, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return m.guard.opt.Apps.SaveState(ctx, app, string(state))
}

// SaveAllLive is SaveLive for all connections of some apps.
func (m *Connections) SaveAllLive(ctx context.Context, store LiveStore, apps []string) error {
	all, err := m.store.Outlines(ctx)
	if err != nil {
		return err
	}
	var refs []Ref
	for _, c := range all {
		if slices.Contains(apps, m.guard.app(c.ID, c.App)) {
			refs = append(refs, Ref{c.User, c.ID})
		}
	}
	return m.SaveLive(ctx, store, refs...)
}
