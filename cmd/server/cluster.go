package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"time"

	"reprise/internal/cluster"
	"reprise/internal/config"
	"reprise/internal/leases"
	"reprise/internal/server"
	"reprise/internal/server/edge"
)

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
	code, err := cluster.SetupCode(string(c.SecretKey))
	if err != nil {
		return err
	}
	name, _ := os.Hostname()
	id := strings.ToLower(rand.Text())
	notes := cluster.NewNotes(id, book, p.log)
	member := cluster.NewMember(cluster.Server{ID: id, Name: name, Version: version, Started: time.Now()}, book, p.log)
	front, err := server.NewFront(version, c.BaseURL)
	if err != nil {
		return err
	}
	apps := leases.NewHolder(id, book, member.May, p.log)
	gate := cluster.NewGate(member, book, notes, front, p.log)
	c, ready := p.reach(c)
	if fresh, err := book.Fresh(ctx); err != nil {
		return err
	} else if fresh {
		ready.SetupCode = code
	}
	p.announce(c, ready)
	door := edge.Listen(p.listener, edge.Options{Room: edge.NewRoom(), Log: p.log, Proxies: edge.Everybody})
	at := place{id: id, notes: notes, apps: apps, limits: book.Limits(), setupCode: func() string { return code }}
	node := cluster.Node{Member: member, Gate: gate, Notes: notes, Apps: apps, Drain: c.ClusterDrain,
		Log: p.log,
		Browsers: func(ctx context.Context) error {
			return server.Serve(ctx, door, gate, c.ShutdownTimeout)
		},
		Prepare: func(ctx context.Context) error { return p.dir.Prepare(ctx, book, storeOptions(c)) },
		Lead:    func(ctx context.Context, lease int64) (cluster.Turn, error) { return p.turn(ctx, c, lease, at) },
		Follow: func(ctx context.Context) (cluster.Turn, error) {
			if err := book.Begun(ctx); err != nil {
				return cluster.Turn{}, err
			}
			return p.turn(ctx, c, 0, at)
		}}
	err = node.Run(ctx)
	p.log.Info("stopped")
	return err
}

// turn opens the database that servers share: under a lease, or as a follower.
func (p *process) turn(ctx context.Context, c config.Config, lease int64, at place) (cluster.Turn, error) {
	opened := storeOptions(c)
	opened.Shared, opened.Lease, opened.Server, at.follower = true, lease, at.id, lease == 0
	db, err := p.dir.Open(ctx, opened)
	if err != nil {
		return cluster.Turn{}, err
	}
	work := func(ctx context.Context, serves func(cluster.Pages)) error {
		ctx, at.restart = context.WithCancel(ctx)
		defer at.restart()
		at.serve = func(ctx context.Context, srv *server.Server, _ config.Config) error {
			serves(srv)
			return srv.Work(ctx)
		}
		return p.work(ctx, db, at)
	}
	return cluster.Turn{Work: work, Close: db.Close}, nil
}
