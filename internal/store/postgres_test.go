package store

import (
	"cmp"
	"database/sql"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// In returns the place of a directory's database: the file in it, or an own database at the Postgres server, which it
// creates if there is none.
func in(t testing.TB, dir string) db.Place {
	t.Helper()
	return db.Place{Dir: dir, URL: postgrestest.Database(t, dir, nil)}
}

// onlyInAFile skips a test on Postgres because it is about SQLite's file.
func onlyInAFile(t testing.TB) {
	t.Helper()
	if postgrestest.On() {
		t.Skip("Postgres keeps its files itself")
	}
}

// trigger creates a trigger. when is such as "AFTER INSERT ON listens". An empty condition is always true.
func trigger(t testing.TB, s *Store, name, when, condition, do string) {
	t.Helper()
	steps := []string{"CREATE TRIGGER " + name + " " + when + " WHEN (" + cmp.Or(condition, "1 = 1") + ") BEGIN " +
		do + "; END"}
	if postgrestest.On() {
		steps = []string{"CREATE FUNCTION " + name + "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + do +
			"; RETURN NEW; END $$",
			"CREATE TRIGGER " + name + " " + when + " FOR EACH ROW WHEN (" + cmp.Or(condition, "1 = 1") +
				") EXECUTE FUNCTION " + name + "()"}
	}
	for _, step := range steps {
		_, err := s.Writer.Exec(step)
		require.NoError(t, err)
	}
}

// refuse makes the database refuse some writes until allow is called.
func refuse(t testing.TB, s *Store, name, when, condition string) {
	t.Helper()
	do := "SELECT RAISE(ABORT, 'refused')"
	if postgrestest.On() {
		do = "RAISE EXCEPTION 'refused'"
	}
	trigger(t, s, name, when, condition, do)
}

func allow(t testing.TB, s *Store, name, table string) {
	t.Helper()
	drop := "DROP TRIGGER " + name
	if postgrestest.On() {
		drop += " ON " + table
	}
	_, err := s.Writer.Exec(drop)
	require.NoError(t, err)
}

// TestEverythingOnPostgres runs all tests of the package on Postgres.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, ".")
}

func TestPostgresDropsCharactersItRefuses(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		t.Skip("SQLite keeps every text")
	}
	s, user := setup(t)
	l := listen(5)
	l.Title, l.Artist = "Rain\x00 Song", "Na\xefve"
	save(t, s, user, "spotify", l)
	page, _, err := s.Listens(t.Context(), user, "", 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, []string{"Rain Song", "Na\uFFFDve"}, []string{page[0].Title, page[0].Artist})
}

func TestPostgresAllowsOnlyOneServer(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		t.Skip("the data directory sees to it")
	}
	dir := t.TempDir()
	first := openIn(t, dir)
	user := addUser(t, first, "Alice", accounts.Admin)
	_, err := Open(t.Context(), in(t, dir), testKey(t, testSecret), Options{})
	require.Equal(t, db.InUse.String(), problemOf(t, err))
	beside, err := OpenBeside(t.Context(), in(t, dir))
	require.NoError(t, err, "a command may open it beside the server")
	require.NoError(t, beside.Close())

	// Postgres closes the connection, as when it restarts.
	admin, err := sql.Open("pgx", in(t, dir).URL)
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.Exec("SELECT pg_terminate_backend($1)", backend(t, first))
	require.NoError(t, err)
	err = first.SetPassword(t.Context(), user, "after the cut")
	if err != nil { // only this call noticed it
		require.Equal(t, db.PostgresProblem("57P01", words.Text{}).String(), problemOf(t, err))
		require.NoError(t, first.SetPassword(t.Context(), user, "after the cut"))
	}
	_, err = Open(t.Context(), in(t, dir), testKey(t, testSecret), Options{})
	require.Equal(t, db.InUse.String(), problemOf(t, err), "the new connection has the lock again")
	require.NoError(t, first.Close())
	again, err := openIn(t, dir).UserByName(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, "after the cut", again.PasswordHash)
}

func TestPostgresPoolerIsRefused(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		t.Skip("there is no server")
	}
	direct := in(t, t.TempDir()).URL
	ignored := []string{"application_name", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"}
	for _, pooler := range []string{postgrestest.Pooler(t, direct), postgrestest.Pooler(t, direct, ignored...)} {
		_, err := Open(t.Context(), db.Place{URL: pooler}, testKey(t, testSecret), Options{})
		require.Equal(t, db.Pooled.String(), problemOf(t, err))
		_, err = OpenBeside(t.Context(), db.Place{URL: pooler})
		require.Equal(t, db.Pooled.String(), problemOf(t, err), "for a command")
		_, err = db.LookAt(t.Context(), db.Place{URL: pooler}, false, nil)
		require.Equal(t, db.Pooled.String(), problemOf(t, err), "for -check")
	}
	var made bool
	db, err := sql.Open("pgx", direct)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.QueryRow("SELECT to_regclass('schema_version') IS NOT NULL").Scan(&made))
	require.False(t, made, "nothing was written")
}

// backend returns the ID of the server process of the writer's connection.
func backend(t testing.TB, s *Store) (pid int) {
	t.Helper()
	require.NoError(t, s.Writer.QueryRow("SELECT pg_backend_pid()").Scan(&pid))
	return pid
}

func TestPostgresProblemsAreReported(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		t.Skip("there is no server")
	}
	right, err := url.Parse(in(t, t.TempDir()).URL)
	require.NoError(t, err)
	for _, c := range []struct {
		spoil func(*url.URL)
		says  words.Text
	}{
		{func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong-password") },
			db.PostgresProblem("28P01", words.Text{})},
		{func(u *url.URL) { u.User = url.UserPassword("nobody", "wrong-password") },
			db.PostgresProblem("28P01", words.Text{})},
		{func(u *url.URL) { u.Path = "/missing" }, db.PostgresProblem("3D000", words.Text{})},
		{func(u *url.URL) { u.RawQuery = "sslmode=disable&search_path=missing" },
			db.PostgresProblem("3F000", words.Text{})},
		{func(u *url.URL) { u.RawQuery = "sslmode=disable&schema=missing" }, db.PostgresProblem("42704", words.Text{})},
		{func(u *url.URL) { u.Host = "127.0.0.1:1" }, db.NoServer},
		{func(u *url.URL) { u.RawQuery = "sslmode=require" }, db.NoServer},
	} {
		u := *right
		c.spoil(&u)
		_, err := Open(t.Context(), db.Place{URL: u.String()}, testKey(t, testSecret), Options{})
		require.Equal(t, c.says.String(), problemOf(t, err), u.Redacted())
		require.NotContains(t, err.Error(), "wrong-password")
	}
	_, err = Open(t.Context(), db.Place{URL: "postgres://reprise:wrong-password@:::/x"}, testKey(t, testSecret),
		Options{})
	require.EqualError(t, err, "database_url is no address of a Postgres server, or something behind its ? is "+
		"wrong, such as sslmode or the file of a certificate. It looks like "+
		"postgres://user:password@host:5432/database")
}
