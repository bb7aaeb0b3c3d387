package playlists_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// Promise: What a person's copied playlists lack on their server is one list by album, those first that would bring the
// most songs.
func TestWhatPlaylistsLackIsOneListByAlbum(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/playlists/missing/navidrome"), "Nothing is missing")
		song := func(title, album string) library.Track {
			return library.Track{Title: title, Artist: "Sigur Rós", Album: album, SourceID: "id of " + title}
		}
		h.Far.Has = []library.Track{{Title: "One", Artist: "Sigur Rós", SourceID: "one there"}}
		for name, tracks := range map[string][]library.Track{
			"Rain": {song("One", "Há"), song("Two", "Takk"), song("Three", "Takk"), song("Five", "")},
			"Snow": {song("One", "Há"), song("Two", "Takk"), song("Four", "Valtari")},
		} {
			require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "listenbrainz",
				library.Playlist{SourceID: name, Name: name}, 0, tracks))
		}
		all, err := h.DB.ConnectionPlaylists(t.Context(), h.User, "listenbrainz")
		require.NoError(t, err)
		for _, l := range all {
			at := "/playlists/" + strconv.FormatInt(l.ID, 10)
			h.Call(http.MethodPut, at+"/copies/navidrome", "{}", http.StatusAccepted)
			h.Carry()
		}
		missing := h.Call(http.MethodGet, "/connections/navidrome/missing", "", 200)
		require.Equal(t, 4.0, missing["songs"])
		first := missing["albums"].([]any)[0].(map[string]any)
		require.Equal(t, "Takk", first["album"])
		two := first["songs"].([]any)[0].(map[string]any)
		require.Equal(t, "Two", two["track"])
		require.ElementsMatch(t, []any{"Rain", "Snow"}, two["playlists"])
		page := h.Page("/playlists/missing/navidrome")
		require.Contains(t, page, "4 songs of your copied playlists aren&#39;t there.")
		require.Contains(t, page, "The first 2 albums would bring 3 of them.")
		require.Contains(t, page, "2 songs: Two, Three")
		require.Contains(t, page, "Without a known album")
		w := h.Do(http.MethodGet, "/api/v1/connections/navidrome/missing.csv", "", "")
		require.Contains(t, w.Body.String(), "Sigur Rós,Takk,Two,")
		require.Contains(t, h.Page("/playlists/"+strconv.FormatInt(all[0].ID, 10)), "/playlists/missing/navidrome")
		h.Call(http.MethodGet, "/connections/nobody/missing", "", 404)
	})
}
