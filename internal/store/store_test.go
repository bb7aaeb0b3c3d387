package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/postgrestest"
	"reprise/internal/resilience"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
)

const testSecret = "only-the-tests-use-this-key"

func testKey(t testing.TB, secret string) *db.Key {
	t.Helper()
	k, err := db.Derive(secret)
	require.NoError(t, err)
	return k
}

// oneAttempt are the options of the tests that do not choose others.
var oneAttempt = Options{Sending: outbox.Options{Attempts: 1}}

func openIn(t testing.TB, dir string) *Store {
	t.Helper()
	return openInWith(t, dir, oneAttempt)
}

func openInWith(t testing.TB, dir string, opt Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), in(t, dir), testKey(t, testSecret), opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// template is a migrated database.
var template = postgrestest.Template{Migrate: func(dir, url string) error {
	key, err := db.Derive(testSecret)
	if err != nil {
		return err
	}
	s, err := Open(context.Background(), db.Place{Dir: dir, URL: url}, key, Options{})
	if err != nil {
		return err
	}
	return s.Close()
}}

// fresh returns an empty database.
func fresh(t testing.TB) *Store {
	t.Helper()
	return freshWith(t, oneAttempt)
}

func freshWith(t testing.TB, opt Options) *Store {
	t.Helper()
	dir := t.TempDir()
	template.Fill(t, dir)
	return openInWith(t, dir, opt)
}

// setup returns a fresh database with one user.
func setup(t testing.TB) (*Store, int64) {
	t.Helper()
	return setupWith(t, oneAttempt)
}

func setupWith(t testing.TB, opt Options) (*Store, int64) {
	t.Helper()
	s := freshWith(t, opt)
	return s, addUser(t, s, "Alice", accounts.Admin)
}

func addUser(t testing.TB, s *Store, name, role string) int64 {
	t.Helper()
	u, err := s.AddUser(context.Background(), accounts.User{Name: name, PasswordHash: "hash of " + name, Role: role,
		CreatedAt: at(0)}, false)
	require.NoError(t, err)
	return u.ID
}

// at returns the time so many minutes after 18:00 on the day of the tests.
func at(minutes float64) time.Time {
	return time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC).Add(time.Duration(minutes * float64(time.Minute)))
}

// connection returns a verified connection that is not saved.
func connection(user int64, conn library.ConnectionID) library.Connection {
	return library.Connection{User: user, ID: conn, AccountID: "id-1", Account: "alice", App: "app",
		Credentials: library.Credentials{"token": "credential-of-" + string(conn)}, AuthorizedAt: at(1),
		ExpiresAt: at(2),
		CreatedAt: at(3)}
}

func connect(t testing.TB, s *Store, user int64, conn library.ConnectionID) library.Connection {
	t.Helper()
	c, err := s.SaveConnection(context.Background(), connection(user, conn))
	require.NoError(t, err)
	return c
}

// problemOf requires a *resilience.LocalError and returns its sentence.
func problemOf(t testing.TB, err error) string {
	t.Helper()
	e, ok := errors.AsType[*resilience.LocalError](err)
	require.True(t, ok, "%v is a *resilience.LocalError", err)
	return e.Problem.String()
}

func number(t testing.TB, s *Store, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, s.Reader.QueryRow(query, args...).Scan(&n))
	return n
}

func TestOpenCreatesAPrivateDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "with space", "a?b=c", "50%20#1", "Hörbücher"} {
		dir := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.False(t, there(t, dir))
		s := openIn(t, dir)
		require.True(t, there(t, dir))
		require.NoError(t, s.Ping(t.Context()))
		has, err := s.HasUsers(t.Context())
		require.NoError(t, err)
		require.False(t, has)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			info, err := f.Info()
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "%s in %s", f.Name(), name)
		}
	}
}

func TestDataSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openIn(t, dir)
	user := addUser(t, first, "Alice", accounts.Admin)
	saved := connect(t, first, user, "spotify")
	require.NoError(t, first.Close())

	again, err := openIn(t, dir).Connection(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, saved, again)
}

func TestOpenRefusesADamagedDatabase(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	damage := map[string]func([]byte) []byte{
		"garbage from the start": func(b []byte) []byte {
			return append([]byte("this is no database at all, "),
				b[28:]...)
		},
		"pages in the middle": func(b []byte) []byte {
			for i := 4 * 4096; i < len(b)*3/4; i++ {
				b[i] = byte(i * 7)
			}
			return b
		},
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openIn(t, dir)
			user := addUser(t, s, "Alice", accounts.Admin)
			save(t, s, user, "spotify", repeat(300, 5)...)
			require.NoError(t, s.Close())
			path := filepath.Join(dir, db.FileName)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			spoilt := spoil(b)
			require.NoError(t, os.WriteFile(path, spoilt, 0o600))

			_, err = Open(t.Context(), in(t, dir), testKey(t, testSecret), Options{})
			require.EqualError(t, err,
				"the database "+path+" is damaged. Put back a copy of it (files beside it that end in .bak "+
					"are copies made before an upgrade), or move it away to start over")
			left, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, spoilt, left)
		})
	}
}

func TestDamageFoundWhileRunningIsReported(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s, user := setup(t)
	save(t, s, user, "spotify", repeat(2000, 5)...)
	_, err := s.Writer.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
	f, err := os.OpenFile(s.String(), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	for page := int64(4); page < info.Size()/4096; page++ {
		_, err = f.WriteAt(make([]byte, 4096), page*4096)
		require.NoError(t, err)
	}
	fresh, err := sql.Open("sqlite", db.DSN(s.String(), "")) // with an empty cache
	require.NoError(t, err)
	defer fresh.Close()
	_, err = db.List(t.Context(), fresh, listens.ScanListen, listens.SelectListen)
	require.Equal(t, "The database is damaged. Stop the server and restore a backup.", problemOf(t, err))
}

func TestWrongKeyChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir)
	connect(t, s, addUser(t, s, "Alice", accounts.Admin), "spotify")
	require.NoError(t, s.Close())
	before := snapshot(t, dir)

	_, err := Open(t.Context(), in(t, dir), testKey(t, "some-other-key-of-another-place"), Options{})
	require.ErrorIs(t, err, db.ErrWrongKey)
	require.Equal(t, before, snapshot(t, dir))
}

// snapshot returns the contents of every file in a directory by name.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		all[f.Name()] = string(b)
	}
	return all
}

func TestOpenReportsAMissingDirectory(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	_, err := Open(t.Context(), in(t, filepath.Join(t.TempDir(), "missing")), testKey(t, testSecret), Options{})
	require.Equal(t, "The database can't be written. Check the permissions of the data directory and its files.",
		problemOf(t, err))
}

func TestCancellationIsNoLocalError(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.SaveListens(ctx, library.Intake{User: user, Connection: "spotify", Listens: repeat(1, 5)})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Connections(ctx)
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithCancel(t.Context())
	err = s.Write(ctx, func(tx *sql.Tx) error {
		defer cancel()
		return db.ExecTx(ctx, tx, "UPDATE users SET role = 'member'")
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM users WHERE role = 'admin'"), "nothing of it is stored")

	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = s.Writer.ExecContext(ctx,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n")
	require.ErrorIs(t, db.Explain(err), context.Canceled, "a statement that is cut off")
	require.NoError(t, s.Ping(t.Context()))
}

func there(t testing.TB, dir string) bool {
	t.Helper()
	found, err := db.Exists(t.Context(), in(t, dir))
	require.NoError(t, err)
	return found
}
