package songs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
)

// newLibrary returns a household whose navidrome takes plays of songs in its library.
func newLibrary(t *testing.T, songs ...library.Track) *servertest.Household {
	t.Helper()
	h := servertest.New(t, delivery.Options{})
	h.Registry.Replace(&providers.Provider{Description: providers.Description{Name: "navidrome",
		DisplayName: "Navidrome", Streams: []string{library.Playlists},
		Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 50, Library: true, Playlists: true}},
		App:  func(library.Credentials) string { return "navidrome" },
		Open: func(resilience.Call, library.Credentials) providers.Adapter { return h.Far }})
	h.Far.Has = songs
	h.Call(http.MethodPut, "/connections/navidrome/forwarding", `{}`, http.StatusOK)
	return h
}

func sung(id, title string, length time.Duration) library.Track {
	return library.Track{SourceID: id, Title: title, Artist: "Sigur Rós", Album: "Album " + id, Duration: length}
}

// What is found in a library but not trusted is asked once, remembered, and sent.
func TestSongIsChosenOnce(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour), sung("b", "One (Live)", time.Minute),
			sung("c", "Two", time.Minute))
		h.Hear("One", "Two", "Three")
		h.Carry()
		require.Equal(t, []string{"Two"}, h.Far.Taken)
		require.Contains(t, h.Page("/connections/navidrome"), `href="/connections/navidrome/songs"`)
		page := h.Page("/deliveries?state=dead")
		require.Contains(t, page, "2 songs there could be it. Choose the right one.")
		require.Contains(t, page, "This song isn&#39;t in your library there.")
		require.Contains(t, page, "Choose the song")

		all := h.Call(http.MethodGet, "/connections/navidrome/songs", "", http.StatusOK)["songs"].([]any)
		require.Len(t, all, 1)
		q := all[0].(map[string]any)
		require.Equal(t, "One", q["title"])
		require.Equal(t, "open", q["answer"])
		require.Len(t, q["offered"], 2)
		path := "/connections/navidrome/songs/" + q["id"].(string)
		require.Contains(t, page, `href="`+path+`"`)
		require.Contains(t, h.Page(path), "2 songs on Navidrome could be")
		for body, status := range map[string]int{`{}`: 422, `{"chosen":"zzz"}`: 422,
			`{"chosen":"b","none":true}`: 422} {
			h.Call(http.MethodPut, path, body, status)
		}
		require.Equal(t, http.StatusUnprocessableEntity, h.Submit(path, http.StatusUnprocessableEntity).Code)

		h.Submit(path, http.StatusSeeOther, "song", "b")
		h.Carry()
		require.Equal(t, []string{"Two", "One"}, h.Far.Taken, "it goes out again")
		require.EqualValues(t, 1, h.States()["dead"], "the one that is not there")
		now := h.Call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, "chosen", now["answer"])
		require.Equal(t, "b", now["chosen"])
		require.Contains(t, h.Page("/connections/navidrome/songs"), "You chose One (Live) by Sigur Rós, Album b")

		h.Hear("One")
		h.Carry()
		require.Equal(t, []string{"Two", "One", "One"}, h.Far.Taken, "nobody is asked twice")

		h.Call(http.MethodDelete, path, "", http.StatusNoContent)
		h.Call(http.MethodGet, path, "", http.StatusNotFound)
		h.Hear("One")
		h.Carry()
		require.Len(t, h.Far.Taken, 3, "it is asked again")
		require.Contains(t, h.Page("/connections/navidrome/songs"), "2 songs could be it")
	})
}

