package test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
)

// clusterOf returns the settings of servers that share a database.
func clusterOf(database string, w *demo.World) []string {
	return append(worldEnv(w), "REPRISE_DATABASE_URL="+database, "REPRISE_SECRET_KEY=the same for all of them",
		"REPRISE_CLUSTER_LISTEN=127.0.0.1:0", "REPRISE_CLUSTER_DRAIN=0s")
}

// at returns the same person at another server.
func (v *person) at(p *process) *person { return &person{v.t, p.url, v.Client} }

func TestServersShareADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	database := postgrestest.Start(t).Database("reprise")
	env := clusterOf(database, w)
	first := startWith(t, []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}, env...)
	until(t, func() bool { return strings.Contains(first.log.String(), "this server leads") }, "a leader")
	second := startWith(t, []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}, env...)
	require.Equal(t, first.code, second.code)

	// The first account is created on one server and used on the other.
	v := second.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.becomes("listenbrainz", "healthy")
	tab, _ := v.open()
	w.Play()
	v.at(first).call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	tab.next("listens", func(object) bool { return true })

	require.NoError(t, first.cmd.Process.Signal(syscall.SIGKILL))
	v.eventually("the second to lead", func() bool {
		return strings.Contains(second.log.String(), "this server leads")
	})
	w.Play()
	v.call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	v.eventually("both new plays", func() bool {
		return len(v.call("GET", "/listens?limit=100", nil, http.StatusOK)["listens"].([]any)) == 62
	})
	require.NoError(t, second.stop(syscall.SIGTERM))
}
