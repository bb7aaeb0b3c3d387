package sync_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/demo"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/providers/listenbrainz"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/store"
	"reprise/internal/store/db"
	syncer "reprise/internal/sync"
)

// BenchmarkIngest measures a first sync: it reads 100,000 listens from an upstream on loopback through the adapter,
// the deduplication and the store. BenchmarkBareInserts in internal/store inserts the same number of rows without
// them. "rollup-%" is the share of the time spent on the roll-up of metrics, including storing it.
func BenchmarkIngest(b *testing.B) {
	const plays = 100_000
	world, err := demo.Start(demo.Options{Plays: plays})
	require.NoError(b, err)
	defer world.Close()
	ctx := context.Background()
	key, err := db.NewKey("b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI=")
	require.NoError(b, err)
	var counting time.Duration
	for b.Loop() {
		b.StopTimer()
		db, err := store.Open(ctx, db.Place{Dir: b.TempDir()}, key, store.Options{})
		require.NoError(b, err)
		user, err := db.AddUser(ctx, accounts.User{Name: "Alice", PasswordHash: "-", Role: accounts.Admin,
			CreatedAt: time.Now()}, true)
		require.NoError(b, err)
		bus := &events.Bus{}
		rollup := metrics.NewRollup(metrics.Catalogue{}, db, slog.New(slog.DiscardHandler))
		count := func(_ context.Context, a transport.Attempt) {
			began := time.Now()
			rollup.Attempt(a)
			counting += time.Since(began) // one connection's run makes one call at a time
		}
		client := transport.NewClient(&transport.Transport{Base: hosts.NewBase(nil), Told: count})
		provider := providertest.New(listenbrainz.Describe(), "api_url", world.ListenBrainz.URL)
		provider.Streams = []string{library.Listens}
		log := slog.New(slog.DiscardHandler)
		told := alerts.New(alerts.Options{Store: db, Notifier: notify.New(db, bus, nil), Bus: bus, Log: log})
		guard := syncer.NewGuard(syncer.GuardOptions{
			Backoff:  backoff.New(backoff.Options{}),
			Client:   client,
			Tokens:   oauth.NewTokens(db, client),
			Registry: providers.NewRegistry(provider),
			Keys:     db,
			Alerts:   told,
			Log:      log,
		})
		runs := make(chan library.Run, 100) // more than there are
		run, stop := context.WithCancel(ctx)
		report := func(ctx context.Context, _ syncer.Key) (context.Context, func(library.Run)) {
			return ctx, func(r library.Run) { runs <- r }
		}
		pull := syncer.NewSyncer(syncer.Options{Began: report}, guard, db, bus)
		ended := make(chan error, 1)
		go func() { ended <- pull.Run(run) }()
		c, err := db.SaveConnection(ctx, library.Connection{
			User:        user.ID,
			ID:          "listenbrainz",
			AccountID:   demo.Alice,
			Account:     demo.Alice,
			Credentials: library.Credentials{"token": world.ListenBrainz.Token(demo.Alice), "user": demo.Alice},
			CreatedAt:   time.Now(),
		})
		require.NoError(b, err)
		b.StartTimer()
		for stored := 0; stored < plays; {
			pull.StartAnew(c) // a run reports its end shortly before it is over
			require.Equal(b, "ok", (<-runs).Result)
			stored, err = db.CountListens(ctx, user.ID)
			require.NoError(b, err)
		}
		began := time.Now()
		require.NoError(b, rollup.Flush(ctx))
		counting += time.Since(began)
		b.StopTimer()
		stop()
		require.NoError(b, <-ended)
		require.NoError(b, db.Close())
		b.StartTimer()
	}
	b.ReportMetric(100*counting.Seconds()/b.Elapsed().Seconds(), "rollup-%")
	b.ReportMetric(float64(plays)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
