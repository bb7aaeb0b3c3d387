package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// newLibrary returns a household whose navidrome takes plays of songs in its library.
func newLibrary(t *testing.T, songs ...library.Track) *household {
	t.Helper()
	h := newHousehold(t, delivery.Options{})
	h.Registry.Replace(&providers.Provider{Description: providers.Description{Name: "navidrome",
		DisplayName: "Navidrome", Streams: []string{library.Playlists},
		Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 50, Library: true, Playlists: true}},
		App:  func(library.Credentials) string { return "navidrome" },
		Open: func(resilience.Call, library.Credentials) providers.Adapter { return h.far }})
	h.far.has = songs
	h.call(http.MethodPut, "/connections/navidrome/forwarding", `{}`, http.StatusOK)
	return h
}

func sung(id, title string, length time.Duration) library.Track {
	return library.Track{SourceID: id, Title: title, Artist: "Sigur Rós", Album: "Album " + id, Duration: length}
}

// What is found in a library but not trusted is asked once, remembered, and sent.
func TestSongIsChosenOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour), sung("b", "One (Live)", time.Minute),
			sung("c", "Two", time.Minute))
		h.hear("One", "Two", "Three")
		h.carry()
		require.Equal(t, []string{"Two"}, h.far.taken)
		require.Contains(t, h.page("/connections/navidrome"), `href="/connections/navidrome/songs"`)
		page := h.page("/deliveries?state=dead")
		require.Contains(t, page, "2 songs there could be it. Choose the right one.")
		require.Contains(t, page, "This song isn&#39;t in your library there.")
		require.Contains(t, page, "Choose the song")

		all := h.call(http.MethodGet, "/connections/navidrome/songs", "", http.StatusOK)["songs"].([]any)
		require.Len(t, all, 1)
		q := all[0].(map[string]any)
		require.Equal(t, "One", q["title"])
		require.Equal(t, "open", q["answer"])
		require.Len(t, q["offered"], 2)
		path := "/connections/navidrome/songs/" + q["id"].(string)
		require.Contains(t, page, `href="`+path+`"`)
		require.Contains(t, h.page(path), "2 songs on Navidrome could be")
		for body, status := range map[string]int{`{}`: 422, `{"chosen":"zzz"}`: 422,
			`{"chosen":"b","none":true}`: 422} {
			h.call(http.MethodPut, path, body, status)
		}
		require.Equal(t, http.StatusUnprocessableEntity, h.submit(path, http.StatusUnprocessableEntity).Code)

		h.submit(path, http.StatusSeeOther, "song", "b")
		h.carry()
		require.Equal(t, []string{"Two", "One"}, h.far.taken, "it goes out again")
		require.EqualValues(t, 1, h.states()["dead"], "the one that is not there")
		now := h.call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, "chosen", now["answer"])
		require.Equal(t, "b", now["chosen"])
		require.Contains(t, h.page("/connections/navidrome/songs"), "You chose One (Live) by Sigur Rós, Album b")

		h.hear("One")
		h.carry()
		require.Equal(t, []string{"Two", "One", "One"}, h.far.taken, "nobody is asked twice")

		h.call(http.MethodDelete, path, "", http.StatusNoContent)
		h.call(http.MethodGet, path, "", http.StatusNotFound)
		h.hear("One")
		h.carry()
		require.Len(t, h.far.taken, 3, "it is asked again")
		require.Contains(t, h.page("/connections/navidrome/songs"), "2 songs could be it")
	})
}

