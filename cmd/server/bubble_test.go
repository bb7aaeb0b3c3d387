package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/demo"
	"reprise/internal/demo/household"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers/registry"
)

// installation is the wired program, without its web side, in a bubble of fake time: the real settings, database, loops
// and adapters, with simulated upstreams without sockets. Deliveries run after a call of deliver only: River has
// timers of a few seconds, which are slow in a test of several days.
type installation struct {
	*app
	t        *testing.T
	world    *demo.World
	log      *attempts
	cut      atomic.Bool           // our uplink is gone; the server at home is not
	settings map[string]string     // of this test alone
	also     map[string]*ownServer // further servers, by host

	dir      string
	users    []int64
	delivers bool // also after a restart
	run      func(func(context.Context) error)
	stop     func()
}

// lifelike replaces the intervals of the demo by the usual ones.
var lifelike = map[string]string{"sync.listens_every": "5m", "sync.playlists_every": "15m",
	"sync.now_playing": "false", "backoff.base": "30s", "backoff.max": "30m", "breaker.failures": "5",
	"breaker.cooldown": "60s", "sync.enrich_every": "1h", "providers.lastfm.rate": "5",
	"providers.listenbrainz.rate": "1", "providers.musicbrainz.rate": "1"}

func inBubble(t *testing.T, o demo.Options, test func(t *testing.T, i *installation)) {
	t.Helper()
	inBubbleWith(t, o, nil, test)
}

// inBubbleWith is inBubble with some settings of its own, if there are any in our days: ListenBrainz takes no plays
// from the year in which a bubble begins.
func inBubbleWith(t *testing.T, o demo.Options, settings map[string]string, test func(t *testing.T, i *installation)) {
	t.Helper()
	if raceEnabled {
		t.Skip("the database is too slow with the race detector; the parts are tested with it elsewhere")
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if len(settings) > 0 {
			time.Sleep(time.Until(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)))
		}
		o.Seed, o.InProcess = 1, true
		world, err := demo.Start(o)
		require.NoError(t, err)
		defer world.Close()
		i := &installation{t: t, world: world, log: &attempts{}, settings: settings}
		i.start(inMemory(t))
		defer func() { i.stop() }()
		test(t, i)
	})
}

// inMemory returns a folder in memory, because the days in a bubble have tens of thousands of transactions.
func inMemory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "reprise-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func (i *installation) start(dir string) {
	t := i.t
	settings := household.Settings(i.world)
	maps.Copy(settings, lifelike)
	maps.Copy(settings, i.settings)
	settings["data_dir"], i.dir = dir, dir
	c, err := config.Load("", nil, settings, registry.Descriptions())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	db, err := dataDir(c).Open(ctx, storeOptions(c))
	require.NoError(t, err)
	i.app, err = wire(ctx, c, db, i, nil, slog.New(i.log))
	require.NoError(t, err)
	var running sync.WaitGroup
	i.run = func(work func(context.Context) error) {
		running.Go(func() { assert.NoError(t, work(ctx)) })
	}
	for _, work := range i.app.run {
		i.run(work)
	}
	if i.delivers {
		i.run(i.deliveries.Run)
	}
	i.stop = sync.OnceFunc(func() {
		if !i.delivers {
			n, err := db.Backlog(ctx)
			assert.NoError(t, err)
			assert.Zero(t, n, "deliveries wait: the test has to call deliver")
		}
		cancel()
		running.Wait()
		require.NoError(t, db.Close())
	})
	i.settle()
}

// deliver starts deliveries.
func (i *installation) deliver() {
	i.delivers = true
	i.run(i.deliveries.Run)
	i.settle()
}

// RoundTrip implements http.RoundTripper.
func (i *installation) RoundTrip(req *http.Request) (*http.Response, error) {
	if i.cut.Load() && !strings.HasPrefix(req.URL.Host, demo.Navidrome) {
		return nil, errors.New("network is unreachable")
	}
	if o := i.also[req.URL.Host]; o != nil {
		return o.RoundTrip(req)
	}
	return i.world.RoundTrip(req)
}

// settle waits until nothing is under way.
func (i *installation) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// connectedInBubbles are the services that people connects.
var connectedInBubbles = []string{"spotify", "lastfm", "listenbrainz", "navidrome", "youtube"}

