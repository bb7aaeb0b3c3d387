package playlists_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// songs are tracks of the service that a playlist comes from.
func songs(titles ...string) (all []library.Track) {
	for _, title := range titles {
		all = append(all, library.Track{Title: title, Artist: "Sigur Rós", SourceID: "id of " + title})
	}
	return all
}

// Promise: A playlist that has lost songs is restored where it comes from, copied as it was to another service, or
// downloaded, and what it is like now stays in its history.
func TestAPlaylistIsRestoredAsItWas(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		save := func(name string, all []library.Track) {
			require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "navidrome",
				library.Playlist{SourceID: "there", Name: name}, 0, all))
		}
		save("Rain", songs("One", "Two", "Three"))
		id := h.Call(http.MethodGet, "/playlists", "", 200)["playlists"].([]any)[0].(map[string]any)["id"].(string)
		require.Contains(t, h.Page("/playlists/"+id+"/history"), "Nothing has changed")
		save("Snow", songs("Three", "Four"))

		all := h.Call(http.MethodGet, "/playlists/"+id+"/versions", "", 200)["versions"].([]any)
		require.Len(t, all, 1)
		v := all[0].(map[string]any)
		require.Equal(t, []any{"Rain", 1.0, 2.0, 0.0}, []any{v["name"], v["came"], v["went"], v["moved"]})
		page := h.Page("/playlists/" + id + "/history")
		require.Contains(t, page, "1 added, 2 removed")
		require.Contains(t, page, "renamed, from Rain")
		require.Contains(t, h.Page("/playlists/"+id), "/playlists/"+id+"/history")

		at := "/playlists/" + id + "/versions/1"
		one := h.Call(http.MethodGet, at, "", 200)
		require.Len(t, one["tracks"], 3)
		require.Len(t, one["changes"].(map[string]any)["went"], 2)
		require.Empty(t, h.Call(http.MethodGet, at+"?with=1", "", 200)["changes"].(map[string]any)["went"])
		require.Equal(t, true, h.Call(http.MethodPatch, at, `{"pinned":true}`, 200)["pinned"])
		h.Call(http.MethodGet, "/playlists/"+id+"/versions/7", "", 404)
		h.Call(http.MethodGet, at+"?with=7", "", 404)

		path := "/playlists/" + id + "/history/1"
		page = h.Page(path)
		require.Contains(t, page, "Don&#39;t keep for good")
		require.Contains(t, page, "Restore on Navidrome")
		require.Contains(t, page, ".m3u8?version=1")
		h.Submit(path+"/pin", http.StatusSeeOther, "pinned", "no")
		require.Contains(t, h.Page(path), "Keep for good")
		ask := h.Page(path + "/restore/navidrome")
		require.Contains(t, ask, "It will have 3 tracks.")
		require.Contains(t, ask, "Since then: 1 added, 2 removed.")
		require.Contains(t, ask, "It will be called Rain again.")

		// Somebody has added a song there, which nobody has read yet. One of the others has another id by now.
		h.Far.Named, h.Far.List = "Snow", []string{"id of Three", "id of Four", "id of Five"}
		h.Far.Has = songs("One", "Two")
		h.Far.Has[0].SourceID = "new id of One"
		h.Submit(path+"/restore/navidrome", http.StatusSeeOther)
		h.Carry()
		require.Equal(t, []string{"new id of One", "id of Two", "id of Three"}, h.Far.List)
		require.Equal(t, "Rain", h.Far.Named)
		all = h.Call(http.MethodGet, "/playlists/"+id+"/versions", "", 200)["versions"].([]any)
		require.Len(t, all, 2)
		now := h.Call(http.MethodGet, "/playlists/"+id, "", 200)["tracks"].([]any)
		require.Len(t, now, 3, "what is there now was read before it was replaced")
		require.Contains(t, h.Page(path), "This version on Navidrome")
		require.Empty(t, h.Questions())
		h.Far.List = h.Far.List[:1]
		h.Days(3)
		require.Empty(t, h.Questions(), "it is the person's own, and is not watched")
		require.Equal(t, []string{"new id of One"}, h.Far.List)

		answer := h.Call(http.MethodPost, at+"/restore/navidrome", "{}", http.StatusAccepted)
		require.Equal(t, true, answer["enabled"])
		h.Carry()
		require.Equal(t, []string{"new id of One", "id of Two"}, h.Far.List, "the third isn't there any more")
		h.Call(http.MethodPost, at+"/restore/lastfm", "{}", http.StatusUnprocessableEntity)
	})
}
