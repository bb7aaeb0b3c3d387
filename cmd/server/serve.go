package main

import (
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
	"reprise/internal/demo"
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
}

// simulate makes a Config that of the demo, which never uses the database with real data.
func (s start) simulate(c *config.Config) {
	if s.furnish != nil {
		c.Simulated, c.DatabaseURL = true, ""
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

// serveOn is serve on a listener that is open.
func serveOn(ctx context.Context, listener net.Listener, from start, at console) (err error) {
	c, err := from.config()
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(c.LogLevel)
	log := newLog(c.LogFormat, level, at.err)
	host, _, _ := net.SplitHostPort(c.Listen)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	c.Listen = net.JoinHostPort(host, port) // the system has chosen the port, if it was 0
	listen, to := c.Listen, reach{}
	dir := dataDir(c)
	if err := dir.Make(); err != nil {
		return err
	}
	unlock, err := dir.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := dir.Protect(); err != nil {
		log.Warn("the data directory is not private", "err", err)
	}
	opened := storeOptions(c)
	opened.Moving = tellMoving(log, at.out)
	db, err := dir.Open(ctx, opened)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	fill := func(c *config.Config) {
		from.simulate(c)
		c.Listen, to = listen, reach{links: []string{c.BaseURL}}
		if c.BaseURL == "" {
			c.BaseURL = "http://" + config.LoopbackFor(listener.Addr().String())
			to = reachOf(listener.Addr(), c.BaseURL, edge.ThisMachine())
		}
	}
	held, err := settings.Open(ctx, settings.Options{Layers: from.layers, Known: registry.Descriptions(), Store: db,
		Log: log, Fill: fill})
	if err != nil {
		return err
	}
	c = held.Config()
	db.Configure(storeOptions(c))
	level.Set(c.LogLevel)
	a, err := wire(ctx, c, db, nil, log)
	if err != nil {
		return err
	}
	a.server.Settings = held
	pages := a.server
	if from.furnish != nil {
		furnished, err := from.furnish(ctx, a)
		if err != nil {
			return err
		}
		pages.Demo, pages.DemoUser = furnished.handler, furnished.user
	} else if pages.SetupCode, err = newSetupCode(ctx, db); err != nil {
		return err
	}
	srv, err := server.New(pages)
	if err != nil {
		return err
	}
	a.web.Store(srv)
	held.Follow(func(ctx context.Context, before, now config.Config) error {
		level.Set(now.LogLevel)
		return a.apply(ctx, before, now)
	})
	announce(c, to, pages.SetupCode, log, at.out)
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range append(a.run, a.deliveries.Run) {
		g.Go(func() error { return run(ctx) })
	}
	g.Go(func() error { return srv.Run(ctx, listener, c.ShutdownTimeout) })
	g.Go(func() error { return tidy(ctx, db, a.server.Breakers, log) })
	g.Go(func() error { return index(ctx, db, log) })
	if err = g.Wait(); errors.Is(err, context.Canceled) { // a stop while something was still starting
		err = nil
	}
	log.Info("stopped")
	return err
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
