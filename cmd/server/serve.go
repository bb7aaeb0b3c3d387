package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"

	"reprise/internal/cli"
	"reprise/internal/cluster"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/demo"
	"reprise/internal/leases"
	"reprise/internal/peers"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/server"
	"reprise/internal/server/edge"
	"reprise/internal/settings"
	"reprise/internal/store"
	"reprise/internal/throttle"
	"reprise/internal/upkeep"
)

// start is what a server starts with.
type start struct {
	layers *config.Layers
	// furnish, if set, is called between wiring and serving: the services are simulated then. It returns who is signed
	// in without a password.
	furnish func(context.Context, *app) (user int64, err error)
	world   *demo.World // with furnish
}

// simulate makes a Config that of the demo, which never uses the database with real data.
func (s start) simulate(c *config.Config) {
	if s.furnish != nil {
		c.Simulated, c.DatabaseURL = s.world.Addresses(), ""
	}
}

// config returns the settings of all layers but the database's.
func (s start) config() (config.Config, error) {
	r, err := s.layers.With(nil)
	if err != nil {
		return config.Config{}, fmt.Errorf("the settings cannot be used:\n%w", err)
	}
	s.simulate(&r.Config)
	return r.Config, nil
}

// serve runs the program until ctx ends.
func serve(ctx context.Context, from start, console cli.Console) error {
	c, err := from.config()
	if err != nil {
		return err
	}
	listener, err := server.Listen(c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	return serveOn(ctx, listener, from, console)
}

// process is the program while it serves.
type process struct {
	from     start
	console  cli.Console
	listener net.Listener
	listen   string // with the port that the system has chosen
	level    *slog.LevelVar
	log      *slog.Logger
	dir      datadir.Dir
}

// serveOn is serve on a listener that is open.
func serveOn(ctx context.Context, listener net.Listener, from start, console cli.Console) (err error) {
	c, err := from.config()
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(c.LogLevel)
	host, _, _ := net.SplitHostPort(c.Listen)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	p := &process{from: from, console: console, listener: listener, listen: net.JoinHostPort(host, port), level: level,
		log: cli.NewLog(c.LogFormat, level, console.Err), dir: dataDir(c)}
	if err := p.dir.Make(); err != nil {
		return err
	}
	unlock, err := p.dir.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.dir.Protect(); err != nil {
		p.log.Warn("the data directory is not private", "err", err)
	}
	if c.Cluster && c.Simulated == nil {
		return p.among(ctx, c)
	}
	opened := storeOptions(c)
	opened.CheckBeside = true
	db, err := p.dir.Open(ctx, opened)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err = p.work(ctx, db, p.alone()); err != nil {
		err = cmp.Or(db.Sound(ctx), err)
	}
	p.log.Info("stopped")
	return err
}

// place is how a process serves: alone, or as one of several servers that share a database.
type place struct {
	id        string          // of this server; empty alone
	follower  bool            // another server leads: it does what isn't shared out
	notes     *cluster.Notes  // to the other servers; nil alone
	apps      *leases.Holder  // what this server calls; nil alone
	limits    throttle.Limits // of all servers; nil alone
	restart   func()          // has a follower begin again
	setupCode func() string
	announce  func(config.Config, cli.Ready)
	serve     func(context.Context, *server.Server, config.Config) error
}

// alone returns the place of a server that has its database for itself.
func (p *process) alone() place {
	serve := func(ctx context.Context, srv *server.Server, c config.Config) error {
		return srv.Run(ctx, p.listener, c.ShutdownTimeout)
	}
	return place{setupCode: rand.Text, announce: p.announce, serve: serve}
}

// reach returns the settings with which the process is reached, and what people read about that.
func (p *process) reach(c config.Config) (config.Config, cli.Ready) {
	c.Listen = p.listen
	ready := cli.Ready{Links: []string{c.BaseURL}, Demo: c.Simulated != nil}
	if c.BaseURL == "" {
		c.BaseURL = "http://" + config.LoopbackFor(p.listener.Addr().String())
		ready.Links, ready.Within = edge.ThisMachine().Reach(p.listener.Addr(), c.BaseURL)
	}
	return c, ready
}

// announce logs the addresses of the page, and prints the links to it. The code for the first account is a secret: the
// log does not have it.
func (p *process) announce(c config.Config, ready cli.Ready) {
	if c.Contact == "" {
		names := strings.Join(providers.WantContact(registry.Descriptions()), " and ")
		p.log.Warn("the setting contact is empty; " + names + " are not called without it")
	}
	p.log.Info("serving", "url", ready.Links[0], "links", ready.Links, "version", version)
	ready.Print(p.console.Out)
}

// work does everything that a server does with the database open, until ctx ends.
func (p *process) work(ctx context.Context, db *store.Store, at place) error {
	var ready cli.Ready
	fill := func(c *config.Config) {
		p.from.simulate(c)
		*c, ready = p.reach(*c)
	}
	held, err := settings.Open(ctx, settings.Options{Layers: p.from.layers, Known: registry.Descriptions(), Store: db,
		Log: p.log, Fill: fill})
	if err != nil {
		return err
	}
	c := held.Config()
	db.Configure(storeOptions(c).Sending)
	p.level.Set(c.LogLevel)
	a, err := wire(ctx, c, db, nil, at.apps, p.log)
	if err != nil {
		return err
	}
	if at.apps != nil {
		a.hosts.Fence(at.apps.May)
	}
	a.server.Settings, a.server.Limits = held, at.limits
	pages := a.server
	if p.from.furnish != nil {
		a.run = append(a.run, p.from.world.Players("http://"+config.LoopbackFor(c.Listen)))
		pages.Demo = func(show demo.Show) http.Handler { return p.from.world.Handler("/demo", show) }
		if pages.DemoUser, err = p.from.furnish(ctx, a); err != nil {
			return err
		}
	} else if exists, err := db.HasUsers(ctx); err != nil {
		return err
	} else if !exists {
		pages.SetupCode = at.setupCode()
	}
	changed := func() {} // tells the other servers that the settings have changed
	if at.follower {
		a.run = a.shared
		pages.Art.Remote()
	}
	if at.notes != nil {
		peer := peers.Join(peers.Options{Notes: at.notes, Leads: !at.follower, Apps: at.apps,
			Endpoints: a.endpoints, Bus: a.bus, Playing: pages.Playing,
			Queue: db.Queue(), Traffic: db.Traffic(), Connections: a.connections, Imports: pages.Imports,
			Store: db, Settings: held, Log: p.log, Restart: at.restart})
		a.run, changed, pages.Flush = append(a.run, peer.Run), peer.Changed, peer.Flush
	}
	if !at.follower {
		if err := a.catchUp(ctx); err != nil {
			return err
		}
		a.run = append(a.run, upkeep.Options{Store: db, Traffic: db.Traffic(), Forget: a.endpoints.Breakers.Forget,
			Log: p.log}.Run, func(ctx context.Context) error { return a.web.Load().SignIn().Run(ctx) })
	}
	a.run = append(a.run, a.deliveries.Run)
	srv, err := server.New(pages)
	if err != nil {
		return err
	}
	a.web.Store(srv)
	held.Follow(func(ctx context.Context, before, now config.Config) error {
		p.level.Set(now.LogLevel)
		defer changed()
		return a.apply(ctx, before, now)
	})
	ready.SetupCode = pages.SetupCode
	if at.announce != nil { // else the links were printed when the process began to serve
		at.announce(c, ready)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range a.run {
		g.Go(func() error { return run(ctx) })
	}
	g.Go(func() error { return at.serve(ctx, srv, c) })
	g.Go(func() error { return peers.HearCommands(ctx, p.dir.Hear, pages.Bus, p.log) })
	g.Go(func() error { return db.Sound(ctx) })
	g.Go(func() error { return upkeep.ReleaseMemory(ctx, p.log) })
	if err = g.Wait(); errors.Is(err, context.Canceled) { // a stop while something was still starting
		err = nil
	}
	return err
}
