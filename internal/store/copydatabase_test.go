package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
	"reprise/internal/tables"
)

// The rows of a full database have these values, in each table: the hardest ones to copy. Ids are small, and the same
// in all tables, so that what refers to a row finds one.
var (
	fullNumbers = []int64{1, 1<<53 + 1, -7, math.MaxInt64, 1_800_000_000_123}
	fullTexts   = []string{"", "Ágætis byrjun 🎵", "tab\t line\n return\r slash\\ \\N \\. \u2028",
		`a'b"c,{}`, "null"}
	fullFloats = []float64{0, 0.1, -1e-300, math.MaxFloat64, 1.0 / 3}
	fullBytes  = []string{"x''", "x'00ff5c0a090d'", "x'89504e47'", "x'7b7d'", "x'5c4e'"}
)

// full returns the directory of a file whose tables all have rows with the values that are the hardest to copy.
func full(t testing.TB) (dir string) {
	t.Helper()
	fullOnce.Do(func() {
		made, err := os.ReadFile(filepath.Join(makeFull(t), db.FileName))
		require.NoError(t, err)
		fullFile = made
	})
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, db.FileName), fullFile, 0o600))
	return dir
}

var (
	fullOnce sync.Once
	fullFile []byte
)

func makeFull(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := Open(t.Context(), db.Place{Dir: dir}, testKey(t, testSecret), oneAttempt)
	require.NoError(t, err)
	conn, err := s.Writer.Conn(t.Context())
	require.NoError(t, err)
	run := func(statement string, args ...any) {
		_, err := conn.ExecContext(t.Context(), statement, args...)
		require.NoError(t, err, statement)
	}
	run("PRAGMA foreign_keys = OFF")
	all, err := tables.Schema(t.Context(), tables.SQLite, conn)
	require.NoError(t, err)
	for _, table := range all {
		if slices.Contains(notCopied, table.Name) {
			continue
		}
		for i, n := range fullNumbers {
			var columns, values []string
			for _, c := range table.Columns {
				number := n
				if strings.HasSuffix(c.Name, "id") || c.Name == "made_by" {
					number = int64(i + 1)
				}
				value := map[tables.Kind]string{
					tables.Int: fmt.Sprint(number), tables.Bytes: fullBytes[i],
					tables.Text:  "'" + strings.ReplaceAll(fullTexts[i], "'", "''") + "'",
					tables.Float: fmt.Sprintf("%.17e", fullFloats[i]),
				}[c.Kind]
				if i == 0 && !c.NotNull {
					value = "NULL"
				}
				columns, values = append(columns, c.Name), append(values, value)
			}
			run("INSERT INTO " + table.Name + " (" + strings.Join(columns, ", ") + ") VALUES (" +
				strings.Join(values, ", ") + ") ON CONFLICT DO NOTHING")
		}
	}
	require.NoError(t, conn.Close())
	require.NoError(t, s.Close())
	return dir
}

// content returns all rows of the tables of a file that are copied, as SQLite writes them.
func content(t testing.TB, dir string) map[string][]string {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+filepath.Join(dir, db.FileName)+"?mode=ro")
	require.NoError(t, err)
	defer file.Close()
	all, err := tables.Schema(t.Context(), tables.SQLite, file)
	require.NoError(t, err)
	rows := map[string][]string{}
	for _, table := range all {
		if slices.Contains(notCopied, table.Name) {
			continue
		}
		var columns []string
		for _, c := range table.Columns {
			columns = append(columns, `quote("`+c.Name+`")`)
		}
		query := "SELECT " + strings.Join(columns, " || ',' || ") + " FROM " + table.Name
		if where := copiedRows[table.Name]; where != "" {
			query += " WHERE " + where
		}
		rows[table.Name], err = db.List(t.Context(), file, func(r db.Scanner) (row string, err error) {
			return row, r.Scan(&row)
		}, query+" ORDER BY 1")
		require.NoError(t, err)
	}
	return rows
}

