package store

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

// restored opens a copy as the database of a new data directory.
func restored(t testing.TB, copied string) *Store {
	t.Helper()
	dir := t.TempDir()
	b, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, db.FileName), b, 0o600))
	return openIn(t, dir)
}

func TestABackupDuringWritesIsConsistent(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir, out := t.TempDir(), t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", accounts.Admin)
	connect(t, s, user, "spotify")
	var writer sync.WaitGroup
	enough, begun := make(chan struct{}), make(chan struct{})
	pages := 0
	writer.Go(func() {
		for ; ; pages++ {
			select {
			case <-enough:
				return
			default:
			}
			page := repeat(100, 5)
			for i := range page {
				page[i].SourceID, page[i].PlayedAt = fmt.Sprint(pages, ".", i), page[i].PlayedAt.AddDate(0, 0, pages)
			}
			if _, err := s.SaveListens(t.Context(), library.Intake{User: user, Connection: "spotify", Listens: page,
				Position: fmt.Sprint(pages)}); err != nil {
				t.Error(err)
				return
			}
			if pages == 3 {
				close(begun)
			}
		}
	})
	<-begun
	all := map[string]db.Copied{}
	for i := range 3 {
		file := filepath.Join(out, fmt.Sprint("copy ", i, ".db"))
		copied, err := db.Backup(t.Context(), in(t, dir), file, s.Key)
		require.NoError(t, err)
		all[file] = copied
	}
	close(enough)
	writer.Wait()
	require.Equal(t, pages*100, count(t, s, user), "all writes succeeded")
	for file, copied := range all {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.Equal(t, info.Size(), copied.Bytes)
		require.GreaterOrEqual(t, copied.Listens, int64(400))
		require.Zero(t, copied.Listens%100, "a page is stored completely or not at all")

		r := restored(t, file)
		require.Equal(t, int(copied.Listens), count(t, r, user))
		reading, err := r.Position(t.Context(), user, "spotify", library.Listens)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(copied.Listens/100-1), reading, "listens and position are from one moment")
		c, err := r.Connection(t.Context(), user, "spotify")
		require.NoError(t, err)
		require.Equal(t, "credential-of-spotify", c.Credentials["token"])
	}
	files, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, files, 3, "no .part files are left")
}

func TestABackupWaitsForNoWriter(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := t.TempDir()
	s := openIn(t, dir)
	addUser(t, s, "Alice", accounts.Admin)
	tx, err := s.Writer.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("UPDATE users SET name = 'half done'")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "copy.db")
	_, err = db.Backup(t.Context(), in(t, dir), file, s.Key)
	require.NoError(t, err)
	u, err := restored(t, file).UserByName(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, "Alice", u.Name)
}

func TestAFailedBackupLeavesNoFiles(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir, out := t.TempDir(), t.TempDir()
	s := openIn(t, dir)
	addUser(t, s, "Alice", accounts.Admin)
	taken := filepath.Join(out, "taken")
	require.NoError(t, os.WriteFile(taken, []byte("precious"), 0o600))
	half := filepath.Join(out, "half"+db.PartOf(s.Key))
	require.NoError(t, os.WriteFile(half, []byte("of a backup that was killed"), 0o600))
	for file, want := range map[string]string{
		taken:                             "exists already, and nothing was written over it",
		out:                               "is a folder",
		filepath.Join(out, "no", "where"): "the copy cannot be written",
	} {
		_, err := db.Backup(t.Context(), in(t, dir), file, s.Key)
		require.ErrorContains(t, err, want)
	}
	_, err := db.Backup(t.Context(), in(t, dir), filepath.Join(out, "foreign"), testKey(t, "another-key-of-the-tests"))
	require.ErrorIs(t, err, db.ErrWrongKey)
	_, err = db.Backup(t.Context(), in(t, t.TempDir()), filepath.Join(out, "nothing"), s.Key)
	require.Error(t, err, "there is no database")
	_, err = db.Backup(t.Context(), in(t, dir), filepath.Join(out, "half"), s.Key)
	require.NoError(t, err)
	require.Equal(t, "precious", snapshot(t, out)["taken"])
	names := []string{}
	for name := range snapshot(t, out) {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"taken", "half"}, names)
}

