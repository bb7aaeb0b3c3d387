package imports_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/demo"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/store"
	"reprise/internal/storetest"
	"reprise/internal/words"
)

// bench is a runner over a real database with one person.
type bench struct {
	t    *testing.T
	dir  string
	db   *store.Store
	told *notify.Notifier
	bus  *events.Bus
	user int64
	*imports.Runner
}

func setup(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	db := storetest.Open(t, dir)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	u, err := db.AddUser(t.Context(),
		accounts.User{Name: "Ann", PasswordHash: "-", Role: accounts.Admin, CreatedAt: time.Now()}, false)
	require.NoError(t, err)
	b := &bench{t: t, dir: filepath.Join(dir, "imports"), db: db, bus: &events.Bus{}, user: u.ID}
	b.told = notify.New(db, b.bus, nil)
	b.Runner = b.runner(db)
	return b
}

func (b *bench) runner(s imports.Store) *imports.Runner {
	return imports.New(b.config(s))
}

func (b *bench) config(s imports.Store) imports.Config {
	return imports.Config{Files: imports.Folder{Path: b.dir}, Store: s, Bus: b.bus, Notifier: b.told,
		Log: slog.New(slog.DiscardHandler)}
}

// files returns the names of the files that are kept.
func (b *bench) files() (names []string) {
	b.t.Helper()
	all, err := os.ReadDir(b.dir)
	require.NoError(b.t, err)
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

// finish runs r until no import is open, and returns the newest one.
func (b *bench) finish(r *imports.Runner) imports.Import {
	b.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	watch := b.bus.Subscribe(b.user)
	defer watch.Close()
	for deadline := time.After(5 * time.Minute); ; {
		open, err := b.db.OpenImports(ctx)
		require.NoError(b.t, err)
		if len(open) == 0 && len(b.files()) == 0 {
			break
		}
		select {
		case <-watch.C:
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			require.FailNow(b.t, "the import does not end")
		}
	}
	stop()
	running.Wait()
	all, err := b.db.Imports(b.t.Context(), b.user)
	require.NoError(b.t, err)
	return all[0]
}

func (b *bench) count() int {
	b.t.Helper()
	n, err := b.db.CountListens(b.t.Context(), b.user)
	require.NoError(b.t, err)
	return n
}

func export(t testing.TB, plays int) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, demo.WriteSpotifyExport(&out, 1, plays, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)))
	return out.Bytes()
}

func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		require.NoError(t, err)
		_, err = io.WriteString(f, files[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestTheSameFileTwiceAddsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := export(t, 5000)
	v, err := b.Receive(t.Context(), b.user, sent("spotify", `C:\Downloads\my_spotify_data.zip`, bytes.NewReader(file)))
	require.NoError(t, err)
	require.Equal(t, "my_spotify_data.zip", v.Name)
	require.Len(t, b.files(), 1)
	v = b.finish(b.Runner)
	require.Equal(t, imports.Done, v.State)
	require.Equal(t, []int{5100, 5000, 0, 100, 0}, []int{v.Rows, v.Added, v.Known, v.Skipped, v.Bad}, v.Problems)
	require.Equal(t, v.BytesAll, v.BytesDone)
	require.Equal(t, 5000, b.count())

	_, err = b.Receive(t.Context(), b.user, sent("spotify", "again.zip", bytes.NewReader(file)))
	require.NoError(t, err)
	v = b.finish(b.Runner)
	require.Equal(t, []int{5100, 0, 5000, 100}, []int{v.Rows, v.Added, v.Known, v.Skipped})
	require.Equal(t, 5000, b.count())
	require.Empty(t, b.files())
}

// killed stores that many pages, and then behaves as if the process had ended.
type killed struct {
	*store.Store
	pages int
	stop  context.CancelFunc
}

func (k *killed) SaveImported(ctx context.Context, v imports.Import, plays []library.Listen) (imports.Import, error) {
	if k.pages--; k.pages < 0 {
		k.stop()
		return v, context.Canceled
	}
	return k.Store.SaveImported(ctx, v, plays)
}

func TestAnImportGoesOnWhereTheProcessEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(export(t, 8000))))
	require.NoError(t, err)
	for _, pages := range []int{0, 1, 2, 1} {
		ctx, stop := context.WithCancel(t.Context())
		require.NoError(t, b.runner(&killed{b.db, pages, stop}).Run(ctx))
		require.Len(t, b.files(), 1, "the file is kept until it has been read")
	}
	all, err := b.db.Imports(t.Context(), b.user)
	require.NoError(t, err)
	require.Greater(t, all[0].Added, 2000)
	require.Less(t, all[0].Added, 5000)
	require.Equal(t, imports.Running, all[0].State)
	v := b.finish(b.runner(b.db))
	require.Equal(t, []int{8160, 8000, 0, 160, 0}, []int{v.Rows, v.Added, v.Known, v.Skipped, v.Bad},
		"nothing is counted twice")
	require.Equal(t, 8000, b.count())
}

