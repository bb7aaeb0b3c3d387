package songs_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// answerQuestion answers the only question about a song of Navidrome's library.
func answerQuestion(h *servertest.Household, body string) {
	h.T.Helper()
	const path = "/connections/navidrome/songs"
	all := h.Call(http.MethodGet, path, "", http.StatusOK)["songs"].([]any)
	require.Len(h.T, all, 1)
	h.Call(http.MethodPut, path+"/"+all[0].(map[string]any)["id"].(string), body, http.StatusOK)
	h.Carry()
}

// rains makes a playlist of these titles of a minute each, or changes it, and copies it.
func rains(h *servertest.Household, titles ...string) {
	h.T.Helper()
	var tracks []library.Track
	for _, title := range titles {
		tracks = append(tracks, library.Track{Title: title, Artist: "Sigur Rós", Duration: time.Minute})
	}
	list := library.Playlist{SourceID: "rain", Name: "Rain"}
	require.NoError(h.T, h.DB.SavePlaylist(h.T.Context(), h.User, "spotify", list, 0, tracks))
	all, err := h.DB.Playlists(h.T.Context(), h.User)
	require.NoError(h.T, err)
	h.Far.Named = "made here" // it is listed there
	h.Call(http.MethodPut, "/playlists/"+strconv.FormatInt(all[0].ID, 10)+"/copies/navidrome", "", http.StatusAccepted)
	h.Carry()
}

func TestChoosingASongLeavesALeftCopyAlone(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One", "Odd")
		h.Far.Has = []library.Track{{Title: "One", Artist: "Sigur Rós", Duration: 3 * time.Minute, SourceID: "1"},
			{Title: "Odd", Artist: "Sigur Rós", Duration: time.Hour, SourceID: "9"}}
		h.Far.Named = "made here"
		path := "/playlists/" + id + "/copies/navidrome"
		h.Call(http.MethodPut, path, "", http.StatusAccepted)
		h.Carry()
		h.Days(1)
		h.Far.List = []string{"7", "1"}
		h.Days(1)
		h.Submit(path, http.StatusSeeOther, "write", "leave")
		answerQuestion(h, `{"chosen":"9"}`)
		require.Equal(t, []string{"7", "1"}, h.Far.List)
	})
}

func TestAnotherAccountGetsItsOwnCopy(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Copied()
		c, err := h.DB.Connection(t.Context(), h.User, "navidrome")
		require.NoError(t, err)
		c.AccountID = "another"
		_, err = h.DB.SaveConnection(t.Context(), c)
		require.NoError(t, err)
		h.Far.Gone = true // that account has none yet
		h.Playlist("Rain", "Two", "One")
		h.Carry()
		require.False(t, h.Far.Gone, "it was made there")
		require.Empty(t, h.Questions())
	})
}

func TestNoneIsSaidOfOneRecording(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour))
		h.Hear("One") // of a minute
		h.Carry()
		answerQuestion(h, `{"none":true}`)
		time.Sleep(2 * time.Hour)
		_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify",
			Listens: []library.Listen{{SourceID: "x", PlayedAt: time.Now(),
				Track: library.Track{Title: "One", Artist: "Sigur Rós", Album: "Album a", Duration: time.Hour}}}})
		require.NoError(t, err)
		h.Carry()
		require.Equal(t, []string{"One"}, h.Far.Taken, "the very recording of the library")
	})
}

func TestAPlayKeepsItsTrackInTheCopy(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t, library.Track{SourceID: "x", Title: "Untitled Long Storry", Artist: "Sigur Rós",
			Duration: time.Minute},
			library.Track{SourceID: "z", Title: "Zzz", Artist: "Sigur Rós", Duration: time.Minute})
		rains(h, "Untitled Long Story")
		require.Equal(t, []string{"x"}, h.Far.List, "by likeness")
		h.Hear("Untitled Long Story") // which is not enough for a play
		h.Carry()
		rains(h, "Untitled Long Story", "Zzz")
		require.Equal(t, []string{"x", "z"}, h.Far.List)
	})
}

func TestAChoiceCountsMoreThanLikeness(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := newLibrary(t, library.Track{SourceID: "x", Title: "Untitled Long Storry", Artist: "Sigur Rós",
			Duration: time.Minute}, library.Track{SourceID: "y", Title: "Untitled Long Story (Live)",
			Artist: "Sigur Rós", Duration: 5 * time.Minute})
		rains(h, "Untitled Long Story")
		require.Equal(t, []string{"x"}, h.Far.List)
		h.Hear("Untitled Long Story")
		h.Carry()
		answerQuestion(h, `{"chosen":"y"}`)
		rains(h, "Untitled Long Story")
		require.Equal(t, []string{"y"}, h.Far.List)
	})
}
