package imports_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/demo"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

// BenchmarkImport imports a Spotify export of 500,000 plays into an empty database, twice. It reports the speed of
// both imports and the largest heap. The second import must add nothing.
func BenchmarkImport(b *testing.B) {
	const plays = 500_000
	ctx := context.Background()
	path := filepath.Join(b.TempDir(), "export.zip")
	f, err := os.Create(path)
	require.NoError(b, err)
	require.NoError(b, demo.WriteSpotifyExport(f, 1, plays, time.Now().Add(-time.Hour)))
	require.NoError(b, f.Close())
	key, err := db.NewKey("b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI=")
	require.NoError(b, err)
	var first, again time.Duration
	heap := uint64(0)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		db, err := store.Open(ctx, db.Place{Dir: dir}, key, store.Options{})
		require.NoError(b, err)
		user, err := db.AddUser(ctx, accounts.User{Name: "Alice", PasswordHash: "-", Role: accounts.Admin,
			CreatedAt: time.Now()}, true)
		require.NoError(b, err)
		r := imports.New(imports.Config{
			Files: imports.Folder{Path: filepath.Join(dir, "imports")},
			Store: db,
			Bus:   &events.Bus{},
			Log:   slog.New(slog.DiscardHandler),
		})
		run, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- r.Run(run) }()
		b.StartTimer()
		for i := range 2 {
			began := time.Now()
			v := importFile(b, r, db, user.ID, path, &heap)
			require.Equal(b, []int{plays, 0}[i], v.Added)
			require.Equal(b, []int{0, plays}[i], v.Known)
			*[]*time.Duration{&first, &again}[i] += time.Since(began)
		}
		b.StopTimer()
		stop()
		require.NoError(b, <-ended)
		require.NoError(b, db.Close())
		b.StartTimer()
	}
	b.ReportMetric(float64(plays)*float64(b.N)/first.Seconds(), "rows/s")
	b.ReportMetric(float64(plays)*float64(b.N)/again.Seconds(), "rows-again/s")
	b.ReportMetric(float64(heap)/(1<<20), "MiB-heap")
}

// importFile imports a file and returns the finished import. It raises heap to the largest size seen meanwhile.
func importFile(
	b *testing.B, r *imports.Runner, db *store.Store, user int64, path string, heap *uint64,
) imports.Import {
	b.Helper()
	f, err := os.Open(path)
	require.NoError(b, err)
	defer f.Close()
	_, err = r.Receive(b.Context(), user, sent("spotify", "export.zip", io.Reader(f)))
	require.NoError(b, err)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		metrics.Read(sample)
		*heap = max(*heap, sample[0].Value.Uint64())
		open, err := db.OpenImports(b.Context())
		require.NoError(b, err)
		if len(open) == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	all, err := db.Imports(b.Context(), user)
	require.NoError(b, err)
	return all[0]
}
