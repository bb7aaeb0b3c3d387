package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/resilience"
)

// leadAgainAfter is how long a server that could not lead leaves it to the others.
const leadAgainAfter = 30 * time.Second

// Node is one server of those that share a database, whether it leads or waits.
type Node struct {
	Member *Member
	Gate   *Gate
	// Browsers serves the gate to browsers, and Peers is where the other servers reach it.
	Browsers func(context.Context) error
	Peers    net.Listener
	// Open opens the database for writing. It waits until the lock is free, and calls elected with the lock.
	Open func(ctx context.Context, elected func(ctx context.Context, backend uint32) error) (Turn, error)
	// Drain is how long a server that ends goes on: the load balancer hears first that it leaves.
	Drain time.Duration
	Log   *slog.Logger
}

// Turn is what a server does while it leads.
type Turn interface {
	Work(context.Context) error
	Close() error
}

// Run serves until ctx ends.
func (n *Node) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	leave := context.AfterFunc(ctx, func() {
		n.Gate.Leave()
		time.AfterFunc(n.Drain, stop)
	})
	defer leave()
	there, gone := context.WithCancel(context.WithoutCancel(ctx))
	defer gone()
	g, work := errgroup.WithContext(work)
	g.Go(func() error { return n.Member.Run(there) })
	g.Go(func() error { return n.Gate.Serve(work, n.Peers) })
	g.Go(func() error { return n.Browsers(work) })
	g.Go(func() error {
		defer gone() // the others hear of this server until its work has ended
		n.leadAgain(work)
		return nil
	})
	return g.Wait()
}

// leadAgain leads whenever it is this server's turn, until ctx ends.
func (n *Node) leadAgain(ctx context.Context) {
	for ctx.Err() == nil {
		err := n.lead(ctx)
		if ctx.Err() != nil || err == nil {
			continue
		}
		wait := leadAgainAfter
		if _, ok := errors.AsType[*resilience.LocalError](err); ok || errors.Is(err, ErrDeposed) {
			wait = ConfirmEvery
		}
		n.Log.Error("this server can't lead", "err", err, "again_in", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// lead waits for the right to lead, and works until it or ctx ends.
func (n *Node) lead(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, n.Member.Resign(context.WithoutCancel(ctx))) }()
	turn, err := n.Open(ctx, n.Member.Elected)
	if err != nil {
		return err
	}
	defer func() { // before the lock is free, so that the next leader need not wait
		err = errors.Join(err, n.Member.Resign(context.WithoutCancel(ctx)), turn.Close())
	}()
	lost, err := n.Member.Lead(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-lost:
			cancel()
		case <-ctx.Done():
		}
		n.Gate.Lead(nil)
	}()
	return turn.Work(ctx)
}