// people creates accounts until there are n, the administrator's first, and connects all services of each. At the
// services, every second of them is Bob and the others are Alice.
func (i *installation) people(n int) {
	ctx, t := context.Background(), i.t
	for len(i.users) < n {
		role, who := accounts.Member, demo.Bob
		if len(i.users) == 0 {
			role = accounts.Admin
		}
		if len(i.users)%2 == 0 {
			who = demo.Alice
		}
		u, err := i.store.AddUser(ctx, accounts.User{Name: "Person " + string(rune('A'+len(i.users))),
			PasswordHash: "-", Role: role, CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		i.users = append(i.users, u.ID)
		now := time.Now()
		for name, token := range map[string]library.Credentials{
			"spotify": oauth.Credentials(i.world.Spotify.Authorize(who, i.registry.Get("spotify").OAuth.Scopes...)),
			"youtube": oauth.Credentials(i.world.YouTube.Authorize(who, i.registry.Get("youtube").OAuth.Scopes...)),
		} {
			_, err := i.connections.ConnectOAuth(ctx, i.registry.Get(name), u.ID,
				oauth.Grant{Credentials: token, AuthorizedAt: now})
			require.NoError(t, err)
		}
		for name, fields := range map[string]library.Credentials{
			"lastfm":       {"session_key": i.world.LastFM.Authorize(who)},
			"listenbrainz": {"token": i.world.ListenBrainz.Token(who)},
			"navidrome": {"url": i.world.Navidrome.URL, "username": who,
				"password": i.world.Navidrome.Password(who)},
		} {
			_, err := i.connections.Connect(ctx, i.registry.Get(name), library.Connection{User: u.ID,
				ID: library.ConnectionID(name), Credentials: fields})
			require.NoError(t, err)
		}
	}
	i.settle()
}

func (i *installation) open(user int64) []notify.Notification {
	i.t.Helper()
	all, err := i.store.Notifications(context.Background(), user, true)
	require.NoError(i.t, err)
	return all
}

// attempt is one line of the transport in the log.
type attempt struct {
	At                                       time.Time
	Provider, Endpoint, Status, Outcome, Key string
	User                                     int64
	Number                                   int
}

// sent reports whether the attempt reached the network.
func (a attempt) sent() bool { return a.Status != "circuit_open" }

// attempts is a slog.Handler that keeps the lines of the transport, and of the deliveries' worker.
type attempts struct {
	mu         sync.Mutex
	all        []attempt
	deliveries []map[string]any // the lines of the deliveries' worker
}

func (*attempts) Enabled(context.Context, slog.Level) bool { return true }
func (l *attempts) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *attempts) WithGroup(string) slog.Handler          { return l }

func (l *attempts) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "delivery attempt" || r.Message == "deliveries are due" {
		line := map[string]any{"msg": r.Message}
		r.Attrs(func(at slog.Attr) bool { line[at.Key] = at.Value.Any(); return true })
		l.mu.Lock()
		defer l.mu.Unlock()
		l.deliveries = append(l.deliveries, line)
		return nil
	}
	if r.Message != "upstream attempt" {
		return nil
	}
	a := attempt{At: time.Now()}
	r.Attrs(func(at slog.Attr) bool {
		switch at.Key {
		case "provider":
			a.Provider = at.Value.String()
		case "endpoint":
			a.Endpoint = at.Value.String()
		case "status":
			a.Status = at.Value.String()
		case "outcome":
			a.Outcome = at.Value.String()
		case "key":
			a.Key = at.Value.String()
		case "user_id":
			a.User = at.Value.Int64()
		case "attempt":
			a.Number = int(at.Value.Int64())
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, a)
	return nil
}

// of returns the attempts in a span of time for which want returns true, in their order.
func (l *attempts) of(from, to time.Time, want func(attempt) bool) []attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []attempt
	for _, a := range l.all {
		if !a.At.Before(from) && a.At.Before(to) && want(a) {
			found = append(found, a)
		}
	}
	return found
}

// hours prints how many attempts there were in each hour, by upstream and outcome.
func (l *attempts) hours(t *testing.T, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]*[25]int{}
	for _, a := range l.all {
		name := cmp.Or(a.Provider, "sign-in") + " " + a.Outcome
		if counts[name] == nil {
			counts[name] = new([25]int)
		}
		hour := int(a.At.Sub(began) / time.Hour)
		if hour < 0 || hour > 23 {
			continue
		}
		counts[name][hour]++
		counts[name][24]++
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out.WriteString("\n" + name + strings.Repeat(" ", max(26-len(name), 1)))
		for hour, n := range counts[name] {
			if hour == 24 {
				out.WriteString("  in all")
			}
			out.WriteString(strings.Repeat(" ", max(5-len(strconv.Itoa(n)), 1)) + strconv.Itoa(n))
		}
	}
	t.Log("attempts by the hour:" + out.String())
}
