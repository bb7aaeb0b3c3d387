package navidrome_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

func TestPlaylists(t *testing.T) {
	t.Parallel()
	var asked []string
	routes := navidromeRoutes(t)
	routes["/music/rest/getPlaylist.view"] = func(req *http.Request) (int, http.Header, string) {
		asked = append(asked, req.FormValue("id"))
		if slices.Contains(asked, "") || req.URL.Query().Has("id") {
			return 400, nil, ""
		}
		return 200, nil, providertest.Golden(t, "playlist.json")
	}
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Routes(routes)),
		merge(geoff, library.Credentials{"auth": "token", "form": "yes"}))
	lists, err := playlists(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, []library.Playlist{
		{SourceID: "2oLgAYDkWcN0LNPHGM5nLr", Name: "Rain", Snapshot: "2026-10-11T07:30:00.987654321Z/3", TrackCount: 3},
		{SourceID: "L211c2ljL1JhaW4.bTN1-", Name: "From a file", Snapshot: "2026-01-03T18:04:05/0"},
		{SourceID: "12", Name: "Numbered", TrackCount: 2},
	}, lists)
	for _, l := range lists {
		got, err := tracks(t.Context(), a, l)
		require.NoError(t, err)
		require.Len(t, got, 3)
		require.Equal(t, library.Track{
			Title: "Riders on the Storm", Artist: "The Doors", Album: "L.A. Woman", Duration: 434e9,
			ISRC: "USEE19900741", RecordingMBID: "5be29ccd-5d9d-4b3c-a9a7-bd3d4e0bdcd7",
			SourceID: "0Zk7y3wU8rVgR5xLq2sTnB",
		}, got[0])
		require.Equal(t, "GBBKS1000346", got[1].ISRC)
		require.Equal(t, "Prince • The Revolution", got[2].Artist)
	}
	require.Equal(t, []string{"2oLgAYDkWcN0LNPHGM5nLr", "L211c2ljL1JhaW4.bTN1-", "12"}, asked)
}

// TestAPlaylistWithoutAnID expects a contract error, because such a playlist cannot be read.
func TestAPlaylistWithoutAnID(t *testing.T) {
	t.Parallel()
	const body = `{"subsonic-response":{"status":"ok","playlists":{"playlist":[` +
		`{"id":"1","name":"Rain"},{"name":"Sunday"}]}}}`
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Always(200, body)),
		merge(geoff, library.Credentials{"auth": "token"}))
	_, err := playlists(t.Context(), a)
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%v", err)
}
