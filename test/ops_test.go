package test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// program calls the API with a token, and has no cookies.
type program struct {
	*person
	token string
	last  *http.Response
}

func (p *process) program(token string) *program {
	v := &program{person: p.visitor(), token: token}
	v.Transport = v
	return v
}

// RoundTrip implements http.RoundTripper.
func (v *program) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+v.token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	v.last = resp
	return resp, err
}

// token makes a personal token and returns it with its ID.
func (v *person) token(name, scope string) (secret, id string) {
	v.t.Helper()
	made := v.call("POST", "/tokens", object{"name": name, "scope": scope}, 201)
	return made["token"].(string), made["id"].(string)
}

// happened returns the messages of the activity log, the newest first.
func (v *person) happened(query string) (all []string) {
	v.t.Helper()
	for _, e := range v.call("GET", "/activity"+query, nil, 200)["activity"].([]any) {
		all = append(all, e.(object)["message"].(string))
	}
	return all
}

func (v *person) member(p *process, name string) *person {
	v.t.Helper()
	v.call("POST", "/admin/users", object{"name": name, "password": "correct horse", "role": "member"}, 201)
	m := p.visitor()
	m.call("POST", "/session", object{"name": name, "password": "correct horse"}, 201)
	return m
}

const adminToken = "sixteen-characters-and-more"

func TestTheAdminTokenBelongsToNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(adminToken+"\n"), 0o600))
	p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_ADMIN_TOKEN_FILE="+file)...)
	v, op := p.newcomer(), p.program(adminToken)
	op.call("GET", "/admin/breakers", nil, 200)
	require.Empty(t, op.last.Cookies())
	for _, path := range []string{"/connections", "/activity", "/tokens", "/health", "/events", "/events/sse"} {
		require.Contains(t, op.call("GET", path, nil, 403)["detail"], "belongs to no person", path)
	}
	op.call("POST", "/tokens", object{"name": "x", "scope": "admin"}, 403)

	ben := object{"name": "Ben", "password": "correct horse", "role": "member"}
	made := op.call("POST", "/admin/users", ben, 201)
	require.Equal(t, []any{"absent", "present"}, []any{made["previous_state"], made["new_state"]})
	again := op.call("POST", "/admin/users", ben, 200)
	require.Equal(t, []any{"present", "present", made["id"]},
		[]any{again["previous_state"], again["new_state"], again["id"]})
	op.call("POST", "/admin/users", object{"name": "ben", "password": "another password", "role": "member"}, 409)
	op.call("POST", "/admin/users", object{"name": "Ben", "password": "correct horse", "role": "admin"}, 409)
	require.Len(t, op.call("GET", "/admin/users", nil, 200)["users"], 2)
	require.Equal(t, []string{"Someone with the admin token added Ben."}, v.happened(""))

	// Wrong guesses are slowed down, and lock nobody out who has the right token. A personal token cannot be guessed
	// and goes on working.
	secret, _ := v.token("dashboard", "read")
	guess := p.program("not-the-one-" + adminToken)
	for range 10 {
		guess.call("GET", "/admin/users", nil, 401)
	}
	guess.call("GET", "/admin/users", nil, 429)
	require.Equal(t, "2", guess.last.Header.Get("Retry-After"))
	op.call("GET", "/admin/users", nil, 200)
	p.program(secret).call("GET", "/listens", nil, 200)
	require.NotContains(t, p.log.String(), adminToken)
}

// keyOf returns a key of YouTube, by the end of its last four characters.
func (v *person) keyOf(last string) object {
	v.t.Helper()
	for _, k := range v.call("GET", "/admin/keys", nil, 200)["keys"].([]any) {
		if k := k.(object); strings.HasSuffix(k["last_four"].(string), last) {
			return k
		}
	}
	require.Fail(v.t, "there is no such key", last)
	return nil
}

// Promise: A spent key that an administrator resets is used at once.
func TestAnAdministratorResetsAKey(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, demo.Options{Plays: 60}), t.TempDir()
	p := start(t, dir, append(youtubeEnv(w), "REPRISE_ADMIN_TOKEN="+adminToken)...)
	v := p.newcomer()
	v.consentAtGoogle(w, agree(), 200)
	v.becomes("youtube", "healthy")
	v.eventually("liked videos", func() bool { return v.liked() == 30 })
	require.NoError(t, w.Switch(demo.YouTube, demo.KeysSpent))
	v.eventually("cooling keys", func() bool {
		w.Like()
		return v.keyOf("1")["state"] == "cooling" && v.keyOf("2")["state"] == "cooling"
	})
	lastFour := v.keyOf("1")["last_four"].(string)
	require.Equal(t, "cooling", v.keyOf("1")["state"])
	require.NoError(t, w.Switch(demo.YouTube, demo.Normal))
	require.NoError(t, p.stop(syscall.SIGTERM))
	startAt(t, dir, strings.TrimPrefix(p.url, "http://"), append(youtubeEnv(w), "REPRISE_ADMIN_TOKEN="+adminToken)...)
	require.Equal(t, "cooling", v.keyOf("1")["state"])

	require.Contains(t, v.page("/settings/server", 200), "Try now…")
	require.Contains(t, v.page("/settings/server/keys/youtube/"+lastFour+"/reset", 200), "want it used before")
	require.Equal(t, object{"previous_state": "cooling", "new_state": "ready"},
		p.program(adminToken).call("POST", "/admin/keys/youtube/"+lastFour+"/reset", nil, 200))
	v.becomes("youtube", "healthy", "syncing")
	require.Equal(t, object{"previous_state": "ready", "new_state": "ready"},
		v.call("POST", "/admin/keys/youtube/"+lastFour+"/reset", nil, 200))
	require.Equal(t, "ready", v.keyOf("1")["state"])
	require.Equal(t, "cooling", v.keyOf("2")["state"])
	all := strings.Join(v.happened("?provider=youtube"), "\n")
	require.Equal(t, 1, strings.Count(all,
		"Someone with the admin token put the YouTube key …"+lastFour+" back into use."))
	v.eventually("no alert", func() bool { return len(v.openAlerts()) == 0 })

	require.Contains(t,
		v.submit("/settings/server/keys/youtube/"+v.keyOf("2")["last_four"].(string)+"/reset", nil, 200),
		"The key is in use again")
	require.Equal(t, "ready", v.keyOf("2")["state"])
	v.call("POST", "/admin/keys/youtube/none/reset", nil, 404)
	v.call("POST", "/admin/keys/spotify/"+lastFour+"/reset", nil, 404)
	ben := v.member(p, "Ben")
	ben.call("GET", "/admin/keys", nil, 403)
	ben.call("POST", "/admin/keys/youtube/"+lastFour+"/reset", nil, 403)
}

