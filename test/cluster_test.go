package test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
	"reprise/internal/soak"
	"reprise/internal/storetest"
)

// clusterOf returns the settings of servers that share a database.
func clusterOf(database string, w *demo.World) []string {
	return append(worldEnv(w), "REPRISE_DATABASE_URL="+database, "REPRISE_SECRET_KEY="+storetest.Secret,
		"REPRISE_CLUSTER_ENABLED=true", "REPRISE_CLUSTER_DRAIN=0s")
}

// at returns the same person at another server.
func (v *person) at(p *process) *person { return &person{v.t, p.url, v.Client} }

// Promise: Servers that share a database lead one after the other, and lose nothing.
func TestServersShareADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	database := postgrestest.Start(t).Database("reprise")
	env := append(clusterOf(database, w), "REPRISE_NOTIFY_URLS="+w.Mailbox.NtfyURL)
	first := startWith(t, []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}, env...)
	until(t, func() bool { return strings.Contains(first.log.String(), "this server leads") }, "a leader")
	second := startWith(t, []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}, env...)
	require.Equal(t, first.code, second.code)

	// The first account is created on one server and used on the other.
	until(t, func() bool { return second.timesFollowing() == 1 }, "a follower")
	v := second.newcomer()
	require.Len(t, v.call("GET", "/channels", nil, http.StatusOK)["channels"], 1, "that of the settings")
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.becomes("listenbrainz", "healthy")
	require.Eventually(t, func() bool {
		all := v.call("GET", "/admin/servers", nil, http.StatusOK)["servers"].([]any)
		return len(all) == 2 && all[0].(object)["state"] == "leads" && all[1].(object)["state"] == "answers"
	}, patience, 50*time.Millisecond)
	require.Contains(t, v.page("/health", http.StatusOK), "Answers pages and players")
	v.call("PATCH", "/admin/settings", object{"base_url": first.url + "/music"}, http.StatusOK)
	require.Contains(t, v.page("/music/health", http.StatusOK), `href="/music/listening"`, "the path is passed on")
	until(t, func() bool { return second.timesFollowing() == 2 }, "a follower with the new settings")
	tab, _ := v.open()
	w.Play()
	v.at(first).call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	tab.next("listens", func(object) bool { return true })

	// What the leader has received can be read by who leads after it.
	file := export(t, 3000)
	require.Equal(t, 201, v.sendFile("name=my_spotify_data.zip&preview=true", bytes.NewReader(file)).StatusCode)
	v.eventually("it is looked at", func() bool { return v.lastImport()["state"] == "ready" })

	require.NoError(t, first.cmd.Process.Signal(syscall.SIGKILL))
	v.eventually("the second to lead", func() bool {
		return strings.Contains(second.log.String(), "this server leads")
	})
	w.Play()
	v.call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	v.eventually("both new plays", func() bool {
		return len(v.call("GET", "/listens?limit=100", nil, http.StatusOK)["listens"].([]any)) == 62
	})
	v.call("POST", "/imports/"+v.lastImport()["id"].(string)+"/start", nil, http.StatusOK)
	v.eventually("the file that the first has received", func() bool { return v.lastImport()["state"] == "done" })
	require.InDelta(t, 3000, v.lastImport()["added"], 0)
	require.NoError(t, second.stop(syscall.SIGTERM))
}

// relay stands between a server and its database, and can swallow what they send each other.
type relay struct {
	net.Listener
	to  string
	mu  sync.Mutex
	cut chan struct{} // closed while nothing gets through is over
}

// newRelay returns the address of a database as it is reached through a relay.
func newRelay(t testing.TB, database string) (*relay, string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	r := &relay{to: u.Host}
	r.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	go func() {
		for {
			from, err := r.Accept()
			if err != nil {
				return
			}
			go r.carry(from)
		}
	}()
	u.Host = r.Addr().String()
	return r, u.String()
}

func (r *relay) carry(from net.Conn) {
	defer from.Close()
	r.passes()
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer to.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			defer func() { ended <- struct{}{} }()
			buffer := make([]byte, 32<<10)
			for {
				n, err := way[0].Read(buffer)
				r.passes() // also the end of a connection
				if err != nil {
					return
				}
				if _, err := way[1].Write(buffer[:n]); err != nil {
					return
				}
			}
		}()
	}
	<-ended
}

// passes returns when something may get through.
func (r *relay) passes() {
	r.mu.Lock()
	cut := r.cut
	r.mu.Unlock()
	if cut != nil {
		<-cut
	}
}

// swallow has nothing get through until the function that it returns is called.
func (r *relay) swallow() (mend func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cut := make(chan struct{})
	r.cut = cut
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cut = nil
		close(cut)
	}
}

