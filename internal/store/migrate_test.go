package store

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/store/db"
)

// newest returns the number of the last migration.
func newest(t testing.TB) int {
	t.Helper()
	var number int
	_, err := fmt.Sscanf(path.Base(slices.Max(stepFiles(t))), "%d_", &number)
	require.NoError(t, err)
	return number
}

func stepFiles(t testing.TB) []string {
	t.Helper()
	all, err := fs.Glob(db.Steps(), "*.sql")
	require.NoError(t, err)
	return all
}

// steps returns the migrations with another one added, unless that is empty.
func steps(t testing.TB, another string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	for _, name := range stepFiles(t) {
		b, err := fs.ReadFile(db.Steps(), name)
		require.NoError(t, err)
		all[path.Base(name)] = &fstest.MapFile{Data: b}
	}
	if another != "" {
		all[fmt.Sprintf("%05d_more.sql", newest(t)+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + another)}
	}
	return all
}

// bak returns the name of the copy that is made before the added step.
func bak(t testing.TB) string { return fmt.Sprintf("%s.%d.bak", db.FileName, newest(t)) }

const moods = "CREATE TABLE moods (name TEXT PRIMARY KEY);\n" +
	"ALTER TABLE users ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';"

// atThisVersion returns the directory of a database of this version with some data.
func atThisVersion(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	s, err := openWith(context.Background(), in(t, dir), testKey(t, testSecret), Options{}, steps(t, ""))
	require.NoError(t, err)
	user := addUser(t, s, "Alice", accounts.Admin)
	connect(t, s, user, "spotify")
	save(t, s, user, "spotify", repeat(50, 5)...)
	require.NoError(t, s.Close())
	return dir
}

// requireData opens the database with these steps and requires that its data is there.
func requireData(t testing.TB, dir string, with fs.FS) *Store {
	t.Helper()
	s, err := openWith(context.Background(), in(t, dir), testKey(t, testSecret), Options{}, with)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	u, err := s.UserByName(context.Background(), "alice")
	require.NoError(t, err)
	require.Equal(t, 50, count(t, s, u.ID))
	c, err := s.Connection(context.Background(), u.ID, "spotify")
	require.NoError(t, err)
	require.Equal(t, "credential-of-spotify", c.Credentials["token"])
	return s
}

func version(t testing.TB, s *Store) int {
	t.Helper()
	return number(t, s, "SELECT max(version_id) FROM schema_version WHERE is_applied")
}

// names returns the names of the files in a directory.
func names(t testing.TB, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for name := range maps.Keys(snapshot(t, dir)) {
		all[name] = true
	}
	return all
}

func TestAnUpgradeCopiesTheDatabaseFirst(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := atThisVersion(t)
	require.Equal(t, map[string]bool{db.FileName: true}, names(t, dir), "a new database needs no copy")
	s := requireData(t, dir, steps(t, moods))
	require.Equal(t, newest(t)+1, version(t, s))
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM users WHERE mood = 'calm'"))
	require.NoError(t, s.Close())
	require.Equal(t, map[string]bool{db.FileName: true, bak(t): true}, names(t, dir))
	info, err := os.Stat(filepath.Join(dir, bak(t)))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	old := t.TempDir() // the copy opens with the previous version
	require.NoError(t, os.Rename(filepath.Join(dir, bak(t)), filepath.Join(old, db.FileName)))
	require.Equal(t, newest(t), version(t, requireData(t, old, steps(t, ""))))

	s = requireData(t, dir, steps(t, moods))
	require.NoError(t, s.Close())
	require.Equal(t, map[string]bool{db.FileName: true}, names(t, dir), "nothing to do, no copy")
}

func TestANewerDatabaseIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	dir := atThisVersion(t)
	require.NoError(t, requireData(t, dir, steps(t, moods)).Close())
	before := snapshot(t, dir)
	_, err := openWith(t.Context(), in(t, dir), testKey(t, testSecret), Options{}, steps(t, ""))
	require.EqualError(t, err, "the database "+in(t, dir).String()+" was written by a newer version of Reprise "+
		fmt.Sprintf("(step %d, this one knows %d). ", newest(t)+1,
			newest(t))+"Install that version again, or put back the copy that was made before the upgrade")
	require.Equal(t, before, snapshot(t, dir))
}

func TestADatabaseFromBeforeTheFirstRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place := in(t, dir)
	d, err := db.Take(t.Context(), place, nil, false)
	require.NoError(t, err)
	_, err = d.Writer.Exec("CREATE TABLE goose_db_version (version_id INTEGER, is_applied INTEGER)")
	require.NoError(t, err)
	require.NoError(t, d.Close())
	before := snapshot(t, dir)
	_, err = openWith(t.Context(), place, testKey(t, testSecret), Options{}, steps(t, ""))
	require.EqualError(t, err, "the database "+place.String()+" is from before version 0.1.0, which this version "+
		"cannot read. Export your listens with the version that wrote it, and import them into a new database")
	require.Equal(t, before[db.FileName], snapshot(t, dir)[db.FileName])
}