// Promise: A refused key stays out of use across a restart, until somebody resets it.
func TestARefusedKeyStaysRefusedAfterARestart(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w, dir := newWorld(t, demo.Options{Plays: 60}), t.TempDir()
	p := start(t, dir, youtubeEnv(w)...)
	v := p.newcomer()
	v.consentAtGoogle(w, agree(), 200)
	v.eventually("liked videos", func() bool { return v.liked() == 30 })
	require.NoError(t, w.Switch(demo.YouTube, demo.KeyInvalid))
	v.likesUntil(w, "it isn&#39;t valid")
	require.Equal(t, "refused", v.keyOf("3")["state"])
	lastFour := v.keyOf("3")["last_four"].(string)
	require.Contains(t, v.happened("?provider=youtube")[0], "YouTube rejected this server's key …"+lastFour)
	require.NoError(t, p.stop(syscall.SIGTERM))
	startAt(t, dir, strings.TrimPrefix(p.url, "http://"), youtubeEnv(w)...)
	require.Equal(t, "refused", v.keyOf("3")["state"])
	require.Equal(t, "it isn't valid", v.keyOf("3")["reason"])
	require.NoError(t, w.Switch(demo.YouTube, demo.Normal))
	require.Equal(t, "refused", v.call("POST", "/admin/keys/youtube/"+lastFour+"/reset", nil, 200)["previous_state"])
	require.Equal(t, "ready", v.keyOf("3")["state"])
}

// Promise: The activity log lists what people and the server did; each person sees only their own part.
func TestTheActivityLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_BREAKER_FAILURES=2")...)
	v := p.newcomer()
	require.Contains(t, v.page("/activity", 200), "Nothing yet. What you connect")
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	v.call("POST", "/connections/listenbrainz/pause", nil, 202)
	v.call("POST", "/connections/listenbrainz/resume", nil, 202)
	v.becomes("listenbrainz", "healthy")
	require.Equal(t, []string{"Alice resumed ListenBrainz.", "Alice paused ListenBrainz.",
		"Alice connected ListenBrainz as " + demo.Alice + "."}, v.happened(""))
	require.Contains(t, v.page("/connections/listenbrainz", 200), "Alice paused ListenBrainz.")

	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	v.becomes("listenbrainz", "needs_reconnect")
	v.eventually("the stop in the log", func() bool {
		return strings.HasPrefix(v.happened("?limit=1")[0], "Reprise no longer contacts ListenBrainz.")
	})
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	require.Equal(t, "Alice reconnected ListenBrainz as "+demo.Alice+".", v.happened("?limit=1")[0])
	v.becomes("listenbrainz", "healthy")

	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Unavailable))
	v.eventually("an open breaker", func() bool {
		return strings.Contains(strings.Join(v.happened(""), "\n"),
			"ListenBrainz: not responding when Reprise reads listens.")
	})
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Normal))
	v.eventually("a closed breaker", func() bool {
		return strings.Contains(strings.Join(v.happened(""), "\n"), "ListenBrainz: reading listens works again.")
	})
	ben := v.member(p, "Ben")
	require.Contains(t, v.happened(""), "Alice added Ben.")

	// Ben sees his own entries, and none of other people or of the installation.
	signedIn := "Ben signed in with Go-http-client from 127.0.0.1."
	require.Equal(t, []string{signedIn}, ben.happened(""))
	ben.submit("/settings/account/password", url.Values{"old": {"correct horse"}, "new": {"another horse"}}, 200)
	require.Equal(t, []string{"Ben changed the password.", signedIn}, ben.happened(""))
	require.Contains(t, ben.page("/activity", 200), "Ben changed the password.")
	require.NotContains(t, strings.Join(v.happened("?limit=1000"), ""), "Ben changed")

	// By page, and by service.
	first := v.call("GET", "/activity?limit=2", nil, 200)
	require.Len(t, first["activity"], 2)
	rest := v.call("GET", "/activity?limit=1000&before="+first["next"].(string), nil, 200)
	require.Nil(t, rest["next"])
	require.GreaterOrEqual(t, len(v.happened("?limit=1000")), 2+len(rest["activity"].([]any)))
	for _, e := range v.call("GET", "/activity?provider=listenbrainz", nil, 200)["activity"].([]any) {
		require.Equal(t, "listenbrainz", e.(object)["provider"])
	}
	v.call("GET", "/activity?provider=nobody", nil, 400)
	v.call("GET", "/activity?before=x", nil, 400)
	require.Contains(t, v.page("/activity?provider=spotify", 200), "Nothing about this service in the last 90 days.")

	v.call("DELETE", "/connections/listenbrainz?data=delete", nil, 204)
	require.Contains(t, v.happened(""), "Alice disconnected ListenBrainz. What came only from there was deleted.")
}
