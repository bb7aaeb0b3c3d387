package store

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	"reprise/internal/tables"
)

// The databases of releases are in testdata/releases: of each one with the values that are hardest to keep in every
// table (-full), and the same as pg_dump wrote it (-full.sql). A release gets them when it is made, before the next
// migration:
//
//	REPRISE_STORE_RELEASE=0.2.0 go test ./internal/store -run TestStoreARelease
const releases, storeRelease = "testdata/releases/", "REPRISE_STORE_RELEASE"

// unpacked returns a file of a release.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(releases + name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return text
}

func packed(t testing.TB, name string, text []byte) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	_, err = z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(releases+name, b.Bytes(), 0o644))
}

// Rows counts the rows of every table that this version knows.
func rows(t testing.TB, d tables.Dialect, db *sql.DB) map[string]int {
	t.Helper()
	all, err := tables.Schema(t.Context(), d, db)
	require.NoError(t, err)
	n := map[string]int{}
	for _, table := range all {
		if table.Name == "schema_version" || strings.HasPrefix(table.Name, "search_texts") {
			continue
		}
		var count int
		require.NoError(t, db.QueryRow("SELECT count(*) FROM "+table.Name).Scan(&count))
		n[table.Name] = count
	}
	return n
}

// upgraded opens a database of a release with this version and one more step, and requires every row of it.
func upgraded(t *testing.T, dir string) {
	t.Helper()
	place := in(t, dir)
	d, err := db.Take(t.Context(), place, nil, false)
	require.NoError(t, err)
	before := rows(t, d.Rows(), d.Reader)
	require.NoError(t, d.Close())

	s, err := openWith(t.Context(), place, testKey(t, testSecret),
		Options{Options: db.Options{Version: "9.9.9"}, Sending: outbox.Options{Attempts: 1}},
		steps(t, moods))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.Equal(t, newest(t)+1, version(t, s))
	require.Equal(t, "9.9.9", db.UpgradedBy(t.Context(), s.Reader, int64(newest(t)+1)))
	after := rows(t, s.Rows(), s.Reader)
	for name, n := range before {
		if name == "facts" || name == "sequences" { // which now have the version, and one for a new table
			require.GreaterOrEqual(t, after[name], n)
			continue
		}
		require.Equal(t, n, after[name], name)
	}
}

// names returns the releases whose stored files end so.
func releasesWith(t testing.TB, end string) (all []string) {
	t.Helper()
	found, err := filepath.Glob(releases + "*" + end)
	require.NoError(t, err)
	number := regexp.MustCompile(`^\d+\.\d+\.\d+` + regexp.QuoteMeta(end) + "$")
	for _, path := range found {
		if number.MatchString(filepath.Base(path)) {
			all = append(all, filepath.Base(path))
		}
	}
	require.NotEmpty(t, all)
	return all
}

func TestEachReleaseUpgradesAndKeepsItsCopy(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	for _, name := range releasesWith(t, "-full.db.gz") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text := unpacked(t, name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, db.FileName), text, 0o600))
			look, err := db.LookAt(t.Context(), db.Place{Dir: dir}, false, testKey(t, testSecret))
			require.NoError(t, err)
			require.True(t, look.Opens)
			require.Equal(t, name, look.By+strings.TrimPrefix(name, look.By), "the version that wrote it")
			upgraded(t, dir)
			copied, err := db.LookAt(t.Context(), placeOfCopy(t, dir, look.Step), false, testKey(t, testSecret))
			require.NoError(t, err)
			require.Equal(t, look, copied, "the copy is the database of the release")
		})
	}
}

// placeOfCopy puts the copy that an upgrade has made where a server would look for it.
func placeOfCopy(t testing.TB, dir string, step int64) db.Place {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s.%d.bak", db.FileName, step)))
	require.NoError(t, err)
	old := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(old, db.FileName), text, 0o600))
	return db.Place{Dir: old}
}

func TestEachReleaseOnPostgresUpgrades(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if in(t, dir).URL == "" {
		t.Skip("there is no server")
	}
	for _, name := range releasesWith(t, "-full.sql.gz") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			db, err := sql.Open("pgx", in(t, dir).URL)
			require.NoError(t, err)
			db.SetMaxOpenConns(1)
			_, err = db.Exec(string(unpacked(t, name)))
			require.NoError(t, err)
			require.NoError(t, db.Close())
			upgraded(t, dir)
		})
	}
}

// TestStoreARelease stores the databases of the release that the environment names.
func TestStoreARelease(t *testing.T) {
	number := os.Getenv(storeRelease)
	if number == "" {
		t.Skip("without " + storeRelease)
	}
	opt := Options{Options: db.Options{Version: number}, Sending: outbox.Options{Attempts: 1}}
	dir := full(t)
	s, err := Open(t.Context(), db.Place{Dir: dir}, testKey(t, testSecret), opt)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	text, err := os.ReadFile(filepath.Join(dir, db.FileName))
	require.NoError(t, err)
	packed(t, number+"-full.db.gz", text)
	to := db.Place{URL: postgrestest.Start(t).Database("release")}
	_, err = CopyDatabase(t.Context(), copying(db.Place{Dir: dir}, to, t))
	require.NoError(t, err)
	packed(t, number+"-full.sql.gz", dumped(t, to.URL))
}

// dumped returns a database as pg_dump writes it, without what only psql reads.
func dumped(t testing.TB, address string) []byte {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	dump := exec.CommandContext(t.Context(), "pg_dump", "--inserts", "--no-owner", "--no-privileges", u.String())
	dump.Stderr = os.Stderr
	text, err := dump.Output()
	require.NoError(t, err)
	psql := regexp.MustCompile(`(?m)^(\\(un)?restrict .*|SELECT pg_catalog\.set_config\('search_path'.*)\n`)
	return psql.ReplaceAll(text, nil)
}
