package servertest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/asks"
	"reprise/internal/backups"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/players"
	"reprise/internal/postgrestest"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	registered "reprise/internal/providers/registry"
	"reprise/internal/removal"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
	"reprise/internal/server"
	"reprise/internal/settings"
	"reprise/internal/soak"
	"reprise/internal/store"
	"reprise/internal/store/outbox"
	"reprise/internal/storetest"
	syncer "reprise/internal/sync"
	"reprise/internal/weekly"
)

// Household is a server with one person, over a real database and engine, in a bubble of fake time.
type Household struct {
	*server.Server
	server.Config
	T       testing.TB
	DB      *store.Store
	User    int64
	Far     *Services
	Gone    *removal.Remover
	Session []*http.Cookie
}

// Catalogue lists the endpoints of the household's providers in the roll-up.
var Catalogue = metrics.Catalogue{Providers: []metrics.Provider{{Name: "spotify",
	Endpoints: []metrics.Endpoint{{Host: "api.spotify.com", Name: "GET /v1/me"},
		{Host: "api.spotify.com", Name: "GET /v1/me/playlists"}}},
	{Name: "navidrome", Endpoints: []metrics.Endpoint{{Name: "GET /rest/ping"}}}}}

// New returns a server for a user who has connected providers that take listens (listenbrainz, two at a time,
// and lastfm), playlists (navidrome) and months (s3), and one whose listens are read (spotify).
func New(t testing.TB, opt delivery.Options) *Household {
	t.Helper()
	ctx := t.Context()
	db := storetest.OpenWith(t, t.TempDir(),
		store.Options{Sending: outbox.Options{Attempts: opt.WithDefaults().Attempts()}})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	u, err := db.AddUser(ctx, accounts.User{Name: "Ann", PasswordHash: "-", Role: accounts.Admin,
		CreatedAt: time.Now()}, false)
	require.NoError(t, err)

	h := &Household{T: t, DB: db, User: u.ID, Far: &Services{}}
	bus, log := &events.Bus{}, slog.New(slog.DiscardHandler)
	reads := []string{library.Playlists} // no listens: else what a service has is read before something is sent
	registry := providers.NewRegistry()
	for _, d := range []providers.Description{
		{Name: "spotify", DisplayName: "Spotify", Streams: []string{library.Listens}},
		{Name: "lastfm", DisplayName: "Last.fm", Streams: reads, Keeps: true,
			Takes:   providers.Takes{Listens: delivery.Scrobble, Batch: 50, Oldest: 14 * 24 * time.Hour, Playing: true},
			History: "https://www.last.fm/user/{account}/library"},
		{Name: "listenbrainz", DisplayName: "ListenBrainz", Streams: reads,
			Takes: providers.Takes{Listens: delivery.SubmitListens, Batch: 2, Deletions: true, Playing: true}},
		{Name: "navidrome", DisplayName: "Navidrome", Streams: reads, Takes: providers.Takes{Playlists: true}},
		{Name: "s3", DisplayName: "S3 archive", Takes: providers.Takes{Archive: true}},
		{Name: "youtube", DisplayName: "YouTube", Streams: reads,
			Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 50}},
	} {
		registry.Replace(&providers.Provider{Description: d,
			App:  func(library.Credentials) string { return d.Name },
			Open: func(resilience.Call, library.Credentials) providers.Adapter { return h.Far }})
		if d.Name != "youtube" {
			h.Connect(library.ConnectionID(d.Name))
		}
	}
	notifier := notify.New(db, bus, nil)
	guard := syncer.NewGuard(syncer.GuardOptions{Backoff: backoff.New(backoff.Options{}),
		Registry: registry, Keys: db, Log: log,
		Alerts: alerts.New(alerts.Options{Store: db, Notifier: notifier, Bus: bus, Log: log})})
	pull := syncer.NewSyncer(syncer.Options{}, guard, db, bus)
	carried := delivery.New(delivery.Parts{Registry: registry, Store: db, Teller: notifier, Bus: bus, Log: log,
		Guard: syncer.DeliveryGuard{Guard: guard, Syncer: pull}}, opt)
	people := accounts.New(db, 2)
	courier := notify.NewCourier(notify.CourierOptions{Store: db, Guard: guard, Notifier: notifier, Bus: bus, Log: log,
		Name: delivery.ChannelName})
	connections := syncer.NewConnections(guard, pull, carried, db, bus)
	h.Gone = removal.New(db, bus, log, connections, courier, carried)
	reports := weekly.New(weekly.Options{Store: db, Reader: accounts.ReaderIn(db), Log: log})
	h.Config = server.Config{Accounts: people, Reports: reports, Courier: courier, Removals: h.Gone,
		Asks: asks.New(asks.Options{Store: db, Notifier: notifier, Registry: registry,
			AppState: connections.AppState, Log: log}),
		Reach: server.Reach{BaseURL: "http://127.0.0.1:8420"}, OwnNames: []string{"example.com"},
		Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Log: log, Store: db,
		Sessions: db.Sessions(), Registry: registry, Bus: bus, Notifier: notifier,
		Backups: backups.New(backups.Options{Dir: datadir.Dir{Path: t.TempDir()}, Store: db, Notifier: notifier,
			Bus: bus, Log: log}, config.Backup{Keep: 7}),
		Imports: imports.New(imports.Config{Files: imports.Folder{Path: t.TempDir()}, Store: db, Bus: bus,
			Notifier: notifier, Log: log}),
		Playing:     players.NewNow(carried, bus),
		Connections: connections, Syncer: pull, Deliveries: carried, Guard: guard,
		Digests: digest.New(digest.Config{Guard: guard, Store: db, Bus: bus, Log: log}), DemoUser: u.ID,
		Breakers: (*transport.Breakers)(nil), Uplink: (*transport.Uplink)(nil),
		Rollup: metrics.NewRollup(Catalogue, db, log)}
	h.Settings, err = settings.Open(t.Context(), settings.Options{Known: registered.Descriptions(), Store: db, Log: log,
		Layers: config.Read("", nil, nil, registered.Descriptions())})
	require.NoError(t, err)
	h.Restart()
	return h
}

