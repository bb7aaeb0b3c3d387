package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/demo"
	"reprise/internal/events"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/server"
	"reprise/internal/server/edge"
	"reprise/internal/settings"
	"reprise/internal/store"
)

// demoPages is what the demo adds to the server's pages.
type demoPages struct {
	handler func(demo.Show) http.Handler
	user    int64 // is signed in without a password
}

// start is what a server starts with.
type start struct {
	layers *config.Layers
	// furnish, if set, is called between wiring and serving: the services are simulated then.
	furnish func(context.Context, *app) (demoPages, error)
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
func serve(ctx context.Context, from start, at console) error {
	c, err := from.config()
	if err != nil {
		return err
	}
	listener, err := server.Listen(c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	return serveOn(ctx, listener, from, at)
}

// process is the program while it serves.
type process struct {
	from     start
	at       console
	listener net.Listener
	listen   string // with the port that the system has chosen
	level    *slog.LevelVar
	log      *slog.Logger
	dir      datadir.Dir
}

// serveOn is serve on a listener that is open.
func serveOn(ctx context.Context, listener net.Listener, from start, at console) (err error) {
	c, err := from.config()
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(c.LogLevel)
	host, _, _ := net.SplitHostPort(c.Listen)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	p := &process{from: from, at: at, listener: listener, listen: net.JoinHostPort(host, port), level: level,
		log: newLog(c.LogFormat, level, at.err), dir: dataDir(c)}
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
	if c.ClusterListen != "" && c.Simulated == nil {
		return p.among(ctx, c)
	}
	opened := storeOptions(c)
	opened.CheckBeside = true
	db, err := p.dir.Open(ctx, opened)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err = p.work(ctx, db, alone{p}); err != nil {
		err = cmp.Or(db.Sound(ctx), err)
	}
	p.log.Info("stopped")
	return err
}

// place is how the process serves.
type place interface {
	// ready is called before anything runs.
	ready(*app)
	setupCode(context.Context, *store.Store) (string, error)
	announce(c config.Config, to reach, setupCode string)
	serve(context.Context, *server.Server, config.Config) error
}

// alone is the place of a server that has its database for itself.
type alone struct{ *process }

func (alone) ready(*app) {}

func (alone) setupCode(ctx context.Context, db *store.Store) (string, error) {
	return newSetupCode(ctx, db)
}

func (a alone) announce(c config.Config, to reach, setupCode string) {
	announce(c, to, setupCode, a.log, a.at.out)
}

func (a alone) serve(ctx context.Context, srv *server.Server, c config.Config) error {
	return srv.Run(ctx, a.listener, c.ShutdownTimeout)
}

// reach returns the settings with which the process is reached, and how.
func (p *process) reach(c config.Config) (config.Config, reach) {
	c.Listen = p.listen
	to := reach{links: []string{c.BaseURL}}
	if c.BaseURL == "" {
		c.BaseURL = "http://" + config.LoopbackFor(p.listener.Addr().String())
		to = reachOf(p.listener.Addr(), c.BaseURL, edge.ThisMachine())
	}
	return c, to
}

// work does everything that a server with the right to write does, until ctx ends.
func (p *process) work(ctx context.Context, db *store.Store, in place) error {
	var to reach
	fill := func(c *config.Config) {
		p.from.simulate(c)
		*c, to = p.reach(*c)
	}
	held, err := settings.Open(ctx, settings.Options{Layers: p.from.layers, Known: registry.Descriptions(), Store: db,
		Log: p.log, Fill: fill})
	if err != nil {
		return err
	}
	c := held.Config()
	db.Configure(storeOptions(c))
	p.level.Set(c.LogLevel)
	a, err := wire(ctx, c, db, nil, p.log)
	if err != nil {
		return err
	}
	in.ready(a)
	a.server.Settings = held
	pages := a.server
	if p.from.furnish != nil {
		furnished, err := p.from.furnish(ctx, a)
		if err != nil {
			return err
		}
		pages.Demo, pages.DemoUser = furnished.handler, furnished.user
	} else if pages.SetupCode, err = in.setupCode(ctx, db); err != nil {
		return err
	}
	srv, err := server.New(pages)
	if err != nil {
		return err
	}
	a.web.Store(srv)
	held.Follow(func(ctx context.Context, before, now config.Config) error {
		p.level.Set(now.LogLevel)
		return a.apply(ctx, before, now)
	})
	in.announce(c, to, pages.SetupCode)
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range append(a.run, a.deliveries.Run) {
		g.Go(func() error { return run(ctx) })
	}
	g.Go(func() error { return in.serve(ctx, srv, c) })
	g.Go(func() error { return hear(ctx, p.dir, pages.Bus, p.log) })
	g.Go(func() error { return tidy(ctx, db, a.server.Breakers, p.log) })
	g.Go(func() error { return index(ctx, db, p.log) })
	g.Go(func() error { return db.Sound(ctx) })
	g.Go(func() error { return releaseMemory(ctx, p.log) })
	g.Go(func() error { return logTraffic(ctx, db.Traffic(), p.log) })
	if err = g.Wait(); errors.Is(err, context.Canceled) { // a stop while something was still starting
		err = nil
	}
	return err
}

// hear has open pages ask whether their session is still good each time that a command such as reset-password has
// changed who may sign in, until the context ends. What this process changes, the bus says.
func hear(ctx context.Context, dir datadir.Dir, bus *events.Bus, log *slog.Logger) error {
	err := dir.Hear(ctx, func() { bus.PublishAll(events.Event{Type: events.Access}) })
	if err != nil {
		log.Warn("open pages notice only after minutes what a command such as reset-password changes", "err", err)
	}
	return nil
}

// newSetupCode returns the code with which the first account is created, empty if there is an account.
func newSetupCode(ctx context.Context, db *store.Store) (string, error) {
	exists, err := db.HasUsers(ctx)
	if err != nil || exists {
		return "", err
	}
	return rand.Text(), nil
}

// newLog returns a logger that writes for people on a terminal, and JSON elsewhere.
func newLog(format string, level slog.Leveler, w io.Writer) *slog.Logger {
	terminal := false
	if f, ok := w.(*os.File); ok {
		terminal = term.IsTerminal(int(f.Fd()))
	}
	if format == "json" || format == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: milliseconds}))
	}
	times := time.RFC3339 // in a file, programs and later readers need the day
	if terminal {
		times = time.TimeOnly
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: times, NoColor: !terminal,
		ReplaceAttr: milliseconds}))
}

