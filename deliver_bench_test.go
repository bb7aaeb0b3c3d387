//go:build reprisetest

package reprise_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/providers/listenbrainz"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// caughtUp is a guard that never reads the target first, which is not measured here.
type caughtUp struct{ *syncer.Guard }

func (caughtUp) CaughtUp(library.Connection, time.Time) error { return nil }

// startBacklog returns the deliveries of a new database in which n deliveries of one listen each wait for the
// ListenBrainz at an address, divided among so many people.
func startBacklog(b *testing.B, address string, n, people int) *delivery.Deliveries {
	b.Helper()
	ctx := context.Background()
	key, err := store.NewKey("only-the-benchmarks-use-this-key")
	require.NoError(b, err)
	db, err := store.Open(ctx, store.Place{Dir: b.TempDir()}, key, store.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	provider := providertest.New(listenbrainz.Describe(), "api_url", address)
	provider.Takes.Batch = 1
	bus, log := &events.Bus{}, slog.New(slog.DiscardHandler)
	registry := providers.NewRegistry(provider)
	guard := syncer.NewGuard(syncer.GuardOptions{
		Backoff:  resilience.NewBackoff(resilience.Options{}),
		Registry: registry,
		Keys:     db,
		Client:   resilience.NewClient(&resilience.Transport{Base: resilience.NewBase(nil)}),
		Log:      log,
		Alerts:   alerts.New(alerts.Options{Store: db, Notifier: notify.New(db, bus, nil), Bus: bus, Log: log}),
	})
	d := delivery.New(delivery.Parts{Registry: registry, Guard: caughtUp{guard}, Store: db, Bus: bus, Log: log},
		delivery.Options{Workers: people})
	for p := range people {
		name := fmt.Sprintf("person%d", p)
		user, err := db.AddUser(ctx, accounts.User{Name: name, PasswordHash: "-", Role: accounts.Member,
			CreatedAt: time.Now()}, false)
		require.NoError(b, err)
		_, err = db.SaveConnection(ctx, library.Connection{
			User:        user.ID,
			ID:          "listenbrainz",
			AccountID:   name,
			Account:     name,
			Credentials: library.Credentials{"token": "x", "user_name": name},
			CreatedAt:   time.Now(),
		})
		require.NoError(b, err)
		page := make([]library.Listen, n/people)
		for i := range page {
			title := fmt.Sprintf("Song %d", i)
			page[i] = library.Listen{Track: library.Track{Title: title, Artist: "Sigur Rós"}, SourceID: title,
				PlayedAt: time.Now().Add(-time.Duration(n-i) * time.Minute)}
		}
		_, err = db.SaveListens(ctx, library.Intake{User: user.ID, Connection: "spotify", Listens: page})
		require.NoError(b, err)
		owed, err := d.Forward(ctx, user.ID, "listenbrainz", true)
		require.NoError(b, err)
		require.Equal(b, len(page), owed)
	}
	return d
}

// empty is a worker that does nothing.
type empty struct {
	river.WorkerDefaults[emptyArgs]
	done *atomic.Int64
	all  int64
	end  chan struct{}
}

type emptyArgs struct {
	N int `json:"n"`
}

func (emptyArgs) Kind() string { return "empty" }

func (w *empty) Work(context.Context, *river.Job[emptyArgs]) error {
	if w.done.Add(1) == w.all {
		close(w.end)
	}
	return nil
}

// riverAlone returns how many jobs a second River works off with so many empty workers: as it comes, on the connection
// that deliveries use.
func riverAlone(b *testing.B, n, at int) float64 {
	b.Helper()
	ctx := context.Background()
	key, err := store.NewKey("only-the-benchmarks-use-this-key")
	require.NoError(b, err)
	db, err := store.Open(ctx, store.Place{Dir: b.TempDir()}, key, store.Options{})
	require.NoError(b, err)
	defer db.Close()
	workers := river.NewWorkers()
	w := &empty{done: &atomic.Int64{}, all: int64(n), end: make(chan struct{})}
	river.AddWorker(workers, w)
	client, err := db.Queue().Bare(river.Config{
		Workers:           workers,
		Queues:            map[string]river.QueueConfig{"listenbrainz": {MaxWorkers: at}},
		FetchPollInterval: time.Second,
		FetchCooldown:     river.FetchCooldownMin,
	})
	require.NoError(b, err)
	for i := 0; i < n; i += 500 {
		jobs := make([]river.InsertManyParams, min(500, n-i))
		for j := range jobs {
			jobs[j] = river.InsertManyParams{
				Args:       emptyArgs{i + j},
				InsertOpts: &river.InsertOpts{Queue: "listenbrainz"},
			}
		}
		_, err := client.InsertMany(ctx, jobs)
		require.NoError(b, err)
	}
	start := time.Now()
	require.NoError(b, client.Start(ctx))
	<-w.end
	took := time.Since(start)
	require.NoError(b, client.Stop(ctx))
	return float64(n) / took.Seconds()
}

// BenchmarkDeliver measures deliveries per second through worker, guard and transport to a target on loopback, for 1, 8
// and 100 connections. Each keeps its order. It compares them with River alone and as many workers that do nothing.
func BenchmarkDeliver(b *testing.B) {
	for _, workers := range []int{1, 8, 100} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) { benchmarkDeliver(b, workers) })
	}
}

func benchmarkDeliver(b *testing.B, workers int) {
	const n = 2000 // of which each connection has the same number
	var ours, alone float64
	for b.Loop() {
		b.StopTimer()
		var got atomic.Int64
		end := make(chan struct{})
		target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"ok"}`)
			if got.Add(1) == n {
				close(end)
			}
		}))
		d := startBacklog(b, target.URL, n, workers)
		ctx, cancel := context.WithCancel(context.Background())
		stopped := make(chan error, 1)
		b.StartTimer()
		start := time.Now()
		go func() { stopped <- d.Run(ctx) }()
		<-end
		ours = n / time.Since(start).Seconds()
		b.StopTimer()
		cancel()
		require.NoError(b, <-stopped)
		target.Close()
		alone = riverAlone(b, n, workers)
		b.StartTimer()
	}
	b.ReportMetric(ours, "deliveries/s")
	b.ReportMetric(alone, "river/s")
	b.ReportMetric(100*ours/alone, "%ofriver")
}
