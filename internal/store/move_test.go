package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
)

// before returns the migrations up to a step.
func before(t testing.TB, step int) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	for _, name := range stepFiles(t) {
		var number int
		_, err := fmt.Sscanf(filepath.Base(name), "%d_", &number)
		require.NoError(t, err)
		if number <= step {
			b, err := fs.ReadFile(migrations, name)
			require.NoError(t, err)
			all[filepath.Base(name)] = &fstest.MapFile{Data: b}
		}
	}
	return all
}

// oldHousehold makes a database in a directory as it was before the library's rows: with n plays of 30,000 tracks.
// Every fifth was told by two connections.
func oldHousehold(t testing.TB, dir string, n int) {
	t.Helper()
	s, err := openWith(context.Background(), in(t, dir), testKey(t, testSecret), Options{}, before(t, moveStep-1))
	require.NoError(t, err)
	user := addUser(t, s, "Alice", accounts.Admin)
	for from := 0; from < n; from += 10_000 {
		var listens, sources []any
		for i := from; i < min(from+10_000, n); i++ {
			l, p := movedPlay(i), movedPlay(i).PlayedAt.UnixMilli()
			listens = append(listens, i+1, user, matchKey(l.Title, l.Artist), l.Title, l.Artist, l.Album, p,
				l.Duration.Milliseconds(), l.ISRC, "", 0)
			sources = append(sources, user, "spotify", l.SourceID, i+1, p, 0)
			if i%5 == 0 {
				sources = append(sources, user, "listenbrainz", fmt.Sprint(p/1000, ":", i), i+1, p+1, 7)
			}
		}
		require.NoError(t, s.write(context.Background(), func(tx *sql.Tx) error {
			err := insertRows(context.Background(), tx, `INSERT INTO listens (id, user_id, match_key, title, artist,
				album, played_at, duration_ms, isrc, recording_mbid, approximate)`, 11, listens, "")
			if err != nil {
				return err
			}
			return insertRows(context.Background(), tx, `INSERT INTO listen_sources
				(user_id, connection, source_id, listen_id, played_at, stored_at)`, 6, sources, "")
		}))
	}
	require.NoError(t, s.exec(context.Background(), "INSERT INTO sequences (name, last) VALUES ('listens', $1)", n))
	require.NoError(t, s.Close())
}

// movedPlay returns the play number i of oldHousehold.
func movedPlay(i int) library.Listen {
	u := int(uint32(i)*2_654_435_761>>8) % 30_000
	n := (u + u*u/30_000) / 2 // some are more frequent
	return library.Listen{SourceID: fmt.Sprintf("%d-%d", 1_400_000_000+i*210, n),
		PlayedAt: time.UnixMilli(1_400_000_000_000 + int64(i)*210_000).UTC(),
		Track: library.Track{Title: fmt.Sprintf("The Title of Track %d", n), Artist: fmt.Sprintf("Artist %d", n%2000),
			Album: fmt.Sprintf("The Album %d", n%4000), Duration: 200 * time.Second,
			ISRC: fmt.Sprintf("GBAYE%07d", n)}}
}

// requireMoved requires that the listens of oldHousehold are there, and that none comes twice.
func requireMoved(t testing.TB, s *Store, n int) {
	t.Helper()
	u, err := s.UserByName(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, n, count(t, s, u.ID))
	i := n
	for next, first := "", true; first || next != ""; first = false {
		var page []library.StoredListen
		page, next, err = s.Listens(t.Context(), u.ID, next, 1000)
		require.NoError(t, err)
		for _, l := range page {
			i--
			want := movedPlay(i)
			require.Equal(t, want, withSource(l.Listen, want.SourceID))
			sources := []library.Source{{Connection: "spotify", SourceID: want.SourceID}}
			if i%5 == 0 {
				sources = append([]library.Source{{Connection: "listenbrainz",
					SourceID: fmt.Sprint(want.PlayedAt.Unix(), ":", i), Later: time.Millisecond}}, sources...)
			}
			require.Equal(t, sources, l.Sources)
		}
	}
	require.Zero(t, i)
	require.Zero(t, save(t, s, u.ID, "spotify", movedPlay(n/2), movedPlay(n-1)), "they are known")
	require.Equal(t, 1, save(t, s, u.ID, "spotify", movedPlay(n+10)))
}

const killedMove = "REPRISE_TEST_KILLED_MOVE"

// The process is killed again and again while it moves listens. The last start ends the move.
func TestAKilledMoveGoesOn(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	const n = 3*moveAtOnce + 11
	if dir := os.Getenv(killedMove); dir != "" { // this is the process that is killed
		_, err := Open(t.Context(), in(t, dir), testKey(t, testSecret), Options{
			Moving: func(int64, int64, time.Duration) { os.Exit(9) }})
		require.NoError(t, err)
		return
	}
	dir := t.TempDir()
	oldHousehold(t, dir, n)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledMoveGoesOn$")
		cmd.Env = append(os.Environ(), killedMove+"="+dir)
		require.Error(t, cmd.Run())
	}
	var told []string
	s, err := Open(t.Context(), in(t, dir), testKey(t, testSecret), Options{
		Moving: func(done, all int64, _ time.Duration) { told = append(told, fmt.Sprint(done, " of ", all)) }})
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprint(3*moveAtOnce, " of ", n), fmt.Sprint(n, " of ", n)}, told)
	requireMoved(t, s, n)
	require.NoError(t, s.Close())
	require.Equal(t, map[string]bool{FileName: true, FileName + "." + strconv.Itoa(moveStep-1) + ".bak": true},
		names(t, dir), "one copy, from before the move")
}

func TestAnUpgradeMovesListensOnBothEngines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	oldHousehold(t, dir, moveAtOnce+3)
	s := openIn(t, dir)
	requireMoved(t, s, moveAtOnce+3)
}

// BenchmarkMove upgrades a database with 500,000 listens of 30,000 tracks.
func BenchmarkMove(b *testing.B) {
	const n = 500_000
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		oldHousehold(b, dir, n)
		b.StartTimer()
		s, err := Open(b.Context(), in(b, dir), testKey(b, testSecret), Options{})
		require.NoError(b, err)
		b.StopTimer()
		require.Equal(b, n, count(b, s, 1))
		require.NoError(b, s.Close())
		info, err := os.Stat(filepath.Join(dir, FileName))
		if err == nil {
			b.ReportMetric(float64(info.Size())/n, "bytes/listen")
		}
		b.StartTimer()
	}
}
