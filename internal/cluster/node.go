package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/resilience"
)

// againAfter is how long a server that can't work leaves it to the others.
const againAfter = 30 * time.Second

// Node is one server of those that share a database, whether it leads or not.
type Node struct {
	Member *Member
	Gate   *Gate
	// Browsers serves the gate to browsers, and Peers is where the other servers reach it.
	Browsers func(context.Context) error
	Peers    net.Listener
	// Prepare makes the tables in an empty database.
	Prepare func(context.Context) error
	// Lead opens the database under a lease, and Beside while another server leads.
	Lead   func(ctx context.Context, lease int64) (Turn, error)
	Beside func(context.Context) (Turn, error)
	// Drain is how long a server that ends goes on: the load balancer hears first that it leaves.
	Drain time.Duration
	Log   *slog.Logger
}

// Turn is what a server does while it leads, or while another one does.
type Turn interface {
	// Work calls serves when it answers requests, and works until ctx ends.
	Work(ctx context.Context, serves func(Pages)) error
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
		n.takeTurns(work)
		return nil
	})
	return g.Wait()
}

// takeTurns works beside the leader, and leads when that is this server's turn, until ctx ends.
func (n *Node) takeTurns(ctx context.Context) {
	for ctx.Err() == nil {
		standing, leads := context.WithCancel(ctx)
		var beside sync.WaitGroup
		beside.Go(func() { n.again(standing, "this server answers no page by itself", n.beside) })
		n.again(ctx, "this server can't lead", func(ctx context.Context) error { return n.lead(ctx, leads) })
		leads()
		beside.Wait()
	}
}

// again calls do until it has worked, or ctx ends. failed is what the log says otherwise.
func (n *Node) again(ctx context.Context, failed string, do func(context.Context) error) {
	for ctx.Err() == nil {
		err := do(ctx)
		if ctx.Err() != nil || err == nil {
			return
		}
		wait := againAfter
		if _, ok := errors.AsType[*resilience.LocalError](err); ok {
			wait = ConfirmEvery
		}
		n.Log.Error(failed, "err", err, "again_in", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// beside works beside the leader, until ctx ends.
func (n *Node) beside(ctx context.Context) (err error) {
	turn, err := n.Beside(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	defer n.Gate.Stand(nil)
	return turn.Work(ctx, n.Gate.Stand)
}

// lead waits for the right to lead, and works until it or ctx ends. It calls leads when it answers requests.
func (n *Node) lead(ctx context.Context, leads func()) (err error) {
	if err := n.Member.Await(ctx); err != nil {
		return err
	}
	if err := n.Prepare(ctx); err != nil {
		return err
	}
	lease, lost, err := n.Member.Lead(ctx)
	if err != nil || lease == 0 {
		return err
	}
	resign := func() error { return n.Member.Resign(context.WithoutCancel(ctx)) }
	turn, err := n.Lead(ctx, lease)
	if err != nil {
		return errors.Join(err, resign())
	}
	defer func() { err = errors.Join(err, resign(), turn.Close()) }()
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
	return turn.Work(ctx, func(h Pages) {
		n.Gate.Lead(h)
		if ctx.Err() != nil { // it ended in between
			n.Gate.Lead(nil)
		}
		leads()
	})
}