// Restart serves with the configuration as it is now.
func (h *Household) Restart() {
	h.T.Helper()
	var err error
	h.Server, err = server.New(h.Config)
	require.NoError(h.T, err)
}

// As makes the following requests those of another user, or of nobody.
func (h *Household) As(user int64) {
	h.T.Helper()
	h.DemoUser, h.Session = user, nil
	h.Restart()
}

// Connect stores a connection of the person.
func (h *Household) Connect(id library.ConnectionID) {
	h.T.Helper()
	_, err := h.DB.SaveConnection(h.T.Context(), library.Connection{User: h.User, ID: id,
		AccountID: "ann", Account: "ann", App: id.Provider(),
		Credentials: library.Credentials{}, CreatedAt: time.Now()})
	require.NoError(h.T, err)
}

// Other makes another account.
func (h *Household) Other(name string) int64 {
	h.T.Helper()
	u, err := h.DB.AddUser(h.T.Context(), accounts.User{Name: name, PasswordHash: "-", Role: accounts.Member,
		CreatedAt: time.Now()}, false)
	require.NoError(h.T, err)
	return u.ID
}

// Hear waits a minute for each title, and stores them as listens of Spotify.
func (h *Household) Hear(titles ...string) {
	h.T.Helper()
	time.Sleep(time.Duration(len(titles)) * time.Minute)
	h.Heard(titles...)
}

// Heard stores listens of Spotify, the oldest first, a minute apart, the last one just now.
func (h *Household) Heard(titles ...string) {
	h.T.Helper()
	var plays []library.Listen
	for i, title := range titles {
		at := time.Now().Add(-time.Duration(len(titles)-1-i) * time.Minute).Truncate(time.Millisecond)
		plays = append(plays,
			library.Listen{Track: library.Track{Title: title, Artist: "Sigur Rós", Duration: time.Minute},
				SourceID: fmt.Sprint(title, at.UnixMilli()), PlayedAt: at})
	}
	_, err := h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: "spotify", Listens: plays})
	require.NoError(h.T, err)
}

// Carry runs deliveries until nothing more is due.
func (h *Household) Carry() {
	h.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(h.T, h.Deliveries.Run(ctx)) })
	for range 10 { // the queue looks every five seconds for what has become due
		time.Sleep(time.Second)
		synctest.Wait()
	}
	cancel()
	running.Wait()
}

// InBubble runs a test in a bubble of fake time.
func InBubble(t *testing.T, test func(*testing.T)) {
	t.Parallel()
	synctest.Test(t, test)
}

// Unregistered makes Last.fm a service that an administrator has to set up first.
func (h *Household) Unregistered() {
	h.Registry.Replace(providertest.New(registered.Describe("lastfm")))
}

// OnPostgres runs tests of the calling folder on Postgres as well, where they ask what the store's own tests do not: if
// SOAK picks the folder, those of its tests that it picks.
func OnPostgres(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	if !soak.Part(t, filepath.Base(os.Args[0])) {
		t.Skip("SOAK picks other folders")
	}
	postgrestest.Again(t, ".")
}
