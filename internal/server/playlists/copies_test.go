package playlists_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/servertest"
)

func TestPlaylistCopyIsWrittenWithAReport(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One", "Two", "Three")
		h.Far.Has = []library.Track{{Title: "One", Artist: "Sigur Rós", Duration: 3 * time.Minute,
			ISRC: "ISA012500000", SourceID: "1"},
			{Title: "Two", Artist: "Sigur Rós", Duration: 3 * time.Minute, SourceID: "2"}}
		path := "/playlists/" + id + "/copies/navidrome"
		require.Equal(t, false, h.Call(http.MethodGet, path, "", http.StatusOK)["enabled"])
		require.Contains(t, h.Page("/playlists/"+id), "Copy to Navidrome")

		written := h.Call(http.MethodPut, path, "", http.StatusAccepted)
		require.Equal(t, "Playlist Rain to Navidrome", written["delivery"].(map[string]any)["subject"])
		require.Equal(t, false, written["up_to_date"])
		h.Carry()
		now := h.Call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, true, now["up_to_date"])
		report := now["report"].(map[string]any)
		require.EqualValues(t, 2, report["matched"])
		require.EqualValues(t, 3, report["total"])
		html := h.Page("/playlists/" + id)
		require.Contains(t, html, "2 of 3 tracks found there")
		require.Contains(t, html, "by its ISRC")
		require.Contains(t, html, "same title and artist")
		require.Contains(t, html, "1 track not found on Navidrome")

		h.Submit("/playlists/"+id+"/copies/navidrome", http.StatusSeeOther, "write", "stop")
		require.Contains(t, h.Page("/playlists/"+id), "The copy there stays as it is.")
		h.Submit("/playlists/"+id+"/copies/navidrome", http.StatusSeeOther, "write", "start")
		h.Call(http.MethodDelete, path, "", http.StatusNoContent)
		require.Equal(t, false, h.Call(http.MethodGet, path, "", http.StatusOK)["enabled"])
	})
}

func TestTooFewMatchesWriteNothing(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One", "Two", "Three")
		h.Call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusAccepted)
		h.Carry()
		html := h.Page("/playlists/" + id)
		require.Contains(t, html, "Nothing was written: only 0 of 3 tracks were found on Navidrome")
		require.Contains(t, html, "Could not be sent")
		require.Equal(t, "Only 0 of 3 tracks were found there, so nothing was written.", h.Only("state=dead")["reason"])
	})
}

func TestPlaylistCopyIsRefusedWhereNotTaken(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One")
		for path, status := range map[string]int{"/playlists/" + id +
			"/copies/lastfm": http.StatusUnprocessableEntity, "/playlists/" + id +
			"/copies/spotify": http.StatusUnprocessableEntity,
			"/playlists/99/copies/navidrome": http.StatusNotFound,
			"/playlists/x/copies/navidrome":  http.StatusNotFound, "/playlists/" + id +
				"/copies/nobody": http.StatusNotFound} {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				h.Call(method, path, "", status)
			}
		}
		h.Call(http.MethodDelete, "/connections/navidrome", "", http.StatusNoContent)
		h.Call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusNotFound)
		require.NotContains(t, h.Page("/playlists/"+id), "Copy this playlist")
	})
}

func TestOurOwnCopyIsMarkedAsOne(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One")
		h.Far.Has = []library.Track{{Title: "One", Artist: "Sigur Rós", Duration: 3 * time.Minute, SourceID: "1"}}
		h.Call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusAccepted)
		h.Carry()
		kept, err := h.DB.Copy(t.Context(), h.User, "navidrome", delivery.WritePlaylist, id)
		require.NoError(t, err)
		require.NotEmpty(t, kept.RemoteID)
		for _, source := range []string{kept.RemoteID, "their-own"} { // as the next sync reads them
			require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "navidrome",
				library.Playlist{SourceID: source, Name: "Rain"}, 0, []library.Track{{Title: "One"}}))
		}
		marks := map[string]any{}
		for _, p := range h.Call(http.MethodGet, "/playlists", "", http.StatusOK)["playlists"].([]any) {
			list := p.(map[string]any)
			marks[list["source_id"].(string)] = list["copy_of"]
			require.Contains(t, h.Page("/playlists"), "1 track")
			if list["source_id"] == kept.RemoteID {
				html := h.Page("/playlists/" + list["id"].(string))
				require.Contains(t, html, `href="/playlists/`+id+`">Open the original</a>`)
				require.NotContains(t, html, "Copy this playlist")
			}
		}
		require.Equal(t, map[string]any{"Rain": nil, kept.RemoteID: id, "their-own": nil}, marks)
		require.Contains(t, h.Page("/playlists"), "Reprise&#39;s copy of Rain")
	})
}

