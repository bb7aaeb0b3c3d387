package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/art"
	"reprise/internal/asks"
	"reprise/internal/backups"
	"reprise/internal/channels"
	"reprise/internal/comparing"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/delivery"
	"reprise/internal/demo/household"
	"reprise/internal/digest"
	"reprise/internal/enrich"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/leases"
	"reprise/internal/mqtt"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/observe"
	"reprise/internal/openid"
	"reprise/internal/peers"
	"reprise/internal/players"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/recipes"
	"reprise/internal/removal"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/resilience/turns"
	"reprise/internal/server"
	"reprise/internal/server/edge"
	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	syncer "reprise/internal/sync"
	"reprise/internal/updates"
	"reprise/internal/upkeep"
	"reprise/internal/weekly"
)

// app is the whole program, wired.
type app struct {
	basics
	backoff            *backoff.Manager
	endpoints          *peers.Endpoints
	channels           *channels.Channels
	screen             *hosts.Screen
	web                atomic.Pointer[server.Server] // nil before it serves
	guard              *syncer.Guard
	builder            registry.Builder
	client             *http.Client // of upstream calls
	accounts           *accounts.Accounts
	registry, services *providers.Registry
	updates            *updates.Looker
	connections        *syncer.Connections
	watch              *syncer.Watch
	deliveries         *delivery.Deliveries
	digests            *digest.Runner
	mqtt               *mqtt.Publisher
	server             server.Config
	run, shared        []func(context.Context) error // without deliveries.Run; what every server of several does
}

// basics are what most parts need.
type basics struct {
	config   config.Config // at the start
	now      *current      // which apply changes
	hosts    *hosts.Hosts
	store    *store.Store
	bus      *events.Bus
	counters observe.Counters
	log      *slog.Logger
}

