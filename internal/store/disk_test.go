package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

const fullDisk = "The disk is full. Make room on it; nothing that was stored is lost."

func TestAFullDiskLeavesNoPartialWrites(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s, user := setup(t)
	c := connect(t, s, user, "spotify")
	save(t, s, user, "spotify", repeat(20, 5)...)
	pages := number(t, s, "PRAGMA page_count")
	_, err := s.Writer.Exec(fmt.Sprint("PRAGMA max_page_count = ", pages))
	require.NoError(t, err)

	page := repeat(1000, 5)
	for i := range page {
		page[i].SourceID, page[i].PlayedAt = fmt.Sprint("later ", i), page[i].PlayedAt.AddDate(0, 1, 0)
	}
	intake := library.Intake{User: user, Connection: "spotify", Listens: page, Position: "after"}
	for range 3 { // the disk stays full
		added, err := s.SaveListens(t.Context(), intake)
		require.Equal(t, fullDisk, problemOf(t, err))
		require.Zero(t, added)
	}
	long := make([]library.Track, 1000)
	for i := range long {
		long[i].Title = fmt.Sprint("A title that takes some room on the disk, number ", i)
	}
	err = s.SavePlaylist(t.Context(), user, "spotify", library.Playlist{SourceID: "p"}, 0, long)
	require.Equal(t, fullDisk, problemOf(t, err))

	require.Equal(t, 20, count(t, s, user))
	require.Equal(t, 20, number(t, s, "SELECT count(*) FROM listen_sources"))
	require.Zero(t, number(t, s, "SELECT count(*) FROM playlists"))
	reading, err := s.Position(t.Context(), user, "spotify", library.Listens)
	require.NoError(t, err)
	require.Empty(t, reading)
	again, err := s.Connection(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, c, again, "reads still work")

	_, err = s.Writer.Exec(fmt.Sprint("PRAGMA max_page_count = ", pages+10_000))
	require.NoError(t, err)
	added, err := s.SaveListens(t.Context(), intake)
	require.NoError(t, err)
	require.Equal(t, 1000, added)
	require.NoError(t, s.Ping(t.Context()))
}

const readOnly = "The database can't be written. Check the permissions of the data directory and its files."

func TestAReadOnlyDatabaseIsReported(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s, user := setup(t)
	connect(t, s, user, "spotify")
	_, err := s.Writer.Exec("PRAGMA query_only = 1") // the same error as for a file without write permission
	require.NoError(t, err)
	_, err = s.SaveListens(t.Context(), library.Intake{User: user, Connection: "spotify", Listens: repeat(2, 5)})
	require.Equal(t, readOnly, problemOf(t, err))
	require.Equal(t, readOnly, problemOf(t, s.Ping(t.Context())))
	require.Equal(t, readOnly, problemOf(t, s.SetPassword(t.Context(), user, "x")))
	require.Equal(t, readOnly, problemOf(t, s.SetPaused(t.Context(), user, "spotify", true)))
	_, _, err = s.Listens(t.Context(), user, "", 10)
	require.NoError(t, err)
}

func TestOpenRefusesAReadOnlyFile(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	if os.Geteuid() == 0 {
		t.Skip("to the superuser no file is read-only")
	}
	for _, folder := range []bool{false, true} {
		dir := t.TempDir()
		s := openIn(t, dir)
		addUser(t, s, "Alice", accounts.Admin)
		require.NoError(t, s.Close())
		if folder {
			require.NoError(t, os.Chmod(dir, 0o500))
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		} else {
			require.NoError(t, os.Chmod(filepath.Join(dir, db.FileName), 0o400))
		}
		_, err := Open(t.Context(), in(t, dir), testKey(t, testSecret), Options{})
		require.Equal(t, readOnly, problemOf(t, err))
	}
}
