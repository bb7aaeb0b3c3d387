package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

func TestNavigationMarksTheCurrentPage(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"/": {"Status", "page"}, "/connections/spotify": {"Status", "true"}, "/health": {"Status", "true"},
		"/activity": {"Status", "true"}, "/listening": {"Listening", "page"}, "/listens": {"Listening", "true"},
		"/imports": {"Listening", "true"}, "/music/artist/1": {"Listening", "true"},
		"/playlists": {"Playlists", "page"}, "/playlists/3": {"Playlists", "true"},
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
		"/": true, "/connections/spotify": true, "/connections/lastfm": false,
		"/listens": false, "/connect/spotify": true, "/connect/spotify/choose": true,
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

// What was dismissed is one small line on every page, until it is about another cause.
func TestDismissedAlertsAreOneSmallLine(t *testing.T) {
	t.Parallel()
	all := []Notification{{ID: "1", Severity: "error", Connection: "spotify", Place: Small},
		{ID: "2", Severity: "error", Connection: "lastfm", Place: Small},
		{ID: "3", Severity: "warning", Connection: "youtube", Place: Small},
		{ID: "4", Severity: "error", Connection: "navidrome", Place: Banner}}
	for path, want := range map[string]*ui.Link{
		"/":                nil, // where the cards say it
		"/listens":         {Label: "2 dismissed problems", URL: "/notifications#notification-1"},
		"/connect/spotify": {Label: "1 dismissed problem", URL: "/notifications#notification-2"},
		"/notifications":   nil,
	} {
		require.Equal(t, want, quiet(t.Context(), all, path), path)
	}
	var f ui.Frame
	announce(&f, all, "/listens")
	require.Len(t, f.Banners, 1)
	require.Nil(t, quiet(t.Context(), all[2:], "/listens"), "nothing urgent was dismissed")
}

// The navigation is one row of links: five for everybody, two more where there is something behind them. What could
// not be sent is counted in it.
func TestTheNavigationIsOneRow(t *testing.T) {
	t.Parallel()
	labels := func(l *words.Language, has optional) (all []string) {
		for _, link := range navigation(words.With(t.Context(), l), "/", 0, has) {
			all = append(all, link.Label)
		}
		return all
	}
	require.Equal(t, []string{"Status", "Listening", "Playlists", "Sending", "Settings"},
		labels(words.English, optional{}))
	require.Equal(t, []string{"Status", "Gehört", "Playlists", "Senden", "Rückblick", "Einstellungen", "Demo"},
		labels(words.German, optional{digests: true, demo: true}))

	failed := navigation(t.Context(), "/deliveries", 3, optional{})
	html := uitest.HTML(t, words.English, ui.Page(ui.Frame{Language: words.English, User: "Ann", Nav: failed}))
	_, nav, _ := strings.Cut(html, "<nav ")
	nav, _, _ = strings.Cut(nav, "</nav>")
	require.Equal(t, 5, strings.Count(nav, "<a "), nav)
	require.Equal(t, 1, strings.Count(nav, "aria-current"), nav)
	require.Regexp(t, `href="/deliveries" aria-current="page"`, nav)
	require.Contains(t, nav, `<span class="unseen">3 items could not be sent</span>`)
}
