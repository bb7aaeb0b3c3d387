package test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
)

// fleeting is what differs between two pages that were asked for one after the other.
var fleeting = regexp.MustCompile(`name="csrf" value="[^"]*"|nonce-[^"]*|data-serial="\d+"`)

// twoServers starts two servers that share a database. The first one leads.
func twoServers(t *testing.T, database string, w *demo.World) (first, second *process) {
	t.Helper()
	begin := func() *process {
		return startWith(t, []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}, clusterOf(database, w)...)
	}
	first = begin()
	until(t, func() bool { return first.timesLeading() == 1 }, "a leader")
	return first, begin()
}

// nobodyLeads keeps the servers of a database from taking the lead until end is called.
func nobodyLeads(t *testing.T, database string) (end func()) {
	t.Helper()
	kept, err := sql.Open("pgx", database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, kept.Close()) })
	nobody, err := kept.Begin()
	require.NoError(t, err)
	_, err = nobody.Exec("SELECT 1 FROM leader FOR UPDATE")
	require.NoError(t, err)
	return func() { require.NoError(t, nobody.Rollback()) }
}

func (p *process) timesFollowing() int {
	return strings.Count(p.log.String(), "this server follows the leader")
}

// Promise: Every server of a database shows the same, at once, and goes on showing it while the others hang.
func TestEveryServerShowsTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	database := postgrestest.Start(t).Database("reprise")
	first, second := twoServers(t, database, w)
	v := first.newcomer()
	there := v.at(second)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Bob, "password": w.Navidrome.Password(demo.Bob)}, 200)
	for _, name := range []string{"listenbrainz", "navidrome"} {
		v.becomes(name, "healthy")
	}
	secret := v.call("POST", "/players", object{"name": "Radio", "kind": "listenbrainz"}, 201)["secret"].(string)
	answering := func(times int) {
		until(t, func() bool { return second.timesFollowing() == times }, "a second that answers")
	}
	answering(1)

	for _, path := range there.walk() {
		there.eventually(path, func() bool {
			want, got := v.page(path, http.StatusOK), there.page(path, http.StatusOK)
			got = strings.ReplaceAll(got, second.url, first.url)
			return fleeting.ReplaceAllString(want, "") == fleeting.ReplaceAllString(got, "")
		})
	}

	here, _ := v.open()
	beside, _ := there.open()
	require.True(t, devices["listenbrainz"](second.url, secret, "Hunter", time.Now().Add(-time.Minute)))
	here.next("listens", func(object) bool { return true })
	beside.next("listens", func(object) bool { return true })
	w.Play()
	v.call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	beside.next("connection", func(data object) bool { return data["state"] == "syncing" })
	beside.next("listens", func(object) bool { return true })
	code, _ := answers(second.url, "/1/submit-listens", secret, "application/json", `{"listen_type":"playing_now",
		"payload":[{"track_metadata":{"artist_name":"Björk","track_name":"Jóga"}}]}`)
	require.Equal(t, http.StatusOK, code)
	here.next("now_playing", func(object) bool { return true })
	require.Contains(t, v.page("/now", http.StatusOK), "Jóga")
	require.Contains(t, there.page("/now", http.StatusOK), "Jóga")
	v.call("PUT", "/connections/navidrome/forwarding", object{}, http.StatusOK)
	require.True(t, devices["listenbrainz"](second.url, secret, "Bachelorette", time.Now()))
	until(t, func() bool {
		for _, play := range w.Navidrome.Scrobbled() {
			if play.Title == "Bachelorette" {
				return true
			}
		}
		return false
	}, "what the second server has taken to be sent")
	v.call("PATCH", "/account", object{"time_zone": "Asia/Tokyo"}, http.StatusOK)
	require.Equal(t, "Asia/Tokyo", there.call("GET", "/account", nil, http.StatusOK)["time_zone"])
	v.call("PATCH", "/admin/settings", object{"base_url": "https://music.example.org"}, http.StatusOK)
	there.eventually("the new address", func() bool {
		return strings.Contains(there.page("/export", http.StatusOK), "https://music.example.org/api/v1/feed.atom")
	})

	answering(2)
	require.Contains(t, first.scrapeText(), "reprise_servers")
	require.NotContains(t, second.scrapeText(), "reprise_servers", "it would be counted twice")
	end := nobodyLeads(t, database)
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGSTOP))
	for _, path := range []string{"/", "/listening", "/listens", "/playlists", "/search?q=a", "/help"} {
		there.page(path, http.StatusOK)
	}
	require.True(t, devices["listenbrainz"](second.url, secret, "All Is Full of Love", time.Now()))
	require.Zero(t, second.timesLeading())
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
	end()
}

