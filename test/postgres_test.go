package test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
	"reprise/internal/soak"
)

// Promise: All of that holds on Postgres, too.
func TestTheMainJobAndKillsOnPostgres(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	again := "^TestTheMainJob$"
	if soak.Full(t) {
		again = "^(TestTheMainJob|TestKillsLoseAndDoubleNothing|TestKillsWhilePullingAndPushing)$"
	}
	postgrestest.Again(t, again)
}

func TestADatabaseAtAPostgresServer(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	pg := postgrestest.Start(t)
	dir, address := t.TempDir(), "REPRISE_DATABASE_URL="+pg.Database("reprise")
	env := append(worldEnv(w), address)
	checked, _ := command(t, "", env, "-check", "-data-dir", dir)
	require.Contains(t, checked, "is reachable and still empty; Reprise sets it up when it first starts.")
	p := start(t, dir, env...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	require.NoFileExists(t, filepath.Join(dir, "reprise.db"))
	require.Contains(t, p.scrapeText(), `reprise_deliveries{state="done"} 0`)

	// Commands run beside the server; a second server with another data directory does not.
	watching, _ := v.open()
	_, err := command(t, "a new password for Alice", []string{address}, "reset-password", "alice", "-data-dir", dir)
	require.NoError(t, err)
	watching.ends()
	v = p.visitor()
	v.call("POST", "/session", object{"name": "alice", "password": "a new password for Alice"}, 201)
	said := refuses(t, []string{address, "REPRISE_SECRET_KEY=" + read(t, filepath.Join(dir, keyFile))}, "-data-dir",
		t.TempDir(), "-listen", "127.0.0.1:0")
	require.Contains(t, said, "Make sure that only one server runs on it")
	_, err = command(t, "", []string{address}, "backup", filepath.Join(dir, "copy"), "-data-dir", dir)
	require.ErrorContains(t, err, "pg_dump")
	checked, _ = command(t, "", env, "-check", "-data-dir", dir)
	require.Contains(t, checked, "The database is intact and holds 60 listens,")
	require.Contains(t, checked, "The secret key fits the database.")

	// A pooler is named as what it is, and the address that is needed instead.
	pooled := "REPRISE_DATABASE_URL=" + postgrestest.Pooler(t, strings.TrimPrefix(address, "REPRISE_DATABASE_URL="))
	checked, err = command(t, "", append(worldEnv(w), pooled), "-check", "-data-dir", dir)
	require.Error(t, err)
	require.Contains(t, checked, "Give the address of Postgres itself there")

	// The server survives an outage of the database, and says so meanwhile.
	pg.Stop()
	v.eventually("not ready", func() bool { return v.status("/readyz") == http.StatusServiceUnavailable })
	require.Equal(t, http.StatusOK, v.status("/livez"))
	v.eventually("the sentence of a stopped server", func() bool { // at first it is still stopping
		return strings.Contains(v.page("/listens", http.StatusServiceUnavailable),
			"The database server can&#39;t be reached.")
	})
	pg.Resume()
	v.eventually("ready", func() bool { return v.status("/readyz") == http.StatusOK })
	w.Play()
	v.call("POST", "/connections/listenbrainz/retry", nil, 202) // a reading may have failed meanwhile
	v.eventually("the new play", func() bool {
		return len(v.call("GET", "/listens?limit=100", nil, 200)["listens"].([]any)) == 61
	})
	require.NoError(t, p.stop(syscall.SIGTERM))

	// The database needs its key, also at a Postgres server.
	at := []string{"-data-dir", dir, "-listen", "127.0.0.1:0"}
	require.NoError(t, os.Rename(filepath.Join(dir, keyFile), filepath.Join(dir, "kept")))
	require.Contains(t, refuses(t, env, at...),
		"is missing, and only that key opens the secrets in the database reprise at 127.0.0.1:")
	require.NoError(t, os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, keyFile)))
	said, err = command(t, "", []string{address}, "rotate-key", "-data-dir", dir)
	require.NoError(t, err)
	require.Contains(t, said, "now sealed with a new key")
	p = start(t, dir, env...)
	v.base = p.url
	v.becomes("listenbrainz", "healthy")
	require.NoError(t, p.stop(syscall.SIGTERM))
	pg.Stop()
	said = refuses(t, env, at...)
	require.Contains(t, said, "The database server can't be reached. Check that it's running")
	checked, err = command(t, "", env, "-check", "-data-dir", dir)
	require.Error(t, err)
	require.Regexp(t, "Reprise can't read the database .+: The database server can't be reached\\.", checked)
	require.NotContains(t, said+checked, postgrestest.Password)
}
