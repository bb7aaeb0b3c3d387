package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/leases"
	"reprise/internal/resilience"
)

// againAfter is how long a server that has failed waits before it tries again; others may lead meanwhile.
const againAfter = 30 * time.Second

// Node is one server of those that share a database, whether it leads or not.
type Node struct {
	Member *Member
	Gate   *Gate
	Notes  *Notes
	Apps   *leases.Holder
	// Browsers serves the gate to browsers.
	Browsers func(context.Context) error
	// Prepare makes the tables in an empty database.
	Prepare func(context.Context) error
	// Lead opens the database under a lease, and Follow while another server leads.
	Lead   func(ctx context.Context, lease int64) (Turn, error)
	Follow func(context.Context) (Turn, error)
	// Drain is how long a server that ends goes on: the load balancer hears first that it leaves.
	Drain time.Duration
	Log   *slog.Logger
}

// Turn is what a server does while it leads, or while another one does.
type Turn struct {
	// Work calls serves when it answers requests, and works until ctx ends.
	Work func(ctx context.Context, serves func(Pages)) error
	// Close closes the database, when Work has returned.
	Close func() error
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
	g.Go(func() error { return n.Apps.Run(there) })
	g.Go(func() error { return n.Notes.Run(work) })
	g.Go(func() error { return n.Gate.Run(work) })
	g.Go(func() error { return n.Browsers(work) })
	g.Go(func() error {
		defer gone() // the others hear of this server until its work has ended
		n.takeTurns(work)
		return nil
	})
	return g.Wait()
}

// takeTurns follows the leader, and leads when that is this server's turn, until ctx ends.
func (n *Node) takeTurns(ctx context.Context) {
	var wait time.Duration
	for ctx.Err() == nil {
		following, leads := context.WithCancel(ctx)
		var follower sync.WaitGroup
		follower.Go(func() {
			for following.Err() == nil {
				err := n.follow(following)
				if wait := waitAfter(following, err); wait > 0 {
					n.Log.Error("this server can't follow the leader", "err", err, "again_in", wait)
					pause(following, wait)
				}
			}
		})
		for led := false; !led && ctx.Err() == nil; {
			pause(ctx, wait)
			err := n.lead(ctx, func() { // its work ends before it begins again
				led = true
				leads()
				follower.Wait()
			})
			if wait = waitAfter(ctx, err); wait > 0 {
				n.Log.Error("this server can't lead", "err", err, "again_in", wait)
			}
		}
		leads()
		follower.Wait()
	}
}

// waitAfter returns how long to wait after an error; 0 without one, and once ctx has ended.
func waitAfter(ctx context.Context, err error) time.Duration {
	if err == nil || ctx.Err() != nil {
		return 0
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok || errors.Is(err, errLease) {
		return ConfirmEvery
	}
	return againAfter
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// errLease says that the lease could not be taken, or was lost: it may be free again at any moment.
var errLease = errors.New("no lease")

// follow works beside the leader, until ctx ends.
func (n *Node) follow(ctx context.Context) (err error) {
	turn, err := n.Follow(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	defer n.Gate.Follow(nil)
	return turn.Work(ctx, func(h Pages) {
		n.Gate.Follow(h)
		n.Log.Info("this server follows the leader")
	})
}

// lead waits for the right to lead, and works until it or ctx ends. It calls leads before it opens the database.
func (n *Node) lead(ctx context.Context, leads func()) (err error) {
	if err := n.Member.Await(ctx); err != nil {
		return err
	}
	if err := n.Prepare(ctx); err != nil {
		return err
	}
	lease, lost, err := n.Member.Lead(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errLease, err)
	}
	if lease == 0 { // another server was faster
		return nil
	}
	defer func() { err = errors.Join(err, n.Member.Resign(context.WithoutCancel(ctx))) }()
	leads()
	turn, err := n.Lead(ctx, lease)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Close()) }() // before the next leader looks for its connections
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
	err = turn.Work(ctx, func(h Pages) {
		n.Gate.Lead(h)
		if ctx.Err() != nil { // it ended in between
			n.Gate.Lead(nil)
		}
	})
	select {
	case <-lost:
		if err != nil {
			err = fmt.Errorf("%w: %w", errLease, err)
		}
	default:
	}
	return err
}