// Promise: Servers share the calls: each service is called by one of them, whichever a person asks, and by another one
// within seconds when that is killed.
func TestServersShareTheCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	database := postgrestest.Start(t).Database("reprise")
	first, second := twoServers(t, database, w)
	v := first.newcomer()
	both := []*person{v, v.at(second)}
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Bob, "password": w.Navidrome.Password(demo.Bob)}, 200)
	caller := func() (by map[string]*process) {
		by = map[string]*process{}
		all := v.call("GET", "/admin/servers", nil, http.StatusOK)["servers"].([]any)
		for i, s := range all {
			for _, name := range s.(object)["calls"].([]any) {
				service, _, _ := strings.Cut(name.(string), " ")
				by[service] = []*process{first, second}[i] // the leader comes first
			}
		}
		return by
	}
	until(t, func() bool {
		by := caller()
		return by["ListenBrainz"] != nil && by["Navidrome"] != nil && by["ListenBrainz"] != by["Navidrome"]
	}, "each to call one")
	require.Contains(t, v.page("/health", http.StatusOK), "Navidrome (127.0.0.1")
	for _, name := range []string{"listenbrainz", "navidrome"} {
		v.becomes(name, "healthy")
		for _, there := range both {
			at := "/connections/" + name
			there.call("POST", at+"/sync", nil, http.StatusAccepted)
			there.call("POST", at+"/pause", nil, http.StatusAccepted)
			for _, other := range both {
				require.Equal(t, "paused", other.call("GET", at, nil, http.StatusOK)["state"])
			}
			there.call("POST", at+"/resume", nil, http.StatusAccepted)
			there.call("POST", at+"/retry", nil, http.StatusAccepted)
			there.becomes(name, "healthy")
			there.submit("/connections/"+name+"/sync", nil, http.StatusOK)
		}
	}
	calls := func(p *process) (n int) {
		for line := range strings.Lines(p.log.String()) {
			if strings.Contains(line, `"upstream attempt"`) && strings.Contains(line, `"provider":"listenbrainz"`) {
				n++
			}
		}
		return n
	}
	by := caller()
	brainz, home := by["ListenBrainz"], by["Navidrome"]
	before := calls(home)
	w.Play()
	both[0].call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	both[1].eventually("the play", func() bool { return both[1].total() == 61 })
	require.Equal(t, before, calls(home))
	require.Positive(t, calls(brainz))

	v = v.at(home)
	require.Error(t, brainz.stop(syscall.SIGKILL))
	w.Play()
	v.eventually("the other to go on", func() bool { return v.total() == 62 })
	v.call("DELETE", "/connections/listenbrainz", nil, http.StatusNoContent)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.becomes("listenbrainz", "healthy")
}

// Promise: Servers share the imports of people's files, whichever receives them; when one is killed, another goes on
// where it was, and nothing is doubled.
func TestServersShareTheImports(t *testing.T) {
	t.Parallel()
	const plays = 4000
	w := newWorld(t, demo.Options{Plays: 1})
	database := postgrestest.Start(t).Database("reprise")
	first, second := twoServers(t, database, w)
	v := first.newcomer()
	people := []*person{v.at(second)}
	for i := range 7 { // no server has the shares of as many
		people = append(people, v.member(first, fmt.Sprintf("Guest %d", i)).at(second))
	}
	until(t, func() bool {
		for _, s := range v.call("GET", "/admin/servers", nil, http.StatusOK)["servers"].([]any) {
			if !slices.Contains(s.(object)["calls"].([]any), any("imports (6 of 12)")) {
				return false
			}
		}
		return true
	}, "both to have half of the imports")
	require.Contains(t, v.page("/health", http.StatusOK), "imports (6 of 12)")
	file := export(t, plays)
	for _, one := range people {
		require.Equal(t, 201, one.sendFile("provider=spotify", bytes.NewReader(file)).StatusCode)
	}
	until(t, func() bool { return strings.Contains(first.log.String(), `"import done"`) }, "the first to read one")
	require.Error(t, first.stop(syscall.SIGKILL))
	for _, one := range people {
		one.eventually("the file is read", func() bool { return one.lastImport()["state"] == "done" })
		require.EqualValues(t, plays, one.lastImport()["added"])
		require.Contains(t, one.page("/listens", http.StatusOK), "4,000 listens")
	}
}