// wire creates every part and connects them. base sends the requests; nil for what the settings allow.
func wire(ctx context.Context, c config.Config, db *store.Store, base http.RoundTripper, apps *leases.Holder,
	log *slog.Logger) (*app, error) {
	counters, err := observe.New(ctx, observe.Options{Settings: c.Providers, Store: db, Version: version, Log: log})
	if err != nil {
		return nil, err
	}
	b := basics{config: c, now: newCurrent(c), hosts: hosts.New(c.Hosts(registry.Descriptions())), store: db,
		bus: &events.Bus{}, counters: counters, log: log}
	if base == nil {
		base = b.hosts.NewBase()
	}
	notifier := notify.New(db, b.bus, func(v notify.Severity) { counters.Told(string(v), "browser", "sent") })
	alerts := alerts.New(alerts.Options{Store: db, Notifier: notifier, Bus: b.bus, Log: log})
	roundTripper := b.transport(base, alerts)
	client := transport.NewClient(roundTripper)
	builder := registry.Builder{Client: client, Store: db, Rotated: counters.Rotation, Log: log,
		ForwardingAccount: db.ForwardingAccount}
	registry, services, err := builder.All(ctx, c.Providers, c.Contact, c.Backoff(), b.follow(roundTripper))
	if err != nil {
		return nil, err
	}
	backoff := backoff.New(c.Backoff())
	if err := syncer.Restore(ctx, backoff, registry, db); err != nil {
		return nil, err
	}
	screen := syncer.NewScreen(syncer.ScreenOptions{Store: db, Registry: registry, Log: log,
		Allowed: func(host string) bool { return b.now.Load().AllowsUpstream(host) }})
	guard := syncer.NewGuard(syncer.GuardOptions{Backoff: backoff, Client: client, Tokens: oauth.NewTokens(db, client),
		Registry: registry, Keys: db, Alerts: alerts, Log: log, FirstDelay: c.DeliveryFirstDelay,
		Metrics: counters.Metrics, Screen: screen, Apps: apps})
	reading := syncOptions(c)
	reading.Metrics, reading.Began = counters.Metrics, counters.Began
	sync := syncer.NewSyncer(reading, guard, db, b.bus)
	reader := accounts.ReaderIn(db)
	accounts := accounts.New(db, upkeep.HashesAtOnce())
	channels, pushKey, named, err := b.newChannels(ctx, roundTripper, screen)
	if err != nil {
		return nil, err
	}
	art, err := art.Open(art.Options{Dir: filepath.Join(c.DataDir, "art"),
		Hosts: services.PictureHosts, Most: int64(c.ArtMaxMiB) << 20})
	if err != nil {
		return nil, err
	}
	reports := weekly.New(weekly.Options{Store: db, Pictures: art, Reader: reader, Log: log})
	courier := notify.NewCourier(notify.CourierOptions{Store: db, Sender: channels, Guard: guard, Notifier: notifier,
		Bus: b.bus, Log: log, BaseURL: c.BaseURL, Name: delivery.ChannelName, Service: registry.DisplayName,
		Reader: reader, Told: counters.Told, Named: named, Reporter: reports})
	sending := deliveryOptions(c)
	sending.Metrics, sending.Began = counters.Metrics, counters.Delivering
	deliveries := delivery.New(delivery.Parts{Registry: registry, Store: db, Messenger: courier, Teller: notifier,
		Bus: b.bus, Log: log, Guard: syncer.DeliveryGuard{Guard: guard, Syncer: sync}}, sending)
	connections := syncer.NewConnections(guard, sync, deliveries, db, b.bus)
	playing := players.NewNow(deliveries, b.bus)
	watch := syncer.NewWatch(guard, db, playing, c.NowPlaying)
	imports := b.imports(notifier, apps)
	removals := removal.New(db, b.bus, log, connections, courier, imports, deliveries)
	digests := b.newDigests(services, guard)
	asks := asks.New(asks.Options{Store: db, Notifier: notifier, Registry: registry, AppState: connections.AppState,
		Log: log})
	enrichment := enrich.New(enrich.Config{Every: c.EnrichEvery, Services: services, Store: db, Guard: guard,
		Pictures: art, Bus: b.bus, Log: log})
	outside := transport.NewClient(&transport.Transport{Base: base, Agent: roundTripper.Agent, Log: log}) // no service
	apart := transport.NewClient(&transport.Transport{Base: base, UserAgent: config.Config{}.Agent(version), Log: log,
		Turns: turns.New()}) // other people's servers: they get no contact address, and may not answer much
	updates := updates.New(updates.Options{Version: version, Client: outside, Store: db,
		Notifier: notifier, Log: log}, c.UpdatesURL)
	backups := backups.New(backups.Options{Dir: dataDir(c), Store: db, Notifier: notifier, Bus: b.bus, Client: outside,
		Log: log}, c.Backup)
	publisher := mqtt.New(mqtt.Options{Store: db, Playing: playing, Bus: b.bus, Version: version, Log: log}, c.MQTT)
	endpoints := &peers.Endpoints{Breakers: roundTripper.Breakers, Uplink: roundTripper.Uplink}
	pages := server.Config{Reach: reachOfSettings(c), OwnNames: edge.OwnNames(c.Listen), Version: version, Store: db,
		Backups: backups, Accounts: accounts, Removals: removals, Sessions: db.Sessions(), Registry: registry,
		Services: services, Connections: connections, Syncer: sync, Deliveries: deliveries, Imports: imports,
		Playing: playing, Digests: digests, Comparing: &comparing.Client{HTTP: apart, Screen: screen},
		Enrichment: enrichment, Art: art, Guard: guard, Asks: asks, Client: client,
		Flow: oauth.NewFlow(db, client), Notifier: notifier, Courier: courier, PushKey: pushKey, Bus: b.bus, Log: log,
		Issuers: openid.New(outside, c.OpenID), Reports: reports, Breakers: endpoints, Uplink: endpoints,
		Rollup: counters.Rollup, Counters: counters.Metrics}
	now := observe.Present{Store: db, Bus: b.bus, Registry: registry, Services: services, Connections: connections,
		Breakers: roundTripper.Breakers, Leads: func() bool { return apps.Holds(leases.OfLeader) }}
	pages.Metrics = counters.Handler(now.States, log)
	shared := []func(context.Context) error{sync.Run, watch.Run, imports.Run, counters.Rollup.Run, counters.Tracer.Run}
	return &app{basics: b, backoff: backoff, services: services, endpoints: endpoints, channels: channels,
		screen: screen, guard: guard, builder: builder, client: client, accounts: accounts, registry: registry,
		connections: connections, watch: watch, deliveries: deliveries, digests: digests, server: pages,
		updates: updates, mqtt: publisher, shared: shared,
		run: append(slices.Clone(shared), removals.Run, digests.Run, enrichment.Run, asks.Run, updates.Run,
			backups.Run, publisher.Run, recipes.New(db, log).Run, reports.Run,
			players.Watcher{Store: db, Notifier: notifier, Log: log}.Run)}, nil
}

