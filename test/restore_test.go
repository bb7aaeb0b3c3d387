package test

import (
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
)

// carried waits until a play has arrived at ListenBrainz, and nothing is waiting to be sent.
func (v *person) carried(w *demo.World, last demo.Play) {
	v.t.Helper()
	v.eventually("everything to be carried", func() bool {
		counts := v.call("GET", "/deliveries", nil, http.StatusOK)["counts"].(object)
		for _, state := range []string{"scheduled", "running", "retrying", "parked"} {
			if counts[state].(float64) > 0 {
				return false
			}
		}
		return count(w.ListenBrainz.Listens(demo.Bob))[idOf(last)] > 0 && count(w.Navidrome.Scrobbled())[idOf(last)] > 0
	})
}

// Promise: A restored backup sends nothing again, and brings back nothing that was removed or revoked since.
func TestARestoredBackupBringsNothingBack(t *testing.T) {
	t.Parallel()
	if postgrestest.On() {
		t.Skip("pg_restore puts back what Postgres keeps")
	}
	w, clock, p, v, env := carryWorld(t)
	dir, file := p.cmd.Args[2], filepath.Join(t.TempDir(), "copy.db")
	for _, name := range []string{"listenbrainz", "navidrome"} {
		v.call("PUT", "/connections/"+name+"/forwarding", object{"earlier": true}, 200)
	}
	var played []demo.Play
	play := func() {
		for range 3 {
			clock.turn(11 * time.Minute)
			played = append(played, w.PlayOwned())
		}
	}
	last := func() demo.Play { return played[len(played)-1] }
	play()
	v.carried(w, last())
	for _, name := range []string{demo.ListenBrainz, demo.Navidrome} {
		require.NoError(t, w.Switch(name, demo.Unavailable))
	}
	play()
	v.eventually("plays that wait", func() bool {
		counts := v.call("GET", "/deliveries", nil, 200)["counts"].(object)
		return counts["scheduled"].(float64)+counts["retrying"].(float64) >= 2
	})

	ben := v.member(p, "Ben")
	benToken, _ := ben.token("phone", "operate")
	lost, id := v.token("lost laptop", "admin")
	kept, _ := v.token("script", "read")
	sold := v.call("POST", "/players", object{"name": "sold phone", "kind": "any"}, 201)
	renewed := v.call("POST", "/players", object{"name": "kitchen", "kind": "any"}, 201)
	code := path.Base(v.call("POST", "/admin/invitations", object{"name": "Carol"}, 201)["url"].(string))
	profile := func(parts ...string) object {
		return object{"name": "Alice", "span": "12-months", "parts": parts}
	}
	v.call("PUT", "/profile", profile("artists", "latest", "loved"), 200)
	_, err := command(t, "", nil, "backup", file, "-data-dir", dir)
	require.NoError(t, err)

	v.call("PUT", "/profile", profile("artists"), 200)
	for _, name := range []string{demo.ListenBrainz, demo.Navidrome} {
		require.NoError(t, w.Switch(name, demo.Normal))
		v.call("POST", "/connections/"+name+"/retry", nil, 202)
	}
	play()
	v.carried(w, last())
	v.call("DELETE", "/tokens/"+id, nil, 204)
	v.call("DELETE", "/players/"+sold["id"].(string), nil, 204)
	now := v.call("POST", "/players/"+renewed["id"].(string)+"/secret", nil, 200)
	v.call("DELETE", "/admin/users/2", nil, 202)
	p.visitor().call("POST", "/invitation", object{"code": code, "name": "Carol", "password": "a good password"}, 201)
	v.submit("/settings/account/password", url.Values{"old": {password}, "new": {"another good one"}}, 200)

	_, err = command(t, "", nil, "restore", file, "-data-dir", dir)
	require.ErrorContains(t, err, "another Reprise is running with the data directory "+dir)
	alone := t.TempDir()
	_, err = command(t, "", nil, "restore", file, "-data-dir", alone)
	require.ErrorContains(t, err, "Put the key that belongs to "+file+" there first")
	require.NoFileExists(t, filepath.Join(alone, keyFile))
	require.NoError(t, p.stop(syscall.SIGTERM))
	require.NoError(t, os.WriteFile(filepath.Join(alone, keyFile), []byte(read(t, filepath.Join(dir, keyFile))), 0o600))

	for _, dir := range []string{alone, dir} {
		said, err := command(t, "", nil, "restore", file, "-data-dir", dir)
		require.NoError(t, err)
		compared := dir != alone
		p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), env...)
		require.Equal(t, 401, v.at(p).status("/api/v1/account"), "the session has ended")
		p.visitor().call("POST", "/invitation", object{"code": code, "name": "Eve", "password": "a good password"}, 410)
		require.Equal(t, 200, p.program(kept).status("/api/v1/connections"))
		back := p.visitor()
		if compared {
			require.Contains(t, said, "stay removed:\n  people: Ben\n  access tokens: Alice: lost laptop, Ben: phone\n")
			require.Regexp(t, `in the copy, [1-9]\d* listens were sent since`, said)
			require.Equal(t, 401, p.program(lost).status("/api/v1/connections"))
			for _, secret := range []any{sold["secret"], renewed["secret"]} {
				code, _ := answers(p.url, "/1/submit-listens", secret.(string), "application/json", "{}")
				require.Equal(t, 401, code)
			}
			code, _ := answers(p.url, "/1/playing-now/delete", now["secret"].(string), "application/json", "{}")
			require.Equal(t, 200, code)
			require.Equal(t, 401, p.program(benToken).status("/api/v1/connections"))
			back.call("POST", "/session", object{"name": "Ben", "password": "correct horse"}, 401)
			back.call("POST", "/session", object{"name": "Alice", "password": password}, 401)
			back.call("POST", "/session", object{"name": "Alice", "password": "another good one"}, 201)
			shown := back.call("GET", "/profile", nil, 200)["parts"]
			require.Equal(t, []any{"artists"}, shown, "the rest was hidden since")
		} else {
			require.Contains(t, said, "has to go:\n  people: Alice, Ben\n"+
				"  access tokens: Alice: lost laptop, Alice: script, Ben: phone\n")
			back.call("POST", "/session", object{"name": "Alice", "password": password}, 201)
		}
		for _, name := range []string{demo.ListenBrainz, demo.Navidrome} { // they were down
			back.call("POST", "/connections/"+name+"/retry", nil, 202)
		}
		play()
		back.carried(w, last())
		brainz, home := count(w.ListenBrainz.Listens(demo.Bob)), count(w.Navidrome.Scrobbled())
		for _, one := range played {
			require.Equal(t, []int{1, 1}, []int{brainz[idOf(one)], home[idOf(one)]}, "%s at %s", one.Title, one.At)
		}
		require.NoError(t, p.stop(syscall.SIGTERM))
	}
}