// An older program names the version that has upgraded the database, which is the one to install again.
func TestANewerDatabaseSaysWhichVersionToUse(t *testing.T) {
	t.Parallel()
	dir := atThisVersion(t)
	open := func(version string, with fs.FS) (*Store, error) {
		return openWith(t.Context(), in(t, dir), testKey(t, testSecret),
			Options{Options: db.Options{Version: version}}, with)
	}
	for _, version := range []string{"0.1.0", "0.2.0", "0.2.1"} { // the last one upgrades nothing
		more := moods
		if version == "0.1.0" {
			more = ""
		}
		s, err := open(version, steps(t, more))
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	_, err := open("0.1.0", steps(t, ""))
	require.EqualError(t, err, "the database "+in(t, dir).String()+" was written by Reprise 0.2.0 "+
		fmt.Sprintf("(step %d, this one knows %d). ", newest(t)+1, newest(t))+
		"Install Reprise 0.2.0 or a later version again, or put back the copy that was made before the upgrade")
	look, err := db.LookAt(t.Context(), in(t, dir), false, testKey(t, testSecret))
	require.NoError(t, err)
	require.Equal(t, "0.2.0", look.By)
	_, err = OpenBeside(t.Context(), in(t, dir))
	require.ErrorContains(t, err, "was written by Reprise 0.2.0, which is newer than this program")
}

func TestAnUpgradeWithTheWrongKeyChangesNothing(t *testing.T) {
	t.Parallel()
	dir := atThisVersion(t)
	before := snapshot(t, dir)
	_, err := openWith(t.Context(), in(t, dir), testKey(t, "some-other-key-of-another-place"), Options{},
		steps(t, moods))
	require.ErrorIs(t, err, db.ErrWrongKey)
	require.Equal(t, before, snapshot(t, dir))
}

func TestAFailedStepIsUndone(t *testing.T) {
	t.Parallel()
	dir := atThisVersion(t)
	_, err := openWith(t.Context(), in(t, dir), testKey(t, testSecret), Options{},
		steps(t, moods+"\nINSERT INTO nowhere VALUES (1);"))
	require.ErrorContains(t, err, "upgrade the database: ")
	s := requireData(t, dir, steps(t, ""))
	require.Equal(t, newest(t), version(t, s))
	require.NoError(t, s.Close())
	require.Equal(t, newest(t)+1, version(t, requireData(t, dir, steps(t, moods))))
}

func TestNoUpgradeWithoutACopy(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := atThisVersion(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, bak(t)+".part"), 0o700)) // prevents the copy
	require.NoError(t, os.WriteFile(filepath.Join(dir, bak(t)+".part", "x"), nil, 0o600))
	_, err := openWith(t.Context(), in(t, dir), testKey(t, testSecret), Options{}, steps(t, moods))
	require.ErrorContains(t, err, "copy the database before the upgrade: ")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, bak(t)+".part")))
	require.Equal(t, newest(t), version(t, requireData(t, dir, steps(t, ""))))
}

// endless is a step that writes until the process is killed. It is bounded in case it is not.
const endless = `PRAGMA cache_size = 10;
CREATE TABLE numbers (n INTEGER);
ALTER TABLE users ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
INSERT INTO numbers WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 10000000) SELECT i FROM c;`

const killedUpgrade = "REPRISE_TEST_KILLED_UPGRADE"

func TestAKilledUpgradeLeavesAUsableDatabase(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	if dir := os.Getenv(killedUpgrade); dir != "" { // this is the process to kill
		_, err := openWith(t.Context(), in(t, dir), testKey(t, testSecret), Options{}, steps(t, endless))
		t.Fatalf("the endless step ended: %v", err)
	}
	dir := atThisVersion(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledUpgradeLeavesAUsableDatabase$")
	cmd.Env = append(os.Environ(), killedUpgrade+"="+dir)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { // the write-ahead log is larger than the cache
		info, err := os.Stat(filepath.Join(dir, db.FileName+"-wal"))
		return err == nil && info.Size() > 1<<18
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.EqualError(t, cmd.Wait(), "signal: killed")

	s := requireData(t, dir, steps(t, ""))
	require.Equal(t, newest(t), version(t, s), "no part of the step is applied")
	require.NoError(t, s.Close())
	s = requireData(t, dir, steps(t, moods))
	require.Equal(t, newest(t)+1, version(t, s))
	require.NoError(t, s.Close())
	require.Equal(t, map[string]bool{db.FileName: true, bak(t): true}, names(t, dir))
}

func TestAHalfMadeCopyIsReplaced(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := atThisVersion(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, bak(t)+".part"), []byte("half a copy"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, bak(t)), []byte("an older copy"), 0o600))
	require.NoError(t, requireData(t, dir, steps(t, moods)).Close())
	require.Equal(t, map[string]bool{db.FileName: true, bak(t): true}, names(t, dir))
	old := t.TempDir()
	require.NoError(t, os.Rename(filepath.Join(dir, bak(t)), filepath.Join(old, db.FileName)))
	requireData(t, old, steps(t, ""))
}
