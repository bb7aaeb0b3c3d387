package test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Promise: People see their own data only.
func TestPeopleSeeOnlyTheirOwnData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	alice := p.newcomer()
	alice.consent(agree(), 200)
	alice.becomes("spotify", "healthy")
	list := alice.call("GET", "/playlists", nil, 200)["playlists"].([]any)[0].(object)["id"].(string)
	require.NoError(t, w.Switch(demo.Spotify, demo.Revoked))
	note := alice.alerted()["id"].(string)

	alice.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	bob := p.visitor()
	bob.call("POST", "/session", object{"name": "Bob", "password": password}, 201)
	require.Empty(t, bob.call("GET", "/connections", nil, 200)["connections"])
	require.Empty(t, bob.call("GET", "/listens", nil, 200)["listens"])
	require.Empty(t, bob.call("GET", "/playlists", nil, 200)["playlists"])
	require.Empty(t, bob.call("GET", "/notifications", nil, 200)["notifications"])
	bob.call("GET", "/playlists/"+list, nil, 404)
	bob.call("POST", "/notifications/"+note+"/ack", nil, 404)
	bob.call("POST", "/connections/spotify/retry", nil, 404)
	bob.call("DELETE", "/connections/spotify", nil, 404)
	require.Equal(t, []any{object{"provider": "spotify", "state": "needs_reconnect"}},
		alice.call("GET", "/health", nil, 200)["connections"])
	const trouble = "Spotify access has expired or was revoked"
	require.Contains(t, alice.page("/", 200), trouble)
	require.NotContains(t, bob.page("/", 200), trouble)
}

// Promise: A new password ends the other sessions of its person.
func TestANewPasswordEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	other := p.returning()
	other.call("GET", "/connections", nil, 200)
	v.submit("/settings/account/password",
		url.Values{"old": {"wrong"}, "new": {"another good one"}}, 422)
	require.Contains(t, v.submit("/settings/account/password",
		url.Values{"old": {password}, "new": {"another good one"}},
		200), "Your password has been changed.")
	v.call("GET", "/connections", nil, 200)
	other.call("GET", "/connections", nil, 401)
	require.Contains(t, other.page("/listens", 200), `name="after" value="/listens"`,
		"signing in leads back to where one was")
	p.visitor().call("POST", "/session", object{"name": "alice", "password": password}, 401)
}

// Promise: Failed tries to sign in are slowed down.
func TestFailedSignInsAreSlowedDown(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.newcomer()
	v := p.visitor()
	refused := false
	for range 60 { // some are free, and a slow machine gets a few more in the meantime
		resp, _ := v.send("POST", "/session", object{"name": "alice", "password": "not this one"})
		if refused = resp.StatusCode == http.StatusTooManyRequests; refused {
			break
		}
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	}
	require.True(t, refused)
}