func TestLookAtChangesNothing(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", accounts.Admin)
	save(t, s, user, "spotify", repeat(20, 5)...)

	killed := t.TempDir() // the files that a killed process leaves
	for _, name := range []string{db.FileName, db.FileName + "-wal"} {
		require.NoError(t, db.Duplicate(filepath.Join(dir, name), filepath.Join(killed, name)))
	}
	look := func(dir string, live bool, key *db.Key) db.Look {
		l, err := db.LookAt(t.Context(), in(t, dir), live, key)
		require.NoError(t, err)
		return l
	}
	unchanged := func(dir string, want db.Look, key *db.Key) {
		before := snapshot(t, dir)
		require.Equal(t, want, look(dir, false, key))
		require.Equal(t, before, snapshot(t, dir), "byte for byte")
	}
	step := int64(newest(t))
	whole := db.Look{Sound: true, Step: step, Newest: step, Oldest: step, Opens: true, Listens: 20,
		Settings: map[string]string{}}
	require.Equal(t, whole, look(dir, true, s.Key), "while a server writes to it")
	unchanged(killed, whole, s.Key)
	require.NoError(t, s.Close())
	unchanged(dir, whole, s.Key)
	whole.Opens = false
	unchanged(dir, whole, testKey(t, "another-key-of-the-tests"))
	unchanged(killed, whole, nil)

	require.NoError(t, os.WriteFile(filepath.Join(dir, db.FileName),
		[]byte("this is no database at all, whatever its name says"), 0o600))
	unchanged(dir, db.Look{}, s.Key)
	_, err := db.LookAt(t.Context(), in(t, t.TempDir()), false, s.Key)
	require.Error(t, err)
}

func TestOpenBesideRefusesAnotherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", accounts.Admin)
	beside, err := OpenBeside(t.Context(), in(t, dir))
	require.NoError(t, err)
	require.NoError(t, beside.SetPassword(t.Context(), user, "a new hash"))
	require.NoError(t, beside.Close())
	u, err := s.UserByID(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, "a new hash", u.PasswordHash)

	require.NoError(t, s.Exec(t.Context(),
		"INSERT INTO schema_version (version_id, is_applied, tstamp) VALUES (9999, 1 = 1, '2026-11-20')"))
	_, err = OpenBeside(t.Context(), in(t, dir))
	require.ErrorContains(t, err, "is of another version of Reprise than this program (step 9999")
}

// A copy that somebody puts in place by hand is one, too; the database that it was made of goes on.
func TestACopyThatIsOpenedEndsSessionsAndLinks(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", accounts.Admin)
	require.NoError(t, s.Sessions().Commit("a session", []byte("data"), time.Now().Add(time.Hour)))
	for kind, of := range map[string]int64{accounts.Invitation: 0, accounts.Reset: user} {
		_, err := s.AddLink(t.Context(), accounts.Link{Kind: kind, Hash: kind, User: of, MadeBy: user,
			CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}, 9)
		require.NoError(t, err)
	}
	file := filepath.Join(t.TempDir(), "copy")
	_, err := db.Backup(t.Context(), db.Place{Dir: dir}, file, s.Key)
	require.NoError(t, err)
	begun := time.Now().Truncate(time.Millisecond)
	back := restored(t, file)
	const all = "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM links)"
	require.Zero(t, number(t, back, all))
	require.False(t, back.RestoredAt().Before(begun))
	require.Equal(t, 3, number(t, s, all))
	require.Zero(t, s.RestoredAt())

	require.NoError(t, back.Sessions().Commit("another", []byte("data"), time.Now().Add(time.Hour)))
	at := back.RestoredAt().UnixMilli()
	again := openIn(t, folderOf(t, back))
	require.Equal(t, 1, number(t, again, all), "that happens once")
	require.Equal(t, at, again.RestoredAt().UnixMilli())
}

// folderOf returns the folder in which a database's file is.
func folderOf(t testing.TB, s *Store) (folder string) {
	t.Helper()
	require.NoError(t, s.Reader.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&folder))
	return filepath.Dir(folder)
}
