package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"time"

	"reprise/internal/cli"
	"reprise/internal/cluster"
	"reprise/internal/config"
	"reprise/internal/server"
	"reprise/internal/server/edge"
	"reprise/internal/store"
)

// turn is the time in which a server of several leads.
type turn struct {
	*process
	place
	store *store.Store
}

// Work implements cluster.Turn.
func (t turn) Work(ctx context.Context) error { return t.work(ctx, t.store, t.place) }

// Close implements cluster.Turn.
func (t turn) Close() error { return t.store.Close() }

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
	member := cluster.NewMember(cluster.Server{ID: rand.Text(), Name: name, Address: c.ClusterReachedAt(peers.Addr()),
		Version: version, Started: time.Now()}, book, p.log)
	front, err := server.NewFront(version, c.BaseURL)
	if err != nil {
		return err
	}
	gate := cluster.NewGate(member, identity, front, p.log)
	c, ready := p.reach(c)
	if fresh, err := book.Fresh(ctx); err != nil {
		return err
	} else if fresh {
		ready.SetupCode = identity.SetupCode()
	}
	p.announce(c, ready)
	door := func(l net.Listener) *edge.Listener {
		return edge.Listen(l, edge.Options{Room: edge.NewRoom(), Log: p.log, Proxies: edge.Everybody})
	}
	node := cluster.Node{Member: member, Gate: gate, Peers: door(peers), Drain: c.ClusterDrain, Log: p.log,
		Browsers: func(ctx context.Context) error {
			return server.Serve(ctx, door(p.listener), gate, c.ShutdownTimeout)
		},
		Open: func(ctx context.Context, elected func(context.Context, uint32) error) (cluster.Turn, error) {
			opened := storeOptions(c)
			opened.Elected = elected
			db, err := p.dir.Open(ctx, opened)
			return turn{p, leading(member, identity, gate), db}, err
		}}
	err = node.Run(ctx)
	p.log.Info("stopped")
	return err
}

// leading returns the place of a server that shares its database with others, while it leads.
func leading(member *cluster.Member, identity cluster.Identity, gate *cluster.Gate) place {
	return place{
		ready: func(a *app) {
			a.hosts.Fence(member.May)
		},
		// The code is the same on all servers, so that a link that one of them has printed works after another has
		// taken over. The links were printed when the process began to serve.
		setupCode: identity.SetupCode,
		announce:  func(config.Config, cli.Ready) {},
		serve: func(ctx context.Context, srv *server.Server, _ config.Config) error {
			gate.Lead(srv)
			if ctx.Err() != nil { // it ended in between
				gate.Lead(nil)
			}
			return srv.Work(ctx)
		},
	}
}
