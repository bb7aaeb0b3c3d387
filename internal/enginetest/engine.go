package enginetest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
	"reprise/internal/resilience/turns"
	"reprise/internal/store"
	"reprise/internal/storetest"
	syncer "reprise/internal/sync"
)

// Engine is a running installation without its web side.
type Engine struct {
	Store       *store.Store
	Bus         *events.Bus
	Client      *http.Client
	Backoff     *backoff.Manager
	Guard       *syncer.Guard
	Syncer      *syncer.Syncer
	Connections *syncer.Connections
	Deliveries  *delivery.Deliveries
	Registry    *providers.Registry

	// Carry starts to send deliveries. River has timers of a few seconds of the bubble's time, so a test that
	// lives through days without deliveries is faster without it.
	Carry func()

	t     testing.TB
	up    *Upstreams
	log   logWriter
	stop  func()
	again func() *Engine
}

// Store is what reading and alerts need.
type Store interface {
	syncer.Store
	alerts.Store
	notify.Store
}

// Start opens the database in dir, restores what a restart must know, and runs. With wrap a test may put something
// between the engine and its store. Stop is called at the end of the test, or earlier. A second passes.
func Start(t testing.TB, dir string, up *Upstreams, opt syncer.Options, wrap func(*store.Store) Store) *Engine {
	t.Helper()
	ctx := context.Background()
	db := storetest.Open(t, dir)
	upstream, waits := &transport.Transport{Base: up, Turns: turns.New()}, backoff.Options{}
	if up.Tune != nil {
		up.Tune(upstream, &waits)
	}
	client := transport.NewClient(upstream)
	e := &Engine{Store: db, Bus: &events.Bus{}, Client: client, Backoff: backoff.New(waits),
		t: t, up: up,
		Registry: providers.NewRegistry(
			providertest.New(registry.Describe("spotify"), "client_id", up.Spotify.ClientID),
			providertest.New(registry.Describe("lastfm"), "client_id", up.LastFM.ClientID,
				"client_secret", up.LastFM.ClientSecret),
			providertest.New(registry.Describe("listenbrainz")))}
	log := slog.New(slog.NewJSONHandler(&e.log, nil))
	e.Registry.Replace(e.NewYouTube(YouTubeKeys))
	if !up.ReadsLoves {
		for _, p := range e.Registry.All() {
			p.Streams = slices.DeleteFunc(slices.Clone(p.Streams), func(s string) bool {
				return s == library.Loves || s == library.Songs
			})
		}
	}
	require.NoError(t, syncer.Restore(ctx, e.Backoff, e.Registry, db))
	var kept Store = db
	if wrap != nil {
		kept = wrap(db)
	}
	told := alerts.New(alerts.Options{Store: kept, Notifier: notify.New(kept, e.Bus, nil), Bus: e.Bus, Log: log})
	e.Guard = syncer.NewGuard(syncer.GuardOptions{Backoff: e.Backoff, Client: e.Client,
		Tokens:   oauth.NewTokens(db, e.Client),
		Registry: e.Registry, Keys: db, Alerts: told, Log: log, FirstDelay: time.Second})
	e.Syncer = syncer.NewSyncer(opt, e.Guard, kept, e.Bus)
	e.Deliveries = delivery.New(delivery.Parts{Registry: e.Registry, Store: db, Bus: e.Bus, Log: log,
		Guard: syncer.DeliveryGuard{Guard: e.Guard, Syncer: e.Syncer}}, delivery.Options{})
	e.Connections = syncer.NewConnections(e.Guard, e.Syncer, e.Deliveries, db, e.Bus)
	run, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	start := func(work func(context.Context) error) {
		running.Go(func() { assert.NoError(t, work(run)) })
	}
	start(e.Syncer.Run)
	e.Carry = func() { start(e.Deliveries.Run) }
	e.stop = func() {
		e.stop = func() {}
		cancel()
		running.Wait()
		require.NoError(t, db.Close())
	}
	e.again = func() *Engine { return Start(t, dir, up, opt, wrap) }
	t.Cleanup(func() { e.stop() })
	Settle() // the first tick is over: what a test connects now is run by that alone
	return e
}

// logWriter is the destination of the log.
type logWriter struct {
	mu sync.Mutex
	w  io.Writer // nil for none
}

func (l *logWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return len(b), nil
	}
	return l.w.Write(b)
}

// LogTo sends what the engine logs from now on to w, as JSON.
func (e *Engine) LogTo(w io.Writer) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.log.w = w
}

// Stop ends the engine as SIGTERM does.
func (e *Engine) Stop() { e.stop() }

// Again starts the engine once more, after Stop, on the same database.
func (e *Engine) Again() *Engine { return e.again() }

