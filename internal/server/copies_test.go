package server

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// playlist stores a playlist of Spotify, and returns its ID.
func (h *household) playlist(name string, titles ...string) string {
	h.t.Helper()
	var tracks []library.Track
	for i, title := range titles {
		tracks = append(tracks, library.Track{Title: title, Artist: "Sigur Rós", Duration: 3 * time.Minute,
			ISRC: "ISA01250000" + strconv.Itoa(i)})
	}
	require.NoError(h.t, h.db.SavePlaylist(h.t.Context(), h.user, "spotify",
		library.Playlist{SourceID: name, Name: name}, 0, tracks))
	all, err := h.db.Playlists(h.t.Context(), h.user)
	require.NoError(h.t, err)
	i := slices.IndexFunc(all, func(p library.StoredPlaylist) bool { return p.Name == name })
	return strconv.FormatInt(all[i].ID, 10)
}

func TestPlaylistCopyIsWrittenWithAReport(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		id := h.playlist("Rain", "One", "Two", "Three")
		h.far.has = []library.Track{{Title: "One", Artist: "Sigur Rós", Duration: 3 * time.Minute,
			ISRC: "ISA012500000", SourceID: "1"},
			{Title: "Two", Artist: "Sigur Rós", Duration: 3 * time.Minute, SourceID: "2"}}
		path := "/playlists/" + id + "/copies/navidrome"
		require.Equal(t, false, h.call(http.MethodGet, path, "", http.StatusOK)["enabled"])
		require.Contains(t, h.page("/playlists/"+id), "Copy this playlist to Navidrome")

		written := h.call(http.MethodPut, path, "", http.StatusAccepted)
		require.Equal(t, "Playlist Rain to Navidrome", written["delivery"].(map[string]any)["subject"])
		require.Equal(t, false, written["up_to_date"])
		h.carry()
		now := h.call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, true, now["up_to_date"])
		report := now["report"].(map[string]any)
		require.EqualValues(t, 2, report["matched"])
		require.EqualValues(t, 3, report["total"])
		html := h.page("/playlists/" + id)
		require.Contains(t, html, "2 of 3 tracks found there")
		require.Contains(t, html, "by its ISRC")
		require.Contains(t, html, "same title and artist")
		require.Contains(t, html, "1 track not found on Navidrome")

		h.submit("/playlists/"+id+"/copies/navidrome", http.StatusSeeOther, "write", "stop")
		require.Contains(t, h.page("/playlists/"+id), "The copy there stays as it is.")
		h.submit("/playlists/"+id+"/copies/navidrome", http.StatusSeeOther, "write", "start")
		h.call(http.MethodDelete, path, "", http.StatusNoContent)
		require.Equal(t, false, h.call(http.MethodGet, path, "", http.StatusOK)["enabled"])
	})
}

func TestTooFewMatchesWriteNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		id := h.playlist("Rain", "One", "Two", "Three")
		h.call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusAccepted)
		h.carry()
		html := h.page("/playlists/" + id)
		require.Contains(t, html, "Nothing was written: only 0 of 3 tracks were found on Navidrome")
		require.Contains(t, html, "Could not be sent")
		require.Equal(t, "Only 0 of 3 tracks were found there, so nothing was written.", h.only("state=dead")["reason"])
	})
}

func TestPlaylistCopyIsRefusedWhereNotTaken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		id := h.playlist("Rain", "One")
		for path, status := range map[string]int{"/playlists/" + id +
			"/copies/lastfm": http.StatusUnprocessableEntity, "/playlists/" + id +
			"/copies/spotify": http.StatusUnprocessableEntity,
			"/playlists/99/copies/navidrome": http.StatusNotFound,
			"/playlists/x/copies/navidrome":  http.StatusNotFound, "/playlists/" + id +
				"/copies/nobody": http.StatusNotFound} {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				h.call(method, path, "", status)
			}
		}
		h.call(http.MethodDelete, "/connections/navidrome", "", http.StatusNoContent)
		h.call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusNotFound)
		require.NotContains(t, h.page("/playlists/"+id), "Copy this playlist")
	})
}

func TestOurOwnCopyIsMarkedAsOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		id := h.playlist("Rain", "One")
		h.far.has = []library.Track{{Title: "One", Artist: "Sigur Rós", Duration: 3 * time.Minute, SourceID: "1"}}
		h.call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusAccepted)
		h.carry()
		kept, err := h.db.Copy(t.Context(), h.user, "navidrome", delivery.WritePlaylist, id)
		require.NoError(t, err)
		require.NotEmpty(t, kept.RemoteID)
		for _, source := range []string{kept.RemoteID, "their-own"} { // as the next sync reads them
			require.NoError(t, h.db.SavePlaylist(t.Context(), h.user, "navidrome",
				library.Playlist{SourceID: source, Name: "Rain"}, 0, []library.Track{{Title: "One"}}))
		}
		marks := map[string]any{}
		for _, p := range h.call(http.MethodGet, "/playlists", "", http.StatusOK)["playlists"].([]any) {
			list := p.(map[string]any)
			marks[list["source_id"].(string)] = list["copy_of"]
			if list["source_id"] == kept.RemoteID {
				html := h.page("/playlists/" + list["id"].(string))
				require.Contains(t, html, `href="/playlists/`+id+`">Open the original</a>`)
				require.NotContains(t, html, "Copy this playlist to")
			}
		}
		require.Equal(t, map[string]any{"Rain": nil, kept.RemoteID: id, "their-own": nil}, marks)
		require.Contains(t, h.page("/playlists"), "Reprise&#39;s copy of Rain")
	})
}