func TestARefusalSaysWhichFileToChoose(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := `[{"ts":"2024-03-05T18:04:30Z","ms_played":270000,` +
		`"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"}]`
	for _, c := range []struct {
		provider library.ConnectionID
		file     []byte
		why      string
	}{
		{"spotify", []byte("%PDF-1.7"), "a different kind of file"},
		{"spotify", nil, "a different kind of file"},
		{"spotify", []byte("[]"), "This file can't be imported. Choose"},
		{"spotify", zipped(t, "Playlist1.json", "[]"), "There are no listens in this archive"},
		{"spotify", zipped(t, "Streaming_History_Audio_1.json", good)[:200], "damaged"},
		{"listenbrainz", []byte(`{"a":1}`), "is in file, row 1: no time."},
		{"lastfm", []byte("Artist,Album,Track,Date\nA,B,T,yesterday\n"),
			"is in file, row 2: “yesterday” isn't a time that Reprise can read; 2026-11-28 20:15:00 would be one."},
		{"listenbrainz", zipped(t, "user.json", `{"user_id":1}`), "There are no listens in this archive"},
		{"navidrome", []byte(good), "Choose the service"},
	} {
		_, err := b.Receive(t.Context(), b.user, sent(c.provider, "file", bytes.NewReader(c.file)))
		refused, ok := errors.AsType[*imports.RefusedError](err)
		require.True(t, ok, "%v", err)
		require.Contains(t, refused.Error(), c.why)
		require.Contains(t, refused.Error(), "Choose")
	}
	require.Empty(t, b.files(), "nothing is left of them")
	open, err := b.db.OpenImports(t.Context())
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestBadRowsAreCountedAndSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	row := func(ts string) string {
		return `{"ts":"` + ts + `","ms_played":270000,` +
			`"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"}`
	}
	first := "[" + row("2024-03-05T18:04:30Z") + "," + row("soon") + "," + row("2024-03-05T18:14:30Z") + ","
	file := zipped(t,
		"x/Streaming_History_Audio_1.json", first,
		"__MACOSX/Streaming_History_Audio_1.json", "junk",
		"x/Streaming_History_Audio_2.json", "["+row("2024-03-06T18:04:30Z")+"]",
	)
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(file)))
	require.NoError(t, err)
	v := b.finish(b.Runner)
	require.Equal(t, imports.Failed, v.State, "a part is missing")
	require.Equal(t, "In this archive, Streaming_History_Audio_1.json can only be read up to row 3: it ends in the "+
		"middle of a row. Reprise keeps what comes before, and the other files. For the rest, export it again and "+
		"import the new archive; nothing is added twice.", v.Reason.String())
	require.Equal(t, []int{4, 3, 2}, []int{v.Rows, v.Added, v.Bad})
	why := v.BadRows()
	require.Len(t, why, 2)
	require.Equal(t, "Streaming_History_Audio_1.json, row 2: “soon” isn't a time that Reprise can read; "+
		"2026-11-28T20:15:00Z would be one", why[0].String())
	require.Equal(t, "Streaming_History_Audio_1.json, after row 3: it ends in the middle of a row",
		why[1].String())
	require.Equal(t, "Streaming_History_Audio_1.json, Zeile 2: „soon“ ist keine Zeit, die Reprise lesen kann; "+
		"2026-11-28T20:15:00Z wäre eine",
		why[0].In(words.German), "in the language of the reader")
}

