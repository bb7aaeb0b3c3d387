package playlists_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
)

// withLibrary returns a household whose Navidrome is a library with these songs.
func withLibrary(t *testing.T, songs ...library.Track) *servertest.Household {
	t.Helper()
	h := servertest.New(t, delivery.Options{})
	h.Registry.Replace(&providers.Provider{Description: providers.Description{Name: "navidrome",
		DisplayName: "Navidrome", Streams: []string{library.Playlists},
		Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 50, Library: true, Playlists: true}},
		App:  func(library.Credentials) string { return "navidrome" },
		Open: func(resilience.Call, library.Credentials) providers.Adapter { return h.Far }})
	has(h, songs...)
	return h
}

// has stores which songs the library has.
func has(h *servertest.Household, songs ...library.Track) {
	h.T.Helper()
	keys := map[int64]bool{}
	for _, song := range songs {
		keys[music.MatchKey(song.Title, music.Indexed(song.Artist))] = true
	}
	_, err := h.DB.SaveSongs(h.T.Context(), library.Connection{User: h.User, ID: "navidrome"}, keys)
	require.NoError(h.T, err)
}

// numbered returns the songs with these numbers.
func numbered(from, to int) (all []library.Track) {
	for i := from; i < to; i++ {
		all = append(all, songs(fmt.Sprint("Song ", i))...)
	}
	return all
}

// A playlist that changes more often than its versions are kept leaves no notification whose button leads nowhere.
func TestALossIsNotToldLongerThanItsVersionIsKept(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		list := library.Playlist{SourceID: "road", Name: "Road trip"}
		save := func(all []library.Track) {
			t.Helper()
			time.Sleep(time.Hour)
			require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "spotify", list, 0, all))
			require.NoError(t, h.Connections.DecidedLosses(t.Context(), h.User, "spotify"))
		}
		save(numbered(0, 60))
		save(numbered(20, 60))
		open := func() []any {
			return h.Call(http.MethodGet, "/notifications?open=true", "", 200)["notifications"].([]any)
		}
		require.Len(t, open(), 1)
		path := open()[0].(map[string]any)["action"].(map[string]any)["url"].(string)
		for i := range 300 {
			require.Len(t, open(), 1)
			save(append(numbered(20, 60), songs(fmt.Sprint("Another ", i))...))
		}
		require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, path, "", "").Code)
		require.Empty(t, open())
	})
}

// Promise: When a service has taken songs out of a playlist, a button leads to what the playlist was like. That page
// says which of them are in the person's library, and has a button that writes it there.
func TestSongsTakenAwayComeBackInALibrary(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := withLibrary(t, numbered(0, 9)...)
		h.Far.Has = numbered(0, 9)
		road := library.Playlist{SourceID: "road", Name: "Road trip"}
		save := func(all []library.Track) {
			t.Helper()
			time.Sleep(time.Hour)
			require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "spotify", road, 0, all))
			require.NoError(t, h.Connections.DecidedLosses(t.Context(), h.User, "spotify"))
		}
		save(numbered(0, 30))
		road.Blank = 12
		save(numbered(12, 30))
		save(append(numbered(12, 30), songs("One more")...))

		open := h.Call(http.MethodGet, "/notifications?open=true", "", 200)["notifications"].([]any)
		require.Len(t, open, 1)
		n := open[0].(map[string]any)
		require.Equal(t, "Spotify no longer offers 12 songs of Road trip", n["title"])
		path := n["action"].(map[string]any)["url"].(string)
		page := h.Page(path)
		require.Contains(t, page, "Spotify no longer offers 12 songs of this playlist.")
		require.Contains(t, page, "9 of them are in your library.")
		require.Equal(t, 9, strings.Count(page, "In your library"))
		require.Contains(t, page, "12 removed")
		require.NotContains(t, page, "1 added", "it is compared with what it was like just after")
		require.Contains(t, h.Page(path+"?with=0"), "1 added")
		require.Less(t, strings.Index(page, "Copy to Navidrome"), strings.Index(page, "Keep for good"))
		history := h.Page(strings.TrimSuffix(path, "/1"))
		require.Contains(t, history, "12 no longer offered by Spotify")

		at := strings.Replace(path, "history", "versions", 1)
		one := h.Call(http.MethodGet, at, "", 200)
		require.Equal(t, []any{12.0, true}, []any{one["lost"], one["taken"]})
		lost := one["lost_tracks"].([]any)
		require.Len(t, lost, 12)
		require.Equal(t, []any{true, false},
			[]any{lost[8].(map[string]any)["in_library"], lost[9].(map[string]any)["in_library"]})

		h.Submit(path+"/restore/navidrome", http.StatusSeeOther)
		h.Carry()
		require.Len(t, h.Far.List, 9)
		require.Empty(t, h.Call(http.MethodGet, "/notifications?open=true", "", 200)["notifications"])

		// The library loses most of them.
		has(h, numbered(0, 2)...)
		require.Contains(t, h.Page(path), "2 of them are in your library.")
	})
}

// What is gone from a playlist, nobody knows by whose hand, is restored where it comes from, after a question.
func TestSongsThatAreGoneAreRestoredWhereTheyWere(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := withLibrary(t, songs("Another")...)
		home := library.Playlist{SourceID: "there", Name: "Home"}
		for _, n := range []int{0, 15} {
			time.Sleep(time.Hour)
			require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "navidrome", home, 0, numbered(n, 40)))
		}
		id := h.Call(http.MethodGet, "/playlists", "", 200)["playlists"].([]any)[0].(map[string]any)["id"].(string)
		v := h.Call(http.MethodGet, "/playlists/"+id+"/versions", "", 200)["versions"].([]any)[0].(map[string]any)
		require.Equal(t, []any{15.0, false}, []any{v["lost"], v["taken"]})
		page := h.Page("/playlists/" + id + "/history/1")
		require.Contains(t, page, "15 songs have been gone from this playlist at Navidrome since")
		require.Contains(t, page, "none of them is in your library")
		require.Contains(t, page, "Restore on Navidrome")
		require.NotContains(t, h.Page("/playlists/"+id+"/history"), "no longer offered")
	})
}

// Videos that are gone keep their places, and are listed all the same.
func TestVideosThatAreGoneAreListed(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		all := numbered(0, 8)
		list := library.Playlist{SourceID: "list", Name: "Live"}
		require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "youtube", list, 0, all))
		time.Sleep(time.Hour)
		video := library.Video{ID: "id of Song 1", Title: "Song 1"}
		require.NoError(t, h.DB.SaveVideos(t.Context(), []library.Video{video}, time.Now()))
		require.NoError(t, h.DB.VideosGone(t.Context(), []string{"id of Song 1"}, library.VideoDeleted, time.Now()))
		all[1].Gone = library.VideoDeleted
		require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "youtube", list, 0, all))
		id := h.Call(http.MethodGet, "/playlists", "", 200)["playlists"].([]any)[0].(map[string]any)["id"].(string)
		require.Contains(t, h.Page("/playlists/"+id+"/history"), "1 no longer offered by YouTube")
		page := h.Page("/playlists/" + id + "/history/1")
		require.Contains(t, page, "YouTube no longer offers 1 song of this playlist.")
		require.Contains(t, page, "1 no longer offered by YouTube")
		require.NotContains(t, page, "in your library", "there is none")
		one := h.Call(http.MethodGet, "/playlists/"+id+"/versions/1", "", 200)
		require.Len(t, one["lost_tracks"], 1)
	})
}