// "None of these" is remembered too, until there is another song to choose from.
func TestNoneOfTheSongsIsRemembered(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour))
		h.Hear("One")
		h.Carry()
		open := func() (paths []string) {
			for _, s := range h.Call(http.MethodGet, "/connections/navidrome/songs", "", 200)["songs"].([]any) {
				if q := s.(map[string]any); q["answer"] == "open" {
					paths = append(paths, "/connections/navidrome/songs/"+q["id"].(string))
				}
			}
			return paths
		}
		path := open()[0]
		require.Equal(t, path, h.Only("state=dead")["question"])
		require.Contains(t, h.Page(path), "One song on Navidrome could be")
		answered := h.Call(http.MethodPut, path, `{"none":true}`, http.StatusOK)
		require.Equal(t, "none", answered["answer"])
		h.Carry()
		dead := h.Only("state=dead")
		require.Equal(t, "You said this song isn't in your library there.", dead["reason"])
		require.Nil(t, dead["question"])
		h.Hear("One")
		h.Carry()
		require.Empty(t, open(), "nobody is asked twice")
		require.Contains(t, h.Page("/connections/navidrome/songs"), "You chose none of the songs")

		h.Far.Has = append(h.Far.Has, sung("new", "One", 20*time.Minute))
		h.Call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusOK)
		h.Carry()
		require.Len(t, open(), 1, "for the new one")
		offered := h.Call(http.MethodGet, open()[0], "", 200)["offered"].([]any)
		require.Len(t, offered, 1)
		require.Equal(t, "new", offered[0].(map[string]any)["id"])
		h.Submit(open()[0], http.StatusSeeOther, "do", "none")
		h.Far.Has = append(h.Far.Has, sung("right", "One", time.Minute))
		h.Call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusOK)
		h.Carry()
		require.Equal(t, []string{"One", "One"}, h.Far.Taken, "a song that is sure needs no question")
	})
}

// A track of a playlist that is not surely there is chosen in the same way, and the copy is written again.
func TestTrackOfACopyIsChosen(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour), sung("b", "One (Live)", 4*time.Minute),
			sung("c", "Two", 3*time.Minute))
		id := h.Playlist("Rain", "One", "Two", "Three")
		h.Far.Named = "made here" // it is listed there
		h.Call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusAccepted)
		h.Carry()
		require.Equal(t, []string{"c"}, h.Far.List)
		page := h.Page("/playlists/" + id)
		require.Contains(t, page, "2 possible matches")
		path := "/connections/navidrome/songs/1"
		require.Contains(t, page, `href="`+path+`"`)
		h.Submit(path, http.StatusSeeOther, "song", "a")
		h.Carry()
		require.Equal(t, []string{"a", "c"}, h.Far.List)
		require.Contains(t, h.Page("/playlists/"+id), "as you chose")
		h.Submit(path, http.StatusSeeOther, "do", "forget")
		h.Carry()
		require.Equal(t, []string{"c"}, h.Far.List)
	})
}

// Another person's question is none of mine, and it goes with its connection.
func TestQuestionsBelongToOnePerson(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour))
		h.Hear("One")
		h.Carry()
		const path = "/connections/navidrome/songs/1"
		h.Call(http.MethodGet, path, "", http.StatusOK)
		mine := h.User
		ben := h.Other("Ben")
		h.As(ben)
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			h.Call(method, path, "", http.StatusNotFound)
		}
		h.Call(http.MethodPut, path, `{"chosen":"a"}`, http.StatusNotFound)
		h.Submit(path, http.StatusNotFound, "song", "a")
		h.Call(http.MethodGet, "/connections/navidrome/songs", "", http.StatusNotFound)
		h.As(mine)
		require.Equal(t, "open", h.Call(http.MethodGet, path, "", http.StatusOK)["answer"])
		h.Call(http.MethodDelete, "/connections/navidrome", "", http.StatusNoContent)
		h.Call(http.MethodGet, path, "", http.StatusNotFound)
	})
}

// That a song is not there is remembered for a day, unless somebody asks to look again.
func TestMissesAreRememberedForADay(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t)
		h.Hear("Rain")
		h.Carry()
		h.Hear("Rain")
		h.Carry()
		require.Equal(t, 1, h.Far.Searches)
		require.EqualValues(t, 2, h.States()["dead"])
		h.Call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusOK)
		h.Carry()
		require.Equal(t, 2, h.Far.Searches, "once for both")
		h.Far.Has = []library.Track{sung("rain", "Rain", time.Minute)}
		time.Sleep(25 * time.Hour)
		h.Carry()
		require.Equal(t, []string{"Rain", "Rain"}, h.Far.Taken)
	})
}
