package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/config"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/server"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// app is the whole program, wired.
type app struct {
	store       *store.Store
	guard       *syncer.Guard
	client      *http.Client // of upstream calls
	accounts    *accounts.Accounts
	registry    *providers.Registry
	connections *syncer.Connections
	deliveries  *delivery.Deliveries
	digests     *digest.Runner
	flow        *oauth.Flow
	server      server.Config
	run         []func(context.Context) error // beside deliveries.Run
}

// serve runs the program until ctx ends. prepare, when set, is called between wiring and serving.
func serve(ctx context.Context, c config.Config, prepare func(context.Context, *app) error, stdout, stderr io.Writer) (err error) {
	log := newLog(c, stderr)
	listener, err := server.Listen(c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if c.BaseURL == "" {
		c.BaseURL = "http://" + config.LoopbackFor(listener.Addr().String())
	}
	dir := dataDir(c)
	if err := dir.Make(); err != nil {
		return err
	}
	unlock, err := dir.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	db, err := dir.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	a, err := wire(ctx, c, db, hosts(c).NewBase(), log)
	if err != nil {
		return err
	}
	if prepare != nil {
		if err := prepare(ctx, a); err != nil {
			return err
		}
	}
	srv, err := server.New(a.server)
	if err != nil {
		return err
	}
	announce(c, a.server, log, stdout)
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range append(a.run, a.deliveries.Run) {
		g.Go(func() error { return run(ctx) })
	}
	g.Go(func() error { return srv.Run(ctx, listener, c.ShutdownTimeout) })
	g.Go(func() error { return tidy(ctx, db, a.server.Breakers, log) })
	if err = g.Wait(); errors.Is(err, context.Canceled) { // asked to stop while something was still beginning
		err = nil
	}
	log.Info("stopped")
	return err
}

// wire makes every part and connects them. base is what really sends.
func wire(ctx context.Context, c config.Config, db *store.Store, base http.RoundTripper, log *slog.Logger) (*app, error) {
	bus := &events.Bus{}
	n, err := newCounts(ctx, c, db, log)
	if err != nil {
		return nil, err
	}
	notifier := notify.New(db, bus, func(v notify.Severity) { n.Told(string(v), "browser", "sent") })
	told := alerts.New(alerts.Options{Store: db, Notifier: notifier, Bus: bus, Log: log})
	transport := newTransport(c, base, n, log, told)
	client := resilience.NewClient(transport)
	tokens := oauth.NewTokens(db, client)
	build := builder{config: c, store: db, client: client, counts: n, log: log}
	registry, services, err := build.all(ctx)
	if err != nil {
		return nil, err
	}
	backoff := resilience.NewBackoff(resilience.Options{Base: c.BackoffBase, Max: c.BackoffMax, Jitter: jitter(c.BackoffJitter)})
	if err := restore(ctx, backoff, registry, db); err != nil {
		return nil, err
	}
	guard := syncer.NewGuard(syncer.GuardOptions{Backoff: backoff, Client: client, Tokens: tokens, Registry: registry, Keys: db,
		Alerts: told, Log: log, FirstDelay: c.DeliveryFirstDelay, Metrics: n.Metrics})
	pull := syncer.NewSyncer(syncer.Options{ListensEvery: c.ListensEvery, PlaylistsEvery: c.PlaylistsEvery, Workers: c.Workers,
		RunTimeout: c.RunTimeout, Metrics: n.Metrics, Began: n.began}, guard, db, bus)
	courier, named, pushKey, err := newCourier(ctx, c, db, client, transport, guard, notifier, registry, bus, log)
	if err != nil {
		return nil, err
	}
	courier.Told = n.Told
	deliveries := delivery.New(delivery.Parts{Registry: registry, Guard: syncer.DeliveryGuard{Guard: guard, Syncer: pull},
		Store: db, Messenger: courier, Bus: bus, Log: log}, deliveryOptions(c, n.Metrics))
	db.SetArchiveEvery(c.ListensEvery)
	people, err := accounts.New(db)
	if err != nil {
		return nil, err
	}
	digests := newDigests(build, services, guard, bus)
	files := imports.New(imports.Config{
		Dir:     filepath.Join(c.DataDir, "imports"),
		Store:   db,
		Bus:     bus,
		Log:     log,
		Counted: n.Listens,
	})
	music, pictures, err := newEnrichment(build, services, guard, bus)
	if err != nil {
		return nil, err
	}
	a := &app{store: db, guard: guard, client: client, accounts: people, registry: registry, connections: syncer.NewConnections(guard, pull, deliveries, db, bus), deliveries: deliveries, digests: digests,
		flow: oauth.NewFlow(db, client), run: []func(context.Context) error{pull.Run, files.Run, digests.Run, music.Run, n.rollup.Run, n.tracer.Run}}
	a.server = server.Config{BaseURL: c.BaseURL, TrustedProxies: c.TrustedProxies, AdminToken: c.AdminToken, Version: version,
		Store: db, Accounts: people, Sessions: db.Sessions(), Registry: registry, Connections: a.connections, Syncer: pull, Deliveries: deliveries, Imports: files, Digests: digests, Enrichment: music, Art: pictures, Guard: guard, Flow: a.flow,
		Notifier: notifier, Courier: courier, NamedChannels: named, PushKey: pushKey, Bus: bus, Breakers: transport.Breakers, Uplink: transport.Uplink, Log: log}
	a.server.Rollup = n.rollup
	a.server.Metrics = n.Handler(states(a, a.server.Unconnected(), transport.Breakers, bus), log)
	a.server.SetupCode, err = setupCode(ctx, db)
	return a, err
}

func deliveryOptions(c config.Config, m *metrics.Metrics) delivery.Options {
	return delivery.Options{
		Schedule: delivery.Schedule{First: c.DeliveryFirstDelay, Max: c.DeliveryMaxDelay, Age: c.DeliveryMaxAge},
		Workers:  c.DeliveryWorkers, BacklogWarn: c.DeliveryBacklogWarn, BacklogLimit: c.DeliveryBacklogLimit,
		KeepDead: c.DeliveryKeepDead, Timeout: c.RunTimeout, Poll: min(time.Second, c.DeliveryFirstDelay), Metrics: m}
}

// setupCode lets whoever sees the server's output make the first account; empty when there is one.
func setupCode(ctx context.Context, db *store.Store) (string, error) {
	exists, err := db.HasUsers(ctx)
	if err != nil || exists {
		return "", err
	}
	return rand.Text(), nil
}

// jitter says "none" as the backoff understands it.
func jitter(share float64) float64 {
	if share == 0 {
		return -1
	}
	return share
}

func restore(ctx context.Context, b *resilience.Backoff, known *providers.Registry, db *store.Store) error {
	stops, err := db.Stops(ctx)
	if err != nil {
		return err
	}
	holds, err := db.Holds(ctx)
	if err != nil {
		return err
	}
	syncer.Restore(b, known, stops, holds)
	return nil
}

// newLog writes for a person on a terminal, and JSON elsewhere.
func newLog(c config.Config, w io.Writer) *slog.Logger {
	terminal := false
	if f, ok := w.(*os.File); ok {
		terminal = term.IsTerminal(int(f.Fd()))
	}
	if c.LogFormat == "json" || c.LogFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.LogLevel}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: c.LogLevel, TimeFormat: time.TimeOnly, NoColor: !terminal}))
}

// announce prints what a person needs to open the page.
func announce(c config.Config, s server.Config, log *slog.Logger, stdout io.Writer) {
	if c.Contact == "" {
		names := strings.Join(providers.WantContact(registry.Descriptions()), " and ")
		log.Warn("the setting contact is empty; " + names + " are not asked without it")
	}
	link := c.BaseURL
	what := "Reprise is ready:"
	if s.SetupCode != "" {
		link += "/setup?code=" + s.SetupCode
		what = "Reprise is ready. Make the first account here:"
	}
	log.Info("serving", "url", link, "version", version)
	fmt.Fprintf(stdout, "\n%s\n\n  %s\n\n", what, link)
}

// tidy removes what nobody can use any more, at start and every hour.
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
