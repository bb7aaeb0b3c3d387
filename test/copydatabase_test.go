package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
)

// toldChecksum is what a complete copy says.
var toldChecksum = regexp.MustCompile(`The copy is complete: .+ in \d+ tables, read through in both and the same ` +
	`\(checksum (\w+)\)`)

// lastSeen matches when somebody was here, which each look at it changes.
var lastSeen = regexp.MustCompile(`("last_(?:seen|used)_at": ?)"[^"]+"`)

// onTheWay matches how many deliveries wait: a server that has started attempts those that are due.
var onTheWay = regexp.MustCompile(`"(?:scheduled|retrying|running)": ?\d+`)

// answers returns what the API answers about what is stored.
func (v *person) answers() map[string]string {
	v.t.Helper()
	all := map[string]string{}
	for _, path := range []string{"/listens?limit=500", "/playlists", "/stats/summary?span=all",
		"/stats/top/artists?span=all",
		"/stats/top/albums?span=all", "/stats/top/tracks?span=all", "/stats/days?span=all", "/stats/hours?span=all",
		"/search?q=a", "/search?q=re", "/deliveries?state=done", "/deliveries?state=dead", "/corrections",
		"/sessions", "/admin/users", "/digests", "/imports"} {
		resp, body := v.send("GET", path, nil)
		if resp.StatusCode == 404 {
			continue
		}
		require.Equal(v.t, 200, resp.StatusCode, "%s: %s", path, body)
		all[path] = onTheWay.ReplaceAllString(lastSeen.ReplaceAllString(string(body), `$1"now"`), `"waiting": 0`)
	}
	return all
}

// heardOf returns what an account was notified of before a time.
func (v *person) heardOf(before time.Time) (all []string) {
	v.t.Helper()
	for _, n := range v.call("GET", "/notifications", nil, 200)["notifications"].([]any) {
		n := n.(object)
		at, err := time.Parse(time.RFC3339Nano, n["created_at"].(string))
		require.NoError(v.t, err)
		if at.Before(before) {
			all = append(all, fmt.Sprint(n["id"], n["title"], n["message"], at))
		}
	}
	return all
}

// Promise: A household that moves to Postgres and back finds everything as it was.
func TestAHouseholdMovesToPostgresAndBack(t *testing.T) {
	takesLong(t)
	t.Parallel()
	first, last := t.TempDir(), t.TempDir()
	p := startWith(t, []string{"-demo", "-listen", "127.0.0.1:0", "-data-dir", first})
	v := p.visitor()
	require.Contains(t, v.page("/", 200), "Sign out")
	for _, provider := range []string{demo.Spotify, demo.ListenBrainz, demo.Navidrome} {
		v.becomes(provider, "healthy")
	}
	locked := "another Reprise is running with the data directory " + first
	address := postgrestest.Start(t).Database("reprise")
	_, err := command(t, "", nil, "copy-database", first, address)
	require.ErrorContains(t, err, locked)
	require.NoError(t, p.stop(syscall.SIGTERM))

	_, err = command(t, "", nil, "copy-database", first, "mysql://localhost/reprise")
	require.EqualError(t, err, "mysql:// is no database that Reprise knows. Name a data directory, or an address of "+
		"Postgres such as postgres://user:password@host:5432/database")
	_, err = command(t, "", nil, "copy-database", first, filepath.Join(first, "reprise.db"))
	require.ErrorContains(t, err, "are the same database")
	_, err = command(t, "", nil, "copy-database", t.TempDir(), address)
	require.ErrorContains(t, err, "there is no database in")
	_, err = command(t, "", []string{"REPRISE_SECRET_KEY=" + db.NewSecret()}, "copy-database", first, address)
	require.ErrorContains(t, err, "the secret key doesn't fit this database")
	said, err := command(t, "", nil, "copy-database", first, address)
	require.NoError(t, err)
	require.Regexp(t, toldChecksum, said)
	require.NotContains(t, said, postgrestest.Password)
	_, err = command(t, "", nil, "copy-database", first, address)
	require.ErrorContains(t, err, "isn't empty, and nothing in it was changed")

	require.NoError(t, os.WriteFile(filepath.Join(last, keyFile), []byte(db.NewSecret()), 0o600))
	_, err = command(t, "", nil, "copy-database", address, last, "-data-dir", first)
	require.ErrorContains(t, err, "is another key than that of the database reprise at 127.0.0.1")
	require.NoError(t, os.Remove(filepath.Join(last, keyFile)))
	back, err := command(t, "", nil, "copy-database", "-data-dir", first, address, last)
	require.NoError(t, err)
	require.Equal(t, toldChecksum.FindStringSubmatch(said)[1], toldChecksum.FindStringSubmatch(back)[1])
	require.Equal(t, read(t, filepath.Join(first, keyFile)), read(t, filepath.Join(last, keyFile)))

	require.Contains(t, back, "The pictures and\nimports in "+first+" aren't part of the database; copy them as well.")
	require.NoError(t, os.CopyFS(filepath.Join(last, "art"), os.DirFS(filepath.Join(first, "art"))))

	// Nothing is read from services meanwhile: none is where it was.
	quiet := []string{"REPRISE_SYNC_LISTENS_EVERY=24h", "REPRISE_SYNC_PLAYLISTS_EVERY=24h",
		"REPRISE_SYNC_ENRICH_EVERY=24h"}
	stopped := time.Now()
	var all []map[string]string
	var told [][]string
	for _, at := range [][]string{{first, ""}, {first, address}, {last, ""}} {
		p := startWith(t, []string{"-data-dir", at[0], "-listen", "127.0.0.1:0"},
			append(quiet, "REPRISE_DATABASE_URL="+at[1])...)
		v.base = p.url
		all, told = append(all, v.answers()), append(told, v.heardOf(stopped))
		require.NoError(t, p.stop(syscall.SIGTERM))
	}
	require.NotEmpty(t, told[0])
	require.Equal(t, told[0], told[1])
	require.Equal(t, told[0], told[2])
	for path, want := range all[0] {
		for i, other := range all[1:] {
			require.JSONEq(t, want, other[path], "%d: %s", i, path)
		}
	}
	var listens struct{ Listens []any }
	require.NoError(t, json.Unmarshal([]byte(all[2]["/listens?limit=500"]), &listens))
	require.Len(t, listens.Listens, 500)
}

// Promise: A disk without room ends a copy with a sentence, and what was to be copied stays.
func TestACopyToAFullDiskSaysSo(t *testing.T) {
	t.Parallel()
	good := used(t)
	said := mounted(t, `dd if=/dev/zero of=$0/fill bs=4096 count=4000 2>/dev/null
		before=$(md5sum `+good+`/reprise.db)
		"$1" copy-database `+good+` $0/new || code=$?
		[ "$before" = "$(md5sum `+good+`/reprise.db)" ]
		rm $0/fill
		"$1" copy-database `+good+` $0/new
		exit $code`)
	require.Contains(t, said, "the copy isn't complete. The disk is full.")
	require.Contains(t, said, "Run the command again, and it starts over")
	require.Regexp(t, toldChecksum, said)
}
