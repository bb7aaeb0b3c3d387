package sync

import (
	"context"
	"errors"
	"time"

	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// Deliveries is what a connection's recovery lets go out.
type Deliveries interface {
	// Release makes due all that waits to be sent to a connection.
	Release(ctx context.Context, user int64, conn library.ConnectionID) error
	// Connected is called for every connection that has been made, or with again renewed.
	Connected(ctx context.Context, c library.Connection, again bool) error
	// Resume makes deliveries to connections due that another server has left as running.
	Resume(context.Context, []library.Outline) error
}

// DeliveryGuard is the Guard of deliveries, which also depend on what has been read.
type DeliveryGuard struct {
	*Guard
	Syncer *Syncer
}

// Use returns a context for the deliveries to a connection or a channel, and a function to call at their end. The error
// is a *leases.Elsewhere if another server makes them.
func (g DeliveryGuard) Use(ctx context.Context, user int64, to library.ConnectionID) (context.Context, func(), error) {
	if g.opt.Apps == nil || g.opt.Registry.Get(to.Provider()) == nil {
		return g.opt.Apps.Use(ctx, leases.OfLeader)
	}
	c, err := g.Syncer.store.Connection(ctx, user, to)
	if errors.Is(err, library.ErrNotFound) {
		return g.opt.Apps.Use(ctx, leases.OfLeader)
	}
	if err != nil {
		return nil, nil, err
	}
	return g.opt.Apps.Use(ctx, g.app(to, c.App))
}

// Leads reports whether this server does what isn't shared out.
func (g DeliveryGuard) Leads() bool { return g.opt.Apps.Holds(leases.OfLeader) }

// askAgain is how soon a delivery looks again whether its provider has been read; the wait doubles to historyAgain.
const askAgain = time.Second

// historyAgain is the same while the provider's history is still being read, which takes minutes.
const historyAgain = 30 * time.Second

// ReadSince returns nil if everything that the provider had at that instant has been read, or cannot be read. Otherwise
// it starts to read, and returns a *backoff.NotBeforeError.
func (g DeliveryGuard) ReadSince(c library.Connection, at time.Time) error {
	p := g.opt.Registry.Get(c.Provider())
	if p == nil || !p.Pulls(library.Listens) {
		return nil
	}
	k := Key{c.User, c.ID, library.Listens}
	last, now := g.Syncer.reader.last.get(k), time.Now()
	if !last.lacks.IsZero() {
		return nil
	}
	if at.After(now) { // the clock was put back since
		at = now.Add(-time.Minute)
	}
	begun := now.Add(last.begun.Sub(now)) // by the clock as it is now
	if begun.After(at) && !last.history {
		return nil
	}
	state := g.state(c, library.Listens)
	switch {
	case state.Kind == backoff.Stopped && state.Scope == resilience.ScopeStream:
		return nil // what it has cannot be known; that it is wanted there is
	case state.Kind == backoff.Stopped, state.Until.After(time.Now()):
		return &backoff.NotBeforeError{State: state}
	}
	again := min(askAgain<<min(last.asked, 6), historyAgain)
	if last.history {
		again = historyAgain
	}
	g.Syncer.want(k)
	return &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Waiting, Until: time.Now().Add(again)}}
}
