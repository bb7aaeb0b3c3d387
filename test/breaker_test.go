package test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// breakerOf returns the breaker of the endpoint from which listens are read at ListenBrainz, or nil before its first
// call.
func (v *person) breakerOf(w *demo.World) object {
	v.t.Helper()
	host, err := url.Parse(w.ListenBrainz.URL)
	require.NoError(v.t, err)
	for _, b := range v.call("GET", "/admin/breakers", nil, 200)["breakers"].([]any) {
		if b := b.(object); b["endpoint"] == "GET "+host.Host+"/1/user/{name}/listens" {
			return b
		}
	}
	return nil
}

// Promise: Only an administrator sees a breaker and can close it.
func TestAnAdministratorClosesABreaker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_BREAKER_FAILURES=2", "REPRISE_BREAKER_COOLDOWN=1h")...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	v.eventually("a closed breaker", func() bool { b := v.breakerOf(w); return b != nil && b["state"] == "closed" })
	require.Contains(t, v.page("/settings/server", 200), "none of them is paused.")

	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Unavailable))
	v.eventually("an open breaker", func() bool { return v.breakerOf(w)["state"] == "open" })
	name := v.breakerOf(w)["endpoint"].(string)
	require.NotNil(t, v.breakerOf(w)["until"])
	require.Contains(t, v.page("/settings/server", 200), name)
	v.becomes("listenbrainz", "waiting")

	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Normal))
	require.Equal(t, object{"previous_state": "open", "new_state": "closed"},
		v.call("POST", "/admin/breakers/"+url.PathEscape(name)+"/reset", nil, 200))
	require.Equal(t, object{"previous_state": "closed", "new_state": "closed"},
		v.call("POST", "/admin/breakers/"+url.PathEscape(name)+"/reset", nil, 200))
	for _, b := range v.call("GET", "/admin/breakers", nil, 200)["breakers"].([]any) { // playlists have failed too
		if b := b.(object); b["state"] != "closed" {
			v.call("POST", "/admin/breakers/"+url.PathEscape(b["endpoint"].(string))+"/reset", nil, 200)
		}
	}
	v.call("POST", "/connections/listenbrainz/retry", nil, 202)
	v.becomes("listenbrainz", "healthy")
	v.call("POST", "/admin/breakers/GET%20nowhere%2F/reset", nil, 404)
	v.call("POST", "/admin/breakers/%25zz/reset", nil, 404)

	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Unavailable))
	v.eventually("an open breaker", func() bool { return v.breakerOf(w)["state"] == "open" })
	require.Contains(t, v.submit("/settings/server/breakers/reset", url.Values{"endpoint": {name}}, 200),
		"Reprise is using it again.")

	v.call("POST", "/admin/users", object{"name": "Ben", "password": "correct horse", "role": "member"}, 201)
	ben := p.visitor()
	ben.call("POST", "/session", object{"name": "Ben", "password": "correct horse"}, 201)
	ben.call("GET", "/admin/breakers", nil, 403)
	ben.call("POST", "/admin/breakers/"+url.PathEscape(name)+"/reset", nil, 403)
	ben.page("/settings/server", 403)
}

// Promise: The breaker closes by itself when the service works again.
func TestABreakerOpensProbesAndCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_BREAKER_FAILURES=2")...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Unavailable))
	v.eventually("an open breaker", func() bool { return v.breakerOf(w)["state"] == "open" })
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Normal))
	v.eventually("a closed breaker", func() bool { return v.breakerOf(w)["state"] == "closed" })
	v.becomes("listenbrainz", "healthy")
}
