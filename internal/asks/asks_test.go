package asks_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/asks"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/store"
	"reprise/internal/storetest"
)

// bench is a household with two administrators and two members, in which Spotify is not set up.
type bench struct {
	*asks.Asks
	t                  *testing.T
	db                 *store.Store
	registry           *providers.Registry
	app                atomic.Value // the backoff.State of Spotify
	ann, ben, cat, dan int64
}

// inHousehold runs test in a household, in a synctest bubble.
func inHousehold(t *testing.T, test func(*bench)) {
	t.Parallel()
	db := storetest.Open(t, t.TempDir())
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, db: db, registry: providers.NewRegistry(providertest.New(registry.Describe("spotify")))}
		b.app.Store(backoff.State{})
		for name, to := range map[string]*int64{"Ann": &b.ann, "Ben": &b.ben, "Cat": &b.cat, "Dan": &b.dan} {
			role := accounts.Member
			if name < "C" {
				role = accounts.Admin
			}
			u, err := db.AddUser(t.Context(), accounts.User{Name: name, PasswordHash: "-", Role: role}, false)
			require.NoError(t, err)
			*to = u.ID
		}
		b.Asks = asks.New(asks.Options{Store: db, Notifier: notify.New(db, &events.Bus{}, nil), Registry: b.registry,
			AppState: func(*providers.Provider) backoff.State { return b.app.Load().(backoff.State) },
			Log:      slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		synctest.Wait()
		test(b)
		stop()
		require.NoError(t, <-ended)
	})
}

// ask asks for Spotify.
func (b *bench) ask(user int64) asks.Ask {
	b.t.Helper()
	a, err := b.Ask(b.t.Context(), user, b.registry.Get("spotify"))
	require.NoError(b.t, err)
	return a
}

// open returns the open notifications of a person.
func (b *bench) open(user int64) []notify.Notification {
	b.t.Helper()
	all, err := b.db.Notifications(b.t.Context(), user, true)
	require.NoError(b.t, err)
	return all
}

// setUp gives Spotify a client id.
func (b *bench) setUp() {
	b.registry.Replace(providertest.New(registry.Describe("spotify"), "client_id", "0123456789"))
	time.Sleep(time.Second)
	synctest.Wait()
}

func TestAdministratorsReadOnceWhatIsAskedFor(t *testing.T) {
	inHousehold(t, func(b *bench) {
		first := b.ask(b.cat)
		require.Equal(b.t, asks.Setup, first.Need)
		time.Sleep(time.Minute)
		require.Equal(b.t, first.AskedAt.UnixMilli(), b.ask(b.cat).AskedAt.UnixMilli(), "pressed again")
		b.ask(b.dan)
		for _, admin := range []int64{b.ann, b.ben} {
			all := b.open(admin)
			require.Len(b.t, all, 1, "one for the thing, whoever asks")
			require.Equal(b.t, "/setup/spotify", all[0].Action.URL)
			require.Equal(b.t, notify.Warning, all[0].Severity)
		}
		require.Empty(b.t, b.open(b.cat))

		b.setUp()
		require.Empty(b.t, b.open(b.ann), "it is done")
		for _, member := range []int64{b.cat, b.dan} {
			all := b.open(member)
			require.Len(b.t, all, 1)
			require.Equal(b.t, "/connect/spotify", all[0].Action.URL)
			mine, err := b.Of(b.t.Context(), member)
			require.NoError(b.t, err)
			require.Empty(b.t, mine)
		}
		require.NoError(b.t, b.Used(b.t.Context(), b.cat, "spotify"))
		require.Empty(b.t, b.open(b.cat), "connected")
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		require.Empty(b.t, b.open(b.dan), "old news")
	})
}

func TestAnAskGoesOnUntilTheServiceWorks(t *testing.T) {
	inHousehold(t, func(b *bench) {
		b.ask(b.cat)
		b.app.Store(backoff.State{Kind: backoff.Stopped, Category: resilience.Config, Scope: resilience.ScopeApp})
		b.setUp() // with a wrong client id
		require.Len(b.t, b.open(b.ann), 1, "the next thing to do, not both")
		require.Empty(b.t, b.open(b.cat))
		mine, err := b.Of(b.t.Context(), b.cat)
		require.NoError(b.t, err)
		require.Equal(b.t, asks.App, mine["spotify"].Need)
		b.app.Store(backoff.State{})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Empty(b.t, b.open(b.ann))
		require.Len(b.t, b.open(b.cat), 1)
	})
}

func TestThereIsNothingToAskForWhatWorks(t *testing.T) {
	inHousehold(t, func(b *bench) {
		b.setUp()
		for _, state := range []backoff.State{{},
			{Kind: backoff.Waiting, Until: time.Now().Add(time.Hour)},
			{Kind: backoff.Held, Category: resilience.RateLimit, Until: time.Now().Add(time.Hour)}} {
			b.app.Store(state)
			_, err := b.Ask(b.t.Context(), b.cat, b.registry.Get("spotify"))
			require.ErrorIs(b.t, err, asks.ErrNothing)
		}
		b.app.Store(backoff.State{Kind: backoff.Held, Category: resilience.Quota,
			Until: time.Now().Add(time.Hour)})
		require.Equal(b.t, asks.App, b.ask(b.cat).Need)
	})
}