// newChannels returns what sends messages outside the browser, the public key by which push services know it, and the
// channels of the settings.
func (b basics) newChannels(ctx context.Context, t *transport.Transport, screen *hosts.Screen) (*channels.Channels,
	string, []notify.Channel, error) {
	vapid, err := b.store.Vapid(ctx, channels.NewVapid)
	if err != nil {
		return nil, "", nil, err
	}
	named, err := channels.OfSettings(b.config.NotifyURLs)
	keys := channels.ReadVapid(vapid)
	own := *t
	own.Agent = func() string { return config.Config{}.Agent(version) } // the contact address is for services only
	return channels.New(channels.Config{Client: transport.NewClient(&own), Dial: b.hosts.Dial(), Vapid: keys,
		Contact: b.config.Contact, BaseURL: b.config.BaseURL, Told: t.Tell, Screen: screen}), keys.Public, named, err
}

func (b basics) imports(told *notify.Notifier, apps *leases.Holder) *imports.Runner {
	c := imports.Config{Files: b.store.Files(), Store: b.store, Bus: b.bus, Notifier: told, Apps: apps, Log: b.log,
		Counted: b.counters.Listens}
	if dir := b.config.DataDir; b.config.DatabaseURL == "" { // otherwise other servers read what this one receives
		c.Free, c.RowBytes = func() (int64, bool) { return datadir.FreeSpace(dir) }, imports.ListenBytes
		c.Files = imports.Folder{Path: filepath.Join(dir, "imports"), Free: c.Free}
	}
	return imports.New(c)
}

// storeOptions returns the settings of the store, which gives each delivery as many attempts as the schedule allows.
func storeOptions(c config.Config) store.Options {
	return store.Options{Options: db.Options{Version: version},
		Sending: outbox.Options{Attempts: schedule(c).WithDefaults().Attempts(), ArchiveEvery: c.ListensEvery}}
}

func schedule(c config.Config) delivery.Schedule {
	return delivery.Schedule{First: c.DeliveryFirstDelay, Max: c.DeliveryMaxDelay, Age: c.DeliveryMaxAge,
		Tries: c.DeliveryMaxAttempts}
}

func deliveryOptions(c config.Config) delivery.Options {
	return delivery.Options{Schedule: schedule(c), Workers: c.DeliveryWorkers, BacklogWarn: c.DeliveryBacklogWarn,
		BacklogLimit: c.DeliveryBacklogLimit, KeepDead: c.DeliveryKeepDead, Timeout: c.RunTimeout}
}

// catchUp does what follows from what has changed while no server worked: the channels of the settings, and what people
// have to enter again after the secret key was lost.
func (a *app) catchUp(ctx context.Context) error {
	adopted := a.server.Courier.AdoptAgain(ctx)
	lost, err := a.store.LostChannels(ctx)
	return errors.Join(adopted, err, a.server.Courier.AskAgain(ctx, lost), a.connections.AskAgain(ctx))
}

// latePlays is how long to wait after a week ends for late plays, from phones that were offline.
const latePlays = 3 * time.Hour

// newDigests returns the writer of the weekly digests. Without a model it never writes one.
func (b basics) newDigests(services *providers.Registry, guard digest.Guard) *digest.Runner {
	c := digest.Config{Options: digest.Options{Late: latePlays}, Services: services, Guard: guard, Store: b.store,
		Bus: b.bus, Log: b.log, Reader: accounts.ReaderIn(b.store)}
	if b.config.Simulated != nil {
		c.Options.Every, c.Options.Late = household.DigestEvery, 0
	}
	return digest.New(c)
}