// AddUser makes an account.
func (e *Engine) AddUser(name, role string) int64 {
	e.t.Helper()
	u, err := e.Store.AddUser(context.Background(), accounts.User{Name: name, PasswordHash: "-", Role: role,
		CreatedAt: time.Now()}, false)
	require.NoError(e.t, err)
	return u.ID
}

// ConnectSpotify connects the user's account at Spotify by a new consent.
func (e *Engine) ConnectSpotify(up *Upstreams, user int64, account string) error {
	access, refresh := up.Consent(account)
	now := time.Now()
	grant := oauth.Grant{Credentials: oauth.Credentials(
		&oauth2.Token{AccessToken: access, RefreshToken: refresh, Expiry: now.Add(time.Hour)}),
		AuthorizedAt: now, ExpiresAt: now.AddDate(0, 6, 0)}
	_, err := e.Connections.ConnectOAuth(context.Background(), e.Registry.Get("spotify"), user, grant)
	return err
}

// ConnectListenBrainz connects the user's account at ListenBrainz.
func (e *Engine) ConnectListenBrainz(user int64, account string) error {
	e.up.AddPerson(account)
	_, err := e.Connections.Connect(context.Background(), e.Registry.Get("listenbrainz"), library.Connection{User: user,
		ID: "listenbrainz", Credentials: library.Credentials{"token": e.up.ListenBrainz.Token(account)}})
	return err
}

// ConnectLastFM connects the user's account at Last.fm.
func (e *Engine) ConnectLastFM(user int64, account string) error {
	e.up.AddPerson(account)
	_, err := e.Connections.Connect(context.Background(), e.Registry.Get("lastfm"), library.Connection{User: user,
		ID: "lastfm", Credentials: library.Credentials{"session_key": e.up.LastFM.Authorize(account)}})
	return err
}

// YouTubeKeys are the API keys of every engine.
var YouTubeKeys = []keys.Key{{Secret: "youtube-key-aaaa"}, {Secret: "youtube-key-bbbb"},
	{Secret: "youtube-key-cccc"}}

// NewYouTube returns YouTube with these keys and further settings, as the server's wiring does.
func (e *Engine) NewYouTube(own []keys.Key, settings ...string) *providers.Provider {
	for _, k := range own {
		e.up.YouTube.AddKeys(string(k.Secret))
	}
	waits, err := e.Store.Cooldowns(context.Background())
	require.NoError(e.t, err)
	pool := keys.New("youtube", own, backoff.Options{})
	pool.Restore(waits)
	d := registry.Describe("youtube")
	keyed := transport.NewClient(&keys.Transport{Base: e.Client.Transport, Pool: pool, Put: d.Pool.Put,
		Advice: d.Pool.Advice, Spent: d.Pool.Spent, Save: e.Store.SaveCooldowns})
	in := providers.Installation{Client: e.Client, Keyed: keyed, Keys: pool}
	return providertest.NewIn(in, d, append(settings, "client_id", e.up.YouTube.ClientID,
		"client_secret", e.up.YouTube.ClientSecret)...)
}

// ConnectYouTube connects the user's account at Google by a new consent.
func (e *Engine) ConnectYouTube(up *Upstreams, user int64, account string) error {
	up.AddPerson(account)
	p := e.Registry.Get("youtube")
	grant := oauth.Grant{Credentials: oauth.Credentials(up.YouTube.Authorize(account, p.OAuth.Scopes...)),
		AuthorizedAt: time.Now()}
	_, err := e.Connections.ConnectOAuth(context.Background(), p, user, grant)
	return err
}

// Status returns the status of one connection.
func (e *Engine) Status(user int64, conn library.ConnectionID) syncer.Status {
	e.t.Helper()
	all, err := e.Connections.StatusOf(context.Background(), user, e.Store)
	require.NoError(e.t, err)
	for _, s := range all {
		if s.Connection.ID == conn {
			return s
		}
	}
	e.t.Fatalf("user %d has no connection to %s", user, conn)
	return syncer.Status{}
}

// Open returns the open notifications of a user.
func (e *Engine) Open(user int64) []notify.Notification {
	e.t.Helper()
	open, err := e.Store.Notifications(context.Background(), user, true)
	require.NoError(e.t, err)
	return open
}

// Listens returns how many listens a user has.
func (e *Engine) Listens(user int64) int {
	e.t.Helper()
	n, err := e.Store.CountListens(context.Background(), user)
	require.NoError(e.t, err)
	return n
}

// Settle waits until everything that is under way has come to rest. It takes a second of the bubble's time, because
// SQLite waits for a moment where two of its connections meet.
func Settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}