// "None of these" is remembered too, until there is another song to choose from.
func TestNoneOfTheSongsIsRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour))
		h.hear("One")
		h.carry()
		open := func() (paths []string) {
			for _, s := range h.call(http.MethodGet, "/connections/navidrome/songs", "", 200)["songs"].([]any) {
				if q := s.(map[string]any); q["answer"] == "open" {
					paths = append(paths, "/connections/navidrome/songs/"+q["id"].(string))
				}
			}
			return paths
		}
		path := open()[0]
		require.Equal(t, path, h.only("state=dead")["question"])
		require.Contains(t, h.page(path), "One song on Navidrome could be")
		answered := h.call(http.MethodPut, path, `{"none":true}`, http.StatusOK)
		require.Equal(t, "none", answered["answer"])
		h.carry()
		dead := h.only("state=dead")
		require.Equal(t, "You said this song isn't in your library there.", dead["reason"])
		require.Nil(t, dead["question"])
		h.hear("One")
		h.carry()
		require.Empty(t, open(), "nobody is asked twice")
		require.Contains(t, h.page("/connections/navidrome/songs"), "You chose none of the songs")

		h.far.has = append(h.far.has, sung("new", "One", 20*time.Minute))
		h.call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusOK)
		h.carry()
		require.Len(t, open(), 1, "for the new one")
		offered := h.call(http.MethodGet, open()[0], "", 200)["offered"].([]any)
		require.Len(t, offered, 1)
		require.Equal(t, "new", offered[0].(map[string]any)["id"])
		h.submit(open()[0], http.StatusSeeOther, "do", "none")
		h.far.has = append(h.far.has, sung("right", "One", time.Minute))
		h.call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusOK)
		h.carry()
		require.Equal(t, []string{"One", "One"}, h.far.taken, "a song that is sure needs no question")
	})
}

// A track of a playlist that is not surely there is chosen in the same way, and the copy is written again.
func TestTrackOfACopyIsChosen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour), sung("b", "One (Live)", 4*time.Minute),
			sung("c", "Two", 3*time.Minute))
		id := h.playlist("Rain", "One", "Two", "Three")
		h.far.named = "made here" // it is listed there
		h.call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusAccepted)
		h.carry()
		require.Equal(t, []string{"c"}, h.far.list)
		page := h.page("/playlists/" + id)
		require.Contains(t, page, "2 possible matches")
		path := "/connections/navidrome/songs/1"
		require.Contains(t, page, `href="`+path+`"`)
		h.submit(path, http.StatusSeeOther, "song", "a")
		h.carry()
		require.Equal(t, []string{"a", "c"}, h.far.list)
		require.Contains(t, h.page("/playlists/"+id), "as you chose")
		h.submit(path, http.StatusSeeOther, "do", "forget")
		h.carry()
		require.Equal(t, []string{"c"}, h.far.list)
	})
}

// Another person's question is none of mine, and it goes with its connection.
func TestQuestionsBelongToOnePerson(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour))
		h.hear("One")
		h.carry()
		const path = "/connections/navidrome/songs/1"
		h.call(http.MethodGet, path, "", http.StatusOK)
		mine := h.user
		ben := h.other("Ben")
		h.as(ben)
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			h.call(method, path, "", http.StatusNotFound)
		}
		h.call(http.MethodPut, path, `{"chosen":"a"}`, http.StatusNotFound)
		h.submit(path, http.StatusNotFound, "song", "a")
		h.call(http.MethodGet, "/connections/navidrome/songs", "", http.StatusNotFound)
		h.as(mine)
		require.Equal(t, "open", h.call(http.MethodGet, path, "", http.StatusOK)["answer"])
		h.call(http.MethodDelete, "/connections/navidrome", "", http.StatusNoContent)
		h.call(http.MethodGet, path, "", http.StatusNotFound)
	})
}

// That a song is not there is remembered for a day, unless somebody asks to look again.
func TestMissesAreRememberedForADay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t)
		h.hear("Rain")
		h.carry()
		h.hear("Rain")
		h.carry()
		require.Equal(t, 1, h.far.searches)
		require.EqualValues(t, 2, h.states()["dead"])
		h.call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusOK)
		h.carry()
		require.Equal(t, 2, h.far.searches, "once for both")
		h.far.has = []library.Track{sung("rain", "Rain", time.Minute)}
		time.Sleep(25 * time.Hour)
		h.carry()
		require.Equal(t, []string{"Rain", "Rain"}, h.far.taken)
	})
}