// A copy can replace a playlist that the service already has, once the person has confirmed that.
func TestAnExistingPlaylistBecomesACopy(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One", "Two")
		h.Far.Has = []library.Track{{Title: "One", Artist: "Sigur Rós", SourceID: "1"},
			{Title: "Two", Artist: "Sigur Rós", SourceID: "2"}}
		h.Far.Named, h.Far.List = "Old mix", []string{"7", "8", "9"}
		require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "navidrome", library.Playlist{SourceID: "there",
			Name: "Old mix", TrackCount: 3}, 0, []library.Track{{Title: "Seven", Artist: "Nobody", SourceID: "7"}}))
		lists, err := h.DB.ConnectionPlaylists(t.Context(), h.User, "navidrome")
		require.NoError(t, err)
		into := strconv.FormatInt(lists[0].ID, 10)
		path := "/playlists/" + id + "/copies/navidrome"
		require.Contains(t, h.Page("/playlists/"+id), "Use a playlist that Navidrome already has")
		require.Contains(t, h.Page(path+"/into"), "Old mix")
		asked := h.Page(path + "/into/" + into)
		require.Contains(t, asked, "Old mix")
		require.Contains(t, asked, "which will be replaced")
		require.Contains(t, asked, "It will be called")
		require.Equal(t, []string{"7", "8", "9"}, h.Far.List, "nothing happens before the answer")

		h.Submit(path+"/into/"+into, http.StatusSeeOther)
		h.Carry()
		require.Equal(t, []string{"1", "2"}, h.Far.List)
		require.Equal(t, "Rain", h.Far.Named)
		require.Equal(t, true, h.Call(http.MethodGet, path, "", http.StatusOK)["up_to_date"])
		kept := h.Call(http.MethodGet, "/playlists/"+into, "", http.StatusOK)["tracks"].([]any)
		require.Len(t, kept, 3, "what was added there since the last sync was read before it was replaced")
		require.Contains(t, h.Page(path+"/into"), "There is no playlist at Navidrome that could become a copy.")
		h.Call(http.MethodPut, path+"?into="+into, "", http.StatusUnprocessableEntity)
	})
}

func TestACopyIsNotWrittenInACircle(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One")
		require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "navidrome", library.Playlist{SourceID: "there",
			Name: "Mix", TrackCount: 1}, 0, []library.Track{{Title: "One", Artist: "Nobody", SourceID: "7"}}))
		lists, err := h.DB.ConnectionPlaylists(t.Context(), h.User, "navidrome")
		require.NoError(t, err)
		mix := strconv.FormatInt(lists[0].ID, 10)
		require.NoError(t, h.DB.WantCopy(t.Context(), delivery.Draft{User: h.User, Connection: "youtube",
			Kind: delivery.WritePlaylist, Ref: mix}, ""))
		path := "/playlists/" + id + "/copies/navidrome"
		require.NotContains(t, h.Page(path+"/into"), "Mix")
		h.Call(http.MethodPut, path+"?into="+mix, "", http.StatusUnprocessableEntity)
		h.Call(http.MethodPut, path+"?into="+id, "", http.StatusNotFound)
		h.Call(http.MethodPut, path+"?into=999", "", http.StatusNotFound)
	})
}

// A server that turns out to have no playlists ends its copies, and nothing else waits for that.
func TestAServerWithoutPlaylistsGetsNoCopy(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One")
		path := "/playlists/" + id + "/copies/navidrome"
		h.Call(http.MethodPut, path, "", http.StatusAccepted)
		h.Far.Fail(providers.ErrNotOffered)
		h.Carry()
		require.Equal(t, false, h.Call(http.MethodGet, path, "", http.StatusOK)["enabled"])
		require.Empty(t, h.Call(http.MethodGet, "/deliveries?state=dead", "", http.StatusOK)["deliveries"])
		p := *h.Registry.Get("navidrome")
		p.Lists = func(library.Credentials) bool { return false }
		h.Registry.Replace(&p)
		require.NotContains(t, h.Page("/playlists/"+id), "Copy to Navidrome")
		h.Call(http.MethodPut, path, "", http.StatusUnprocessableEntity)
	})
}

// While a copy is being written, none other takes its place.
func TestAnotherCopyWaitsForTheOneUnderWay(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		draft := delivery.Draft{User: h.User, Connection: "navidrome", Kind: delivery.WritePlaylist,
			Ref: h.Playlist("Rain", "One")}
		require.NoError(t, h.DB.WantCopy(t.Context(), draft, ""))
		require.NoError(t, h.DB.DropCopy(t.Context(), h.User, "navidrome", delivery.WritePlaylist, draft.Ref))
		require.ErrorIs(t, h.DB.WantCopy(t.Context(), draft, "there"), delivery.ErrUnderWay)
		other := draft
		other.Ref = h.Playlist("Snow", "Two")
		require.NoError(t, h.DB.WantCopy(t.Context(), other, "there"))
		h.Carry()
		require.ErrorIs(t, h.DB.WantCopy(t.Context(), draft, "there"), delivery.ErrNotTaken, "two copies in one")
	})
}
