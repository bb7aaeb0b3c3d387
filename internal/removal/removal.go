// Package removal removes an account with everything that belongs to it.
//
// [Remover.Begin] ends all access of a person at once and stores that they are leaving. [Remover.Run] then stops what
// still works for them, and deletes their data in small transactions, so that nobody else waits for one. A removal that
// is interrupted, in whatever way, goes on at the next start. It cannot be taken back.
package removal

import (
	"context"
	"log/slog"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/events"
)

// Left says what is left of a person after a step.
type Left int

// The outcomes of a step.
const (
	Gone    Left = iota // nothing
	More                // data
	Working             // a delivery that is still under way
)

// Counts are what belongs to a person and goes with them.
type Counts struct {
	Listens, Playlists, Connections int
	Deliveries                      int // that wait or are under way
	Imports, Channels, Tokens       int
}

// Store removes a person's data.
type Store interface {
	// BeginRemoval ends all access of a person, and returns the account as it was. It may be repeated. For the last
	// administrator it returns accounts.ErrLastAdmin.
	BeginRemoval(ctx context.Context, user int64) (accounts.User, error)
	// Leaving returns the people whose removal has begun.
	Leaving(context.Context) ([]int64, error)
	// RemoveSome deletes a part of what belongs to a person in one short transaction, and in the end the account.
	RemoveSome(ctx context.Context, user int64) (Left, error)
}

// Part is a part of the program that works for people. Leave ends what it does for one, and returns when that has
// ended. It may be called again.
type Part interface {
	Leave(ctx context.Context, user int64) error
}

// Remover removes accounts. Make it with New, and run it with Run. It is safe for concurrent use.
type Remover struct {
	store Store
	parts []Part // in the order in which they end
	bus   *events.Bus
	log   *slog.Logger
	wake  chan struct{}
}

// New returns a Remover. The parts end in their order.
func New(store Store, bus *events.Bus, log *slog.Logger, parts ...Part) *Remover {
	return &Remover{store: store, parts: parts, bus: bus, log: log, wake: make(chan struct{}, 1)}
}

// Begin begins to remove an account, and returns it as it was. When Begin returns, the person's sessions, tokens and
// streams have ended. It may be repeated. The error is accounts.ErrUnknown or accounts.ErrLastAdmin, or the database's.
func (r *Remover) Begin(ctx context.Context, user int64) (accounts.User, error) {
	u, err := r.store.BeginRemoval(ctx, user)
	if err != nil {
		return u, err
	}
	r.bus.Publish(user, events.Event{Type: events.Access})
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return u, nil
}

const (
	tryAgain = time.Minute            // after trouble with the database
	lookOut  = 500 * time.Millisecond // for the end of a delivery that is under way
)

// Run finishes the removals that have begun, until ctx ends.
func (r *Remover) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		var again <-chan time.Time
		if wait := r.pass(ctx); wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-again:
		}
	}
	return nil
}

// pass goes on with every removal, and returns after which time to look again; zero for never.
func (r *Remover) pass(ctx context.Context) (wait time.Duration) {
	all, err := r.store.Leaving(ctx)
	for _, user := range all {
		left, e := r.finish(ctx, user)
		if err == nil {
			err = e
		}
		if left == Working {
			wait = lookOut
		}
	}
	if err != nil && ctx.Err() == nil {
		r.log.Error("a removal cannot continue", "err", err)
		return tryAgain
	}
	return wait
}

// finish removes a person, unless ctx ends or a delivery is still under way.
func (r *Remover) finish(ctx context.Context, user int64) (left Left, err error) {
	for _, part := range r.parts {
		if err := part.Leave(ctx, user); err != nil {
			return More, err
		}
	}
	for left = More; left == More; {
		if left, err = r.store.RemoveSome(ctx, user); err != nil {
			return More, err
		}
	}
	if left == Gone {
		r.log.Info("account removed", "user_id", user)
	}
	return left, nil
}
