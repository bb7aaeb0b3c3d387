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
	"reprise/internal/store/db"
	"reprise/internal/store/servers"
)

// turn is the time in which a server of several leads, or works beside the one that does.
type turn struct {
	*process
	place
	store *store.Store
}

// Work implements cluster.Turn.
func (t turn) Work(ctx context.Context, serves func(cluster.Pages)) error {
	t.serve = func(ctx context.Context, srv *server.Server, _ config.Config) error {
		serves(srv)
		return srv.Work(ctx)
	}
	return t.work(ctx, t.store, t.place)
}

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
		Prepare: func(ctx context.Context) error { return p.prepare(ctx, book, c) },
		Lead: func(ctx context.Context, lease int64) (cluster.Turn, error) {
			db, err := p.open(ctx, c, lease)
			return turn{p, leading(member, identity), db}, err
		},
		Beside: func(ctx context.Context) (cluster.Turn, error) {
			if err := settled(ctx, book); err != nil {
				return nil, err
			}
			db, err := p.open(ctx, c, 0)
			return turn{p, place{beside: true, ready: func(*app) {}, announce: announced}, db}, err
		}}
	err = node.Run(ctx)
	p.log.Info("stopped")
	return err
}

// prepare makes the tables in an empty database, and refuses one of a newer version, which this program can't lead.
func (p *process) prepare(ctx context.Context, book *servers.Book, c config.Config) error {
	if empty, err := book.Empty(ctx); err != nil {
		return err
	} else if !empty {
		return db.RefuseNewer(ctx, p.dir.Place())
	}
	made, err := p.dir.Open(ctx, storeOptions(c))
	if err != nil {
		return err
	}
	return made.Close()
}

// settled waits until somebody has an account: the leader alone answers until then.
func settled(ctx context.Context, book *servers.Book) error {
	for {
		fresh, err := book.Fresh(ctx)
		if err != nil || !fresh {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cluster.ConfirmEvery):
		}
	}
}

// open opens the database that servers share, under a lease or without.
func (p *process) open(ctx context.Context, c config.Config, lease int64) (*store.Store, error) {
	opened := storeOptions(c)
	opened.Shared, opened.Lease = true, lease
	return p.dir.Open(ctx, opened)
}

// announced does nothing: the links were printed when the process began to serve.
func announced(config.Config, cli.Ready) {}

// leading returns the place of a server that shares its database with others, while it leads.
func leading(member *cluster.Member, identity cluster.Identity) place {
	return place{
		ready: func(a *app) { a.hosts.Fence(member.May) },
		// The code is the same on all servers, so that a link that one of them has printed works after another has
		// taken over.
		setupCode: identity.SetupCode,
		announce:  announced,
	}
}