// milliseconds logs every duration as a whole number whose name has its unit: "took" becomes "took_ms". Scripts then
// need not know how Go writes durations.
func milliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Int64(a.Key+"_ms", a.Value.Duration().Milliseconds())
}

// index keeps the search index and the columns of statistics up to date until the context ends, so that nobody waits
// for them after an import. While the database does not change, it asks it nothing.
func index(ctx context.Context, db *store.Store, log *slog.Logger) error {
	every := time.NewTicker(time.Minute)
	defer every.Stop()
	for done, seen := false, uint64(0); ; {
		if now := db.Changes(); !done || now != seen {
			words, columns := db.Index(ctx), db.BuildColumns(ctx)
			if words != nil && ctx.Err() == nil {
				log.Error("indexing names failed", "err", words)
			}
			if columns != nil && ctx.Err() == nil {
				log.Error("getting statistics ready failed", "err", columns)
			}
			done, seen = words == nil && columns == nil, now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

// trafficEvery is how often logTraffic logs.
const trafficEvery = 30 * time.Second

// logTraffic logs how much the database has been asked, at level debug, until the context ends.
func logTraffic(ctx context.Context, t *store.Traffic, log *slog.Logger) error {
	every := time.NewTicker(trafficEvery)
	defer every.Stop()
	for {
		log.Debug("database", "statements", t.Statements(), "transactions", t.Transactions())
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

// tidy removes expired data, at the start and every hour.
func tidy(ctx context.Context, db *store.Store, breakers *resilience.Breakers, log *slog.Logger) error {
	every := time.NewTicker(time.Hour)
	defer every.Stop()
	for {
		if err := db.Tidy(ctx); err != nil && ctx.Err() == nil {
			log.Error("tidying up failed", "err", err)
		}
		breakers.Forget()
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}
