package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/cluster"
	"reprise/internal/config"
	"reprise/internal/resilience"
	"reprise/internal/server"
	"reprise/internal/server/edge"
	"reprise/internal/store"
)

// leadAgainAfter is how long a server that could not lead leaves it to the others.
const leadAgainAfter = 30 * time.Second

// inCluster is the place of a server that shares its database with others.
type inCluster struct {
	*process
	id     cluster.Identity
	member *cluster.Member
	gate   *cluster.Gate
}

// among serves as one of several servers that share a database, until ctx ends.
func (p *process) among(ctx context.Context, c config.Config) (err error) {
	key, err := p.dir.Key(ctx)
	if err != nil {
		return err
	}
	book, err := p.dir.Servers(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	id, err := cluster.NewIdentity(string(c.SecretKey))
	if err != nil {
		return err
	}
	peers, err := server.Listen(c.ClusterListen)
	if err != nil {
		return err
	}
	defer peers.Close()
	name, _ := os.Hostname()
	member := cluster.NewMember(cluster.Server{ID: rand.Text(), Name: name, Address: reached(c, peers.Addr()),
		Version: version, Started: time.Now()}, book, p.log)
	front, err := server.NewFront(version, c.BaseURL)
	if err != nil {
		return err
	}
	in := inCluster{p, id, member, cluster.NewGate(member, id, front, p.log)}
	in.gate.Lend(importsIn(c))

	// The load balancer hears that the server leaves before it does.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	leave := context.AfterFunc(ctx, func() {
		in.gate.Leave()
		time.AfterFunc(c.ClusterDrain, stop)
	})
	defer leave()
	there, gone := context.WithCancel(context.WithoutCancel(ctx))
	defer gone()
	c, to := p.reach(c)
	code := ""
	if fresh, err := book.Fresh(ctx); err != nil {
		return err
	} else if fresh {
		code = id.SetupCode()
	}
	announce(c, to, code, p.log, p.at.out)
	g, work := errgroup.WithContext(work)
	g.Go(func() error { return member.Run(there) })
	g.Go(func() error {
		door := edge.Listen(peers, edge.Options{Room: edge.NewRoom(), Log: p.log, Proxies: everybody})
		return in.gate.Serve(work, door)
	})
	g.Go(func() error {
		door := edge.Listen(p.listener, edge.Options{Room: edge.NewRoom(), Log: p.log, Proxies: everybody})
		return server.Serve(work, door, in.gate, c.ShutdownTimeout)
	})
	g.Go(func() error {
		defer gone() // the others hear of this server until its work has ended
		in.leadAgain(work, c)
		return nil
	})
	err = g.Wait()
	p.log.Info("stopped")
	return err
}

// everybody are those who connect for others: how many connections one address may have is up to the load balancer.
func everybody() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
}

// reached returns where the other servers reach this one, with the port that the system has chosen.
func reached(c config.Config, at net.Addr) string {
	if host, port, _ := net.SplitHostPort(c.ClusterReached()); port == "0" {
		_, port, _ = net.SplitHostPort(at.String())
		return net.JoinHostPort(host, port)
	}
	return c.ClusterReached()
}

// leadAgain leads whenever it is this server's turn, until ctx ends.
func (in inCluster) leadAgain(ctx context.Context, c config.Config) {
	for ctx.Err() == nil {
		err := in.lead(ctx, c)
		if ctx.Err() != nil || err == nil {
			continue
		}
		wait := leadAgainAfter
		if _, ok := errors.AsType[*resilience.LocalError](err); ok || errors.Is(err, cluster.ErrDeposed) {
			wait = cluster.ConfirmEvery
		}
		in.log.Error("this server can't lead", "err", err, "again_in", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// lead waits for the right to lead, and works until it or ctx ends.
func (in inCluster) lead(ctx context.Context, c config.Config) (err error) {
	opened := storeOptions(c)
	opened.Elected = in.member.Elected
	defer func() { err = errors.Join(err, in.member.Resign(context.WithoutCancel(ctx))) }()
	db, err := in.dir.Open(ctx, opened)
	if err != nil {
		return err
	}
	defer func() { // before the lock is free, so that the next leader need not wait
		err = errors.Join(err, in.member.Resign(context.WithoutCancel(ctx)), db.Close())
	}()
	lost, err := in.member.Lead(ctx)
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
		in.gate.Lead(nil)
	}()
	return in.work(ctx, db, in)
}

func (in inCluster) ready(a *app) {
	a.hosts.Fence(in.member.May)
	a.server.Imports.FetchFrom(in.gate.Fetch)
}

// setupCode returns the code with which the first account is created: the same on all servers, so that a link that one
// of them has printed works after another has taken over.
func (in inCluster) setupCode(ctx context.Context, db *store.Store) (string, error) {
	exists, err := db.HasUsers(ctx)
	if err != nil || exists {
		return "", err
	}
	return in.id.SetupCode(), nil
}

// announce does nothing: the links were printed when the process began to serve.
func (in inCluster) announce(config.Config, reach, string) {}

func (in inCluster) serve(ctx context.Context, srv *server.Server, _ config.Config) error {
	in.gate.Lead(srv)
	if ctx.Err() != nil { // it ended in between
		in.gate.Lead(nil)
	}
	return srv.Work(ctx)
}
