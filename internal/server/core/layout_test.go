package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNavigationMarksTheCurrentPage(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"/": {"Status", "page"}, "/connections/spotify": {"Status", "true"}, "/health": {"Status", "true"},
		"/activity": {"Status", "true"}, "/listens": {"Listens", "page"}, "/imports": {"Listens", "true"},
		"/music/artist/1": {"Listens", "true"}, "/playlists": {"Playlists",
			"page"}, "/playlists/3": {"Playlists", "true"},
		"/deliveries": {"Deliveries", "page"}, "/deliveries/3/discard": {"Deliveries", "true"},
		"/digest/1/delete": {"Digest", "true"}, "/settings": {"Settings", "page"},
		"/settings/tokens/1/revoke": {"Settings", "page"}, "/channels/1": {"Settings", "true"}, "/playlistsx": {},
	} {
		l := layout{digests: true, demo: true}
		l.setPath(path)
		var got [2]string
		for _, n := range l.Nav {
			if n.Current != "" {
				require.Empty(t, got, path)
				got = [2]string{n.Label, n.Current}
			}
		}
		require.Equal(t, want, got, path)
	}
}

func TestBannersHideWhereTheirCauseIsSolved(t *testing.T) {
	t.Parallel()
	for path, hidden := range map[string]bool{
		"/": false, "/listens": false, "/connect/spotify": true, "/connect/spotify/choose": true,
		"/connect/lastfm": false, "/notifications": true,
	} {
		var l layout
		l.setOpen([]Notification{{ID: "1", Severity: "error", Connection: "spotify"}, {ID: "2", Severity: "warning"}})
		l.setPath(path)
		require.True(t, l.Urgent)
		require.Equal(t, 2, l.Open)
		require.Len(t, l.Banners, 1)
		require.Equal(t, hidden, l.Banners[0].Hidden, path)
	}
}
