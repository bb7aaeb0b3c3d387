package test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/supysonictest"
)

// It uses a real Subsonic server.
//
// Promise: A real Subsonic server is read, and gets each play once.
func TestARealSubsonicServer(t *testing.T) {
	t.Parallel()
	sub := supysonictest.Start(t)
	sub.CreatePlaylist("Rain", supysonictest.Titles[0], supysonictest.Titles[1])
	p := start(t, t.TempDir(), "REPRISE_SYNC_LISTENS_EVERY=1s", "REPRISE_SYNC_PLAYLISTS_EVERY=1s",
		"REPRISE_BACKOFF_BASE=100ms")
	v := p.newcomer()
	fields := object{"url": sub.URL, "username": sub.Username, "password": "wrong"}
	v.call("PUT", "/connections/navidrome", fields, 422)
	fields["password"] = sub.Password
	v.call("PUT", "/connections/navidrome", fields, 200)
	v.becomes("navidrome", "healthy")
	lists := v.call("GET", "/playlists", nil, 200)["playlists"].([]any)
	require.Len(t, lists, 1)
	tracks := v.call("GET", "/playlists/"+lists[0].(object)["id"].(string), nil, 200)["tracks"].([]any)
	require.Len(t, tracks, 2)
	require.Equal(t, supysonictest.Titles[0], tracks[0].(object)["track"])

	sub.SetPassword("changed-at-the-server")
	v.alerted()
	require.Equal(t, "needs_reconnect", v.state("navidrome"))
	fields["password"] = "changed-at-the-server"
	v.call("PUT", "/connections/navidrome", fields, 200)
	v.becomes("navidrome", "healthy")
	require.Empty(t, v.call("GET", "/notifications?open=true", nil, 200)["notifications"])
}
