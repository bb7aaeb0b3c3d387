//go:build reprisetest

package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"syscall"
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
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/store"
	"reprise/internal/store/db"
	syncer "reprise/internal/sync"
)

// caughtUp is a guard that never reads the target first, which is not measured here.
type caughtUp struct{ *syncer.Guard }

func (caughtUp) ReadSince(library.Connection, time.Time) error { return nil }

func (caughtUp) Leads() bool { return true }

func (caughtUp) Use(ctx context.Context, _ int64, _ library.ConnectionID) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// startBacklog returns the deliveries of a new database in which n deliveries of one listen each wait for the
// ListenBrainz at an address, divided among so many people.
func startBacklog(b *testing.B, address string, n, people int) *delivery.Deliveries {
	b.Helper()
	ctx := context.Background()
	key, err := db.NewKey("b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI=")
	require.NoError(b, err)
	db, err := store.Open(ctx, db.Place{Dir: b.TempDir()}, key, store.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	provider := providertest.New(listenbrainz.Describe(), "api_url", address)
	provider.Takes.Batch = 1
	bus, log := &events.Bus{}, slog.New(slog.DiscardHandler)
	registry := providers.NewRegistry(provider)
	guard := syncer.NewGuard(syncer.GuardOptions{
		Backoff:  backoff.New(backoff.Options{}),
		Registry: registry,
		Keys:     db,
		Client:   transport.NewClient(&transport.Transport{Base: hosts.NewBase(nil)}),
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

// bareWorker is a worker of River that does something, and nothing around it.
type bareWorker struct {
	river.WorkerDefaults[bareArgs]
	do   func() error
	done *atomic.Int64
	all  int64
	end  chan struct{}
}

type bareArgs struct {
	N int `json:"n"`
}

func (bareArgs) Kind() string { return "bare" }

func (w *bareWorker) Work(context.Context, *river.Job[bareArgs]) error {
	err := w.do()
	if w.done.Add(1) == w.all {
		close(w.end)
	}
	return err
}

// riverAlone has River work off n jobs with so many workers that do one thing: as it comes, on the connection that
// deliveries use.
func riverAlone(b *testing.B, n, at int, do func() error) spent {
	b.Helper()
	ctx := context.Background()
	key, err := db.NewKey("b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI=")
	require.NoError(b, err)
	db, err := store.Open(ctx, db.Place{Dir: b.TempDir()}, key, store.Options{})
	require.NoError(b, err)
	defer db.Close()
	workers := river.NewWorkers()
	w := &bareWorker{do: do, done: &atomic.Int64{}, all: int64(n), end: make(chan struct{})}
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
				Args:       bareArgs{i + j},
				InsertOpts: &river.InsertOpts{Queue: "listenbrainz"},
			}
		}
		_, err := client.InsertMany(ctx, jobs)
		require.NoError(b, err)
	}
	return measure("river", func() {
		require.NoError(b, client.Start(ctx))
		<-w.end
		require.NoError(b, client.Stop(ctx))
	})
}

// spent is what something took, until all is stored.
type spent struct {
	real time.Duration
	cpu  time.Duration // of all threads
}

// measure measures something. In profiles it has the tag "of", so that go tool pprof -tagfocus shows it alone.
func measure(of string, do func()) spent {
	runtime.GC() // of what was prepared
	start, before := time.Now(), processorTime()
	pprof.Do(context.Background(), pprof.Labels("of", of), func(context.Context) { do() })
	return spent{time.Since(start), processorTime() - before}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// far is a service that takes every listen at once.
type far struct {
	*httptest.Server
	end chan struct{} // closed when it has taken n
}

func startFar(n int64) far {
	var got atomic.Int64
	end := make(chan struct{})
	return far{httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"ok"}`)
		if got.Add(1) == n {
			close(end)
		}
	})), end}
}

// submission is as long as that of a delivery here.
const submission = `{"listen_type":"import","payload":[{"listened_at":1795459260,"track_metadata":{"artist_name":` +
	`"Sigur Rós","track_name":"Song 1000","additional_info":{"submission_client":"Reprise"}}}]}`

// call returns a function that sends a submission with nothing but a client of net/http that keeps its connections.
func (f far) call(at int) func() error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: at}}
	return func() error {
		answer, err := client.Post(f.URL+"/1/submit-listens", "application/json", strings.NewReader(submission))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return errors.Join(err, answer.Body.Close())
	}
}

// BenchmarkDeliver measures deliveries through worker, guard and transport to a target on loopback, for 1, 8 and 100
// connections. Each keeps its order. It compares their speed and their processor time with those of River alone and as
// many workers: some that only make the same call, and some that do nothing. The far end of a call counts for both.
func BenchmarkDeliver(b *testing.B) {
	for _, workers := range []int{1, 8, 100} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) { benchmarkDeliver(b, workers) })
	}
}

func benchmarkDeliver(b *testing.B, workers int) {
	n := min(1000*workers, 4000) // the same number for each connection
	var ours, calling, empty spent
	for b.Loop() {
		ours = deliverAll(b, n, workers)
		f := startFar(int64(n))
		calling = riverAlone(b, n, workers, f.call(workers))
		f.Close()
		empty = riverAlone(b, n, workers, func() error { return nil })
	}
	for unit, s := range map[string]spent{"delivery": ours, "call": calling, "job": empty} {
		b.ReportMetric(float64(n)/s.real.Seconds(), unit+"/s")
		b.ReportMetric(float64(s.cpu.Microseconds())/float64(n), "cpu-µs/"+unit)
	}
	b.ReportMetric(100*calling.real.Seconds()/ours.real.Seconds(), "%ofcalling")
	b.ReportMetric(100*empty.real.Seconds()/ours.real.Seconds(), "%ofempty")
	b.ReportMetric(100*calling.cpu.Seconds()/ours.cpu.Seconds(), "cpu-%ofcalling")
	b.ReportMetric(100*empty.cpu.Seconds()/ours.cpu.Seconds(), "cpu-%ofempty")
}

// deliverAll has n deliveries to so many connections made with as many workers.
func deliverAll(b *testing.B, n, connections int) spent {
	b.Helper()
	f := startFar(int64(n))
	defer f.Close()
	d := startBacklog(b, f.URL, n, connections)
	ctx, cancel := context.WithCancel(context.Background())
	return measure("deliveries", func() {
		stopped := make(chan error, 1)
		go func() { stopped <- d.Run(ctx) }()
		<-f.end
		cancel()
		require.NoError(b, <-stopped)
	})
}