func copying(from, to db.Place, t testing.TB) CopyOf {
	t.Helper()
	return CopyOf{From: from, To: to, Key: testKey(t, testSecret)}
}

// copyThrough copies a full file to a place and from there to a new file, and compares all of it.
func copyThrough(t *testing.T, place db.Place) {
	t.Helper()
	first, last := full(t), t.TempDir()
	before := content(t, first)
	there, err := CopyDatabase(t.Context(), copying(db.Place{Dir: first}, place, t))
	require.NoError(t, err)
	for _, sum := range there.Tables {
		require.Positive(t, sum.Rows, "the test has no rows of %s", sum.Table)
	}
	require.Zero(t, there.Altered)
	require.Empty(t, there.Others)
	back, err := CopyDatabase(t.Context(), copying(place, db.Place{Dir: last}, t))
	require.NoError(t, err)
	for i, sum := range there.Tables {
		require.Equal(t, sum, back.Tables[i])
	}
	require.Equal(t, there.Checksum(), back.Checksum())
	require.Equal(t, before, content(t, first), "nothing was written")
	for table, rows := range content(t, last) {
		require.Equal(t, before[table], rows, table)
	}
}

func TestACopyHasEveryValue(t *testing.T) {
	t.Parallel()
	copyThrough(t, db.Place{Dir: t.TempDir()})
}

func TestPostgresAndBackKeepsEveryValue(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		t.Skip("there is no server")
	}
	copyThrough(t, in(t, t.TempDir()))
}

// target returns an empty place for a copy, on the engine of the tests.
func target(t testing.TB) db.Place {
	t.Helper()
	return in(t, t.TempDir())
}

const killedCopy = "REPRISE_TEST_KILLED_COPY"