// calls returns when a server has begun calls of upstream services, from its log.
func (p *process) calls(t testing.TB) (all []time.Time) {
	t.Helper()
	for line := range strings.Lines(p.log.String()) {
		var entry struct {
			Time    time.Time
			Msg     string
			Took    int64 `json:"took_ms"`
			Outcome string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg == "upstream attempt" && entry.Outcome != "canceled" { // which was not made
			all = append(all, entry.Time.Add(-time.Duration(entry.Took)*time.Millisecond))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func (p *process) timesLeading() int { return strings.Count(p.log.String(), `"this server leads"`) }

// Promise: A leader that falls silent is replaced, calls nothing once its time is over, and serves on afterwards.
func TestALeaderThatFallsSilentIsReplaced(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	database := postgrestest.Start(t).Database("reprise")
	relay, through := newRelay(t, database)
	begin := func(database string) *process {
		return startWith(t, []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}, clusterOf(database, w)...)
	}
	first := begin(through)
	until(t, func() bool { return first.timesLeading() == 1 }, "the first to lead")
	second := begin(database)
	v := first.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.becomes("listenbrainz", "healthy")

	mend := relay.swallow()
	until(t, func() bool { return second.timesLeading() == 1 }, "the second to lead")
	v = v.at(second)
	v.becomes("listenbrainz", "healthy")
	w.Play()
	has := func(n int) func() bool {
		return func() bool { return len(v.call("GET", "/listens?limit=100", nil, 200)["listens"].([]any)) == n }
	}
	v.eventually("a new play", has(61))
	mend()
	until(t, func() bool { return strings.Contains(first.log.String(), "no longer leads") }, "the first to notice")
	v.at(first).eventually("the page by the way of the first", func() bool {
		return v.at(first).status("/readyz") == http.StatusOK && v.at(first).status("/listens") == http.StatusOK
	})

	require.NoError(t, second.cmd.Process.Signal(syscall.SIGSTOP))
	until(t, func() bool { return first.timesLeading() == 2 }, "the first to lead again")
	v = v.at(first)
	w.Play()
	v.eventually("one more play", has(62))
	require.NoError(t, second.cmd.Process.Signal(syscall.SIGCONT))
	until(t, func() bool { return strings.Contains(second.log.String(), "no longer leads") }, "the second to notice")
	v.at(second).eventually("the page by the way of the second", func() bool {
		return v.at(second).status("/listens") == http.StatusOK
	})
	again := first.calls(t)
	at := slices.IndexFunc(again, func(at time.Time) bool { return at.After(second.calls(t)[0]) })
	require.Positive(t, at)
	require.True(t, again[at].After(slices.MaxFunc(second.calls(t), time.Time.Compare)),
		"one calls after the other, never both")
	require.NoError(t, first.stop(syscall.SIGTERM))
	require.NoError(t, second.stop(syscall.SIGTERM))
}

// Promise: A server of an older version does not lead once a newer one has changed the database so that it can't use
// it, and says so; what it can use it serves.
func TestAnOlderServerDoesNotLead(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 10})
	database := postgrestest.Start(t).Database("reprise")
	begin := func() *process {
		return startWith(t, []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}, clusterOf(database, w)...)
	}
	first := begin()
	until(t, func() bool { return first.timesLeading() == 1 }, "the first to lead")
	second := begin()
	v := second.newcomer()
	db, err := sql.Open("pgx", database)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec("INSERT INTO schema_version (version_id, is_applied) VALUES (99999, true); " +
		"UPDATE facts SET value = '99999' WHERE name = 'oldest_step'")
	require.NoError(t, err)
	require.NoError(t, first.stop(syscall.SIGTERM))
	until(t, func() bool { return strings.Contains(second.log.String(), "this server can't lead") }, "a word of it")
	require.Contains(t, second.log.String(), "newer version")
	require.Equal(t, http.StatusOK, v.status("/livez"))
	var known int
	require.NoError(t, db.QueryRow("SELECT max(version_id) FROM schema_version WHERE version_id < 99999").Scan(&known))
	_, err = db.Exec("UPDATE facts SET value = $1 WHERE name = 'oldest_step'", fmt.Sprint(known))
	require.NoError(t, err)
	third := begin() // of a version that the newer one works with, as the second is
	until(t, func() bool { return second.timesLeading()+third.timesLeading() == 1 }, "one of them to lead")
	require.Equal(t, http.StatusOK, v.status("/listens"))
	require.NoError(t, second.stop(syscall.SIGTERM))
	require.NoError(t, third.stop(syscall.SIGTERM))
}
