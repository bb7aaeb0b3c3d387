package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"reprise/internal/cli"
	"reprise/internal/cluster"
	"reprise/internal/config"
	"reprise/internal/server"
	"reprise/internal/server/edge"
	"reprise/internal/store"
)

// inCluster is the place of a server that shares its database with others.
type inCluster struct {
	*process
	store    *store.Store // while it leads
	identity cluster.Identity
	member   *cluster.Member
	gate     *cluster.Gate
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
	identity, err := cluster.NewIdentity(string(c.SecretKey))
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
	gate := cluster.NewGate(member, identity, front, p.log)
	gate.Lend(importsIn(c))
	c, ready := p.reach(c)
	if fresh, err := book.Fresh(ctx); err != nil {
		return err
	} else if fresh {
		ready.SetupCode = identity.SetupCode()
	}
	p.announce(c, ready)
	door := func(l net.Listener) *edge.Listener {
		return edge.Listen(l, edge.Options{Room: edge.NewRoom(), Log: p.log, Proxies: everybody})
	}
	node := cluster.Node{Member: member, Gate: gate, Peers: door(peers), Drain: c.ClusterDrain, Log: p.log,
		Browsers: func(ctx context.Context) error {
			return server.Serve(ctx, door(p.listener), gate, c.ShutdownTimeout)
		},
		Open: func(ctx context.Context, elected func(context.Context, uint32) error) (cluster.Turn, error) {
			opened := storeOptions(c)
			opened.Elected = elected
			db, err := p.dir.Open(ctx, opened)
			return inCluster{p, db, identity, member, gate}, err
		}}
	err = node.Run(ctx)
	p.log.Info("stopped")
	return err
}

// Work implements cluster.Turn.
func (in inCluster) Work(ctx context.Context) error { return in.work(ctx, in.store, in) }

// Close implements cluster.Turn.
func (in inCluster) Close() error { return in.store.Close() }

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

func (in inCluster) ready(a *app) {
	a.hosts.Fence(in.member.May)
	a.server.Imports.FetchFrom(in.gate.Fetch)
}

// setupCode returns the code with which the first account is created: the same on all servers, so that a link that one
// of them has printed works after another has taken over.
func (in inCluster) setupCode() string { return in.identity.SetupCode() }

// announce does nothing: the links were printed when the process began to serve.
func (in inCluster) announce(config.Config, cli.Ready) {}

func (in inCluster) serve(ctx context.Context, srv *server.Server, _ config.Config) error {
	in.gate.Lead(srv)
	if ctx.Err() != nil { // it ended in between
		in.gate.Lead(nil)
	}
	return srv.Work(ctx)
}
