package sync

import (
	"context"
	"encoding/json"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// LiveStore keeps what the server that calls the services knows of people's connections for the other servers.
type LiveStore interface {
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	// LiveStates returns what was saved last for a person; nil for nothing.
	LiveStates(ctx context.Context, user int64) ([]byte, error)
	SaveLiveStates(ctx context.Context, byUser map[int64][]byte) error
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

// liveOf returns what is known of each connection of a person: by this server, or by that which calls the services.
func (m *statuses) liveOf(ctx context.Context, user int64, all []library.Connection) (liveStates, error) {
	states := liveStates{}
	if m.remote == nil {
		for _, c := range all {
			if p := m.guard.opt.Registry.Get(c.Provider()); p != nil {
				states[c.ID] = m.here(p, c)
			}
		}
		return states, nil
	}
	saved, err := m.remote.LiveStates(ctx, user)
	if err == nil && saved != nil {
		err = json.Unmarshal(saved, &states)
	}
	return states, err
}

// ReadRemote has the states of connections read that another server saves. Call it before anything else.
func (m *Connections) ReadRemote(store LiveStore) { m.remote = store }

// SaveLive saves what this server knows of the connections of people for the other servers.
func (m *Connections) SaveLive(ctx context.Context, store LiveStore, users ...int64) error {
	byUser := map[int64][]byte{}
	for _, user := range users {
		all, err := store.UserConnections(ctx, user)
		if err != nil {
			return err
		}
		states, err := m.liveOf(ctx, user, all)
		if err != nil {
			return err
		}
		if byUser[user], err = json.Marshal(states); err != nil {
			return err
		}
	}
	return store.SaveLiveStates(ctx, byUser)
}

// SaveAllLive is SaveLive for everybody.
func (m *Connections) SaveAllLive(ctx context.Context, store LiveStore) error {
	all, err := m.store.Outlines(ctx)
	if err != nil {
		return err
	}
	users, last := []int64{}, int64(0)
	for _, c := range all { // by person
		if c.User != last {
			users, last = append(users, c.User), c.User
		}
	}
	return m.SaveLive(ctx, store, users...)
}