// Promise: Any server makes the first account, once, and people sign in, change what asks no service, and sign out
// while nobody leads.
func TestAnyServerSignsPeopleIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 10})
	database := postgrestest.Start(t).Database("reprise")
	first, second := twoServers(t, database, w)
	require.NotEmpty(t, first.code)
	require.Equal(t, first.code, second.code)
	until(t, func() bool { return second.timesFollowing() == 1 }, "a follower")
	both := []*process{first, second}
	for _, p := range both {
		require.Contains(t, p.visitor().page("/login", http.StatusOK), "/setup", "before the first account")
	}
	codes := make([]int, 2)
	var setups sync.WaitGroup
	for n, name := range []string{"Alice", "Mallory"} {
		setups.Go(func() {
			answer, _ := both[n].visitor().send("POST", "/setup",
				object{"code": first.code, "name": name, "password": password})
			codes[n] = answer.StatusCode
		})
	}
	setups.Wait()
	require.ElementsMatch(t, []int{http.StatusCreated, http.StatusConflict}, codes)
	name := []string{"Alice", "Mallory"}[slices.Index(codes, http.StatusCreated)]
	for _, p := range both {
		p.visitor().call("POST", "/setup", object{"code": first.code, "name": "Eve", "password": password},
			http.StatusConflict)
		require.NotContains(t, p.visitor().page("/login", http.StatusOK), "setup")
	}

	end := nobodyLeads(t, database)
	require.Error(t, first.stop(syscall.SIGKILL))
	v := second.visitor()
	v.submit("/login", url.Values{"name": {name}, "password": {password}}, http.StatusOK)
	v.call("PATCH", "/account", object{"time_zone": "Asia/Tokyo"}, http.StatusOK)
	require.Equal(t, "Asia/Tokyo", v.call("GET", "/account", nil, http.StatusOK)["time_zone"])
	token := v.call("POST", "/tokens", object{"name": "Script", "scope": "read"}, http.StatusCreated)
	v.call("DELETE", "/tokens/"+token["id"].(string), nil, http.StatusNoContent)
	v.call("POST", "/players", object{"name": "Radio", "kind": "listenbrainz"}, http.StatusCreated)
	link := v.call("POST", "/admin/invitations", object{}, http.StatusCreated)["url"].(string)
	guest := second.visitor()
	require.Contains(t, guest.page(strings.TrimPrefix(link, second.url), http.StatusOK), "password")
	v.submit("/logout", nil, http.StatusOK)
	v.call("GET", "/account", nil, http.StatusUnauthorized)
	require.Zero(t, second.timesLeading())
	end()
}

// Promise: Guesses through several servers are as few as through one.
func TestServersCountGuessesTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 10})
	first, second := twoServers(t, postgrestest.Start(t).Database("reprise"), w)
	first.newcomer()
	until(t, func() bool { return second.timesFollowing() == 1 }, "a follower")
	refused := make([]bool, 2)
	all := make([]string, 0, 40)
	for n := range 40 { // ten are free, and a slow machine gets a few more in the meantime
		at := []*process{first, second}[n%2]
		answer, _ := at.from(n+1).send("POST", "/session", object{"name": "alice", "password": "not this one"})
		all = append(all, answer.Status)
		refused[n%2] = refused[n%2] || answer.StatusCode == http.StatusTooManyRequests
		if n < 10 {
			require.Equal(t, http.StatusUnauthorized, answer.StatusCode, all)
		}
	}
	require.Equal(t, []bool{true, true}, refused, "the account's tries of both: %v", all)
}