// A copy that was killed is no database for a server, and can be made again.
func TestPostgresOrFileCopyKilledStartsOver(t *testing.T) {
	t.Parallel()
	if dirs := os.Getenv(killedCopy); dirs != "" { // this is the process that is killed
		from, to, _ := strings.Cut(dirs, "|")
		c := copying(db.Place{Dir: from}, db.Place{Dir: to}, t)
		if strings.HasPrefix(to, "postgres") {
			c.To = db.Place{URL: to}
		}
		c.Tell = func(done, all int64) {
			if 2*done > all { // everything is written, and a part was read again
				require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
			}
		}
		_, err := CopyDatabase(t.Context(), c)
		require.NoError(t, err)
		return
	}
	from, to := full(t), target(t)
	before := content(t, from)
	at := to.URL
	if at == "" {
		at = to.Dir
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPostgresOrFileCopyKilledStartsOver$")
	cmd.Env = append(os.Environ(), killedCopy+"="+from+"|"+at)
	require.Error(t, cmd.Run())

	of := db.Place{Dir: from}.String()
	key := testKey(t, testSecret)
	_, err := Open(t.Context(), to, key, oneAttempt)
	require.ErrorContains(t, err, "can't be used: it's an unfinished copy of "+of)
	_, err = OpenBeside(t.Context(), to)
	require.ErrorContains(t, err, "it's an unfinished copy")
	_, err = db.LookAt(t.Context(), to, false, key)
	require.ErrorContains(t, err, "Run server copy-database again with the same two")
	_, err = CopyDatabase(t.Context(), copying(to, target(t), t))
	require.ErrorContains(t, err, "it's an unfinished copy")
	_, err = CopyDatabase(t.Context(), copying(db.Place{Dir: full(t)}, to, t))
	require.ErrorContains(t, err, "isn't empty, and nothing in it was changed")
	require.ErrorContains(t, err, "it's an unfinished copy of "+of)

	_, err = CopyDatabase(t.Context(), copying(db.Place{Dir: from}, to, t))
	require.NoError(t, err)
	require.Equal(t, before, content(t, from))
	s, err := Open(t.Context(), to, key, oneAttempt)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestPostgresOrFileCopyRefusals(t *testing.T) {
	t.Parallel()
	from, taken, empty := db.Place{Dir: full(t)}, target(t), target(t)
	s, err := Open(t.Context(), taken, testKey(t, testSecret), oneAttempt)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = CopyDatabase(t.Context(), copying(from, taken, t))
	require.EqualError(t, err, "the database "+taken.String()+
		" isn't empty, and nothing in it was changed. Name an empty one")
	c := copying(from, empty, t)
	c.Key = testKey(t, "another key than that of the tests")
	_, err = CopyDatabase(t.Context(), c)
	require.ErrorIs(t, err, db.ErrWrongKey)
	_, err = CopyDatabase(t.Context(), copying(empty, target(t), t))
	require.EqualError(t, err, "the database "+empty.String()+" is empty, so there's nothing to copy")
	if postgrestest.On() {
		db, err := sql.Open("pgx", empty.URL)
		require.NoError(t, err)
		defer db.Close()
		_, err = db.Exec("CREATE TABLE invoices (id BIGINT)")
		require.NoError(t, err)
		_, err = CopyDatabase(t.Context(), copying(from, empty, t))
		require.ErrorContains(t, err, "isn't empty, and nothing in it was changed")
		require.ErrorContains(t, err, "invoices")
	}
	old := target(t)
	s, err = Open(t.Context(), old, testKey(t, testSecret), oneAttempt)
	require.NoError(t, err)
	require.NoError(t, s.Exec(t.Context(), "UPDATE schema_version SET version_id = 9999 WHERE version_id = 1"))
	require.NoError(t, s.Close())
	_, err = CopyDatabase(t.Context(), copying(old, target(t), t))
	require.ErrorContains(t, err, "is of another version of Reprise than this program (step 9999")
}

// A lost connection ends the copy with a sentence, and what is copied stays as it is.
func TestPostgresLostDuringACopy(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		t.Skip("there is no server")
	}
	from, to := db.Place{Dir: full(t)}, target(t)
	before := content(t, from.Dir)
	db, err := sql.Open("pgx", to.URL)
	require.NoError(t, err)
	defer db.Close()
	c := copying(from, to, t)
	c.Tell = func(done, all int64) {
		if done > 0 {
			_, err := db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			require.NoError(t, err)
		}
	}
	_, err = CopyDatabase(t.Context(), c)
	require.NotEmpty(t, problemOf(t, err))
	require.Equal(t, before, content(t, from.Dir))
	c.Tell = nil
	_, err = CopyDatabase(t.Context(), c)
	require.NoError(t, err)
}

// What Postgres cannot store is removed, as it is from everything that is stored there, and counted.
func TestPostgresCopyDropsWhatItRefuses(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		t.Skip("SQLite keeps every text")
	}
	from, back := t.TempDir(), t.TempDir()
	s, err := Open(t.Context(), db.Place{Dir: from}, testKey(t, testSecret), oneAttempt)
	require.NoError(t, err)
	user := addUser(t, s, "Alice", accounts.Admin)
	l := listen(5)
	l.Title, l.Artist = "Rain\x00 Song", "Na\xefve"
	save(t, s, user, "spotify", l)
	require.NoError(t, s.Close())
	to := target(t)
	r, err := CopyDatabase(t.Context(), copying(db.Place{Dir: from}, to, t))
	require.NoError(t, err)
	require.Positive(t, r.Altered)
	_, err = CopyDatabase(t.Context(), copying(to, db.Place{Dir: back}, t))
	require.NoError(t, err)
	s, err = Open(context.Background(), db.Place{Dir: back}, testKey(t, testSecret), oneAttempt)
	require.NoError(t, err)
	defer s.Close()
	page, _, err := s.Listens(t.Context(), user, "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"Rain Song", "Na\uFFFDve"}, []string{page[0].Title, page[0].Artist})
}
