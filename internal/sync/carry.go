package sync

import (
	"context"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// Carrier is what a connection's recovery lets go out.
type Carrier interface {
	// Release makes due what is parked for a connection.
	Release(ctx context.Context, user int64, provider string) error
	// Connected is told of every connection that has been made or renewed.
	Connected(context.Context, library.Connection) error
}

// noteSuccessEvery is how often it is stored that something was carried: a backlog that goes out tells nothing new with
// every call.
const noteSuccessEvery = time.Minute

// successes remembers when a success of what is carried was stored last.
type successes struct {
	mu sync.Mutex
	at map[resilience.Key]time.Time
}

// due says whether a success of the stream is to be stored now.
func (s *successes) due(k resilience.Key) bool {
	if k.Stream != library.Deliveries {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at[k]) < noteSuccessEvery {
		return false
	}
	if s.at == nil {
		s.at = map[resilience.Key]time.Time{}
	}
	s.at[k] = time.Now()
	return true
}

// Ready says whether nothing that needs a person stands against carrying something to a connection.
func (g *Guard) Ready(c library.Connection) bool {
	return g.Backoff.State(keyOf(c, library.Deliveries)).Kind != resilience.Stopped
}

// Carriers let deliveries go out: the guard, and the syncer that knows what has been read.
type Carriers struct {
	*Guard
	Syncer *Syncer
}

// askAgain is how soon a delivery looks again whether its provider has been read; the wait doubles to historyAgain.
const askAgain = time.Second

// historyAgain is the same while the provider's history is still being read, which takes minutes.
const historyAgain = 30 * time.Second

// CaughtUp is nil when everything that the provider had at that instant has been read, or cannot be read. Otherwise it
// starts to read, and returns a *resilience.NotBeforeError.
func (c Carriers) CaughtUp(conn library.Connection, at time.Time) error {
	p := c.Registry.Get(conn.Provider)
	if p == nil || !p.Pulls(library.Listens) {
		return nil
	}
	k := Key{conn.User, conn.Provider, library.Listens}
	begun, history, asked := c.Syncer.readAt(k)
	if now := time.Now(); at.After(now) { // the clock was put back since
		at = now.Add(-time.Minute)
	}
	if begun.After(at) && !history {
		return nil
	}
	state := c.Backoff.State(keyOf(conn, library.Listens))
	switch {
	case state.Kind == resilience.Stopped && state.Scope == resilience.ScopeStream:
		return nil // what it has cannot be known; that it is wanted there is
	case state.Kind == resilience.Stopped, state.Until.After(time.Now()):
		return &resilience.NotBeforeError{State: state}
	}
	again := min(askAgain<<min(asked, 6), historyAgain)
	if history {
		again = historyAgain
	}
	c.Syncer.want(k)
	return &resilience.NotBeforeError{State: resilience.State{Kind: resilience.Waiting, Until: time.Now().Add(again)}}
}