func TestAnImportCanBeCanceled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(export(t, 4000))))
	require.NoError(t, err)
	require.ErrorIs(t, b.Cancel(t.Context(), b.user+1, v.ID), library.ErrNotFound, "not somebody else's")
	ctx, stop := context.WithCancel(t.Context())
	k := &killed{b.db, 2, func() { require.NoError(t, b.Cancel(t.Context(), b.user, v.ID)); stop() }}
	require.NoError(t, b.runner(k).Run(ctx))
	v = b.finish(b.runner(b.db))
	require.Equal(t, imports.Canceled, v.State)
	require.Equal(t, 2000, v.Added)
	require.Equal(t, 2000, b.count(), "what it has brought stays")
	require.NoError(t, b.Cancel(t.Context(), b.user, v.ID))
	all, err := b.db.Imports(t.Context(), b.user)
	require.NoError(t, err)
	require.Empty(t, all, "canceling once more forgets it")
}

func TestFilesWaitForTheirTurnAndNotTooMany(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := export(t, 10)
	for range 3 {
		_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(file)))
		require.NoError(t, err)
	}
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(file)))
	require.ErrorIs(t, err, imports.ErrBusy)
	require.Len(t, b.files(), 3)
	b.finish(b.Runner)
	require.Equal(t, 10, b.count())
}

func TestLeftoversOfAnEarlierProcessAreRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, os.MkdirAll(b.dir, 0o700))
	left := filepath.Join(b.dir, "half-sent")
	require.NoError(t, os.WriteFile(left, []byte("x"), 0o600))
	require.NoError(t, os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour)))
	v, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(export(t, 10))))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(b.dir, v.File)))
	v = b.finish(b.Runner)
	require.Equal(t, imports.Failed, v.State)
	require.Contains(t, v.Reason.String(), "no longer where Reprise keeps it")
	require.Contains(t, v.Reason.In(words.German), "hat die Datei nicht mehr")
}

func TestProgressIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	watch := b.bus.Subscribe(b.user)
	defer watch.Close()
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(export(t, 3000))))
	require.NoError(t, err)
	b.finish(b.Runner)
	seen, last := map[events.Type]int{}, events.Event{}
	for len(watch.C) > 0 {
		e := <-watch.C
		seen[e.Type]++
		require.EqualValues(t, "spotify", e.Connection)
		if e.Type == events.Progress {
			last = e
			last.Serial = 0 // which the bus has given it
		}
	}
	require.Equal(t,
		events.Event{Type: events.Progress, Connection: "spotify", Stream: imports.Stream, Done: 3060,
			Total: 3060}, last)
	require.Equal(t, 3, seen[events.Imports], "received, started, ended")
	require.Equal(t, 3, seen[events.Listens])
}

// An archive of fifty thousand plays has some thirty megabytes unpacked. Reading it takes a few.
func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	plays := 50_000
	if raceEnabled { // which takes more memory and time
		plays = 2000
	}
	b := setup(t)
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(export(t, plays))))
	require.NoError(t, err)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	most, stop, sampled := uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
		}
	}()
	v := b.finish(b.Runner)
	close(stop)
	<-sampled
	require.Equal(t, plays, v.Added)
	grown := (float64(most) - float64(before.HeapAlloc)) / (1 << 20)
	t.Logf("the heap grew by %.1f MiB at the most", grown)
	require.Less(t, grown, 48.0)
}

func TestAnArchiveThatUnpacksTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range 5 {
		f, err := w.CreateRaw(&zip.FileHeader{
			Name:               fmt.Sprintf("Streaming_History_Audio_%d.json", i),
			Method:             zip.Deflate,
			CompressedSize64:   1,
			UncompressedSize64: 2 << 30,
		})
		require.NoError(t, err)
		_, err = f.Write([]byte("x"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "bomb.zip", &out))
	require.ErrorContains(t, err, "larger than any export")

	var many bytes.Buffer
	w = zip.NewWriter(&many)
	for i := range 21_000 {
		_, err := w.Create(fmt.Sprintf("%0300d.json", i))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	_, err = b.Receive(t.Context(), b.user, sent("lastfm", "many.zip", &many))
	require.ErrorContains(t, err, "far more than an export")

	one := zipped(t, "Streaming_History_Audio_1.json", "["+strings.Repeat(" ", 20<<20))
	_, err = b.Receive(t.Context(), b.user, sent("spotify", "spaces.zip", bytes.NewReader(one)))
	require.Error(t, err)
}

// sent is a file of a service.
func sent(conn library.ConnectionID, name string, body io.Reader) imports.Sent {
	return imports.Sent{Connection: conn, Name: name, Body: body}
}
