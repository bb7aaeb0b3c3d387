package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/web/ui"
)

func TestNavigationMarksTheCurrentPage(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"/": {"Status", "page"}, "/connections/spotify": {"Status", "true"}, "/health": {"Status", "true"},
		"/activity": {"Status", "true"}, "/listens": {"Listens", "page"}, "/imports": {"Listens", "true"},
		"/music/artist/1": {"Listens", "true"}, "/playlists": {"Playlists",
			"page"}, "/playlists/3": {"Playlists", "true"},
		"/deliveries": {"Sending", "page"}, "/deliveries/3/discard": {"Sending", "true"},
		"/digest/1/delete": {"Digest", "true"}, "/settings": {"Settings", "page"},
		"/settings/programs/1/revoke": {"Settings", "true"}, "/channels/1": {"Settings", "true"}, "/playlistsx": {},
	} {
		var got [2]string
		for _, n := range navigation(t.Context(), path, 0, optional{digests: true, demo: true}) {
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
		var f ui.Frame
		announce(&f, []Notification{{ID: "1", Severity: "error", Connection: "spotify"},
			{ID: "2", Severity: "warning"}}, path)
		require.True(t, f.Bell.Urgent)
		require.Equal(t, 2, f.Bell.Open)
		require.Len(t, f.Banners, 1)
		require.Equal(t, hidden, f.Banners[0].Hidden, path)
	}
}
