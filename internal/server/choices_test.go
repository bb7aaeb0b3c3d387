package server

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// answer answers the only question about a song of Navidrome's library.
func (h *household) answer(body string) {
	h.t.Helper()
	const path = "/connections/navidrome/songs"
	all := h.call(http.MethodGet, path, "", http.StatusOK)["songs"].([]any)
	require.Len(h.t, all, 1)
	h.call(http.MethodPut, path+"/"+all[0].(map[string]any)["id"].(string), body, http.StatusOK)
	h.carry()
}

// rains makes a playlist of these titles of a minute each, or changes it, and copies it.
func (h *household) rains(titles ...string) {
	h.t.Helper()
	var tracks []library.Track
	for _, title := range titles {
		tracks = append(tracks, library.Track{Title: title, Artist: "Sigur Rós", Duration: time.Minute})
	}
	list := library.Playlist{SourceID: "rain", Name: "Rain"}
	require.NoError(h.t, h.db.SavePlaylist(h.t.Context(), h.user, "spotify", list, 0, tracks))
	all, err := h.db.Playlists(h.t.Context(), h.user)
	require.NoError(h.t, err)
	h.far.named = "made here" // it is listed there
	h.call(http.MethodPut, "/playlists/"+strconv.FormatInt(all[0].ID, 10)+"/copies/navidrome", "", http.StatusAccepted)
	h.carry()
}

func TestChoosingASongLeavesALeftCopyAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		id := h.playlist("Rain", "One", "Odd")
		h.far.has = []library.Track{{Title: "One", Artist: "Sigur Rós", Duration: 3 * time.Minute, SourceID: "1"},
			{Title: "Odd", Artist: "Sigur Rós", Duration: time.Hour, SourceID: "9"}}
		h.far.named = "made here"
		path := "/playlists/" + id + "/copies/navidrome"
		h.call(http.MethodPut, path, "", http.StatusAccepted)
		h.carry()
		h.days(1)
		h.far.list = []string{"7", "1"}
		h.days(1)
		h.submit(path, http.StatusSeeOther, "write", "leave")
		h.answer(`{"chosen":"9"}`)
		require.Equal(t, []string{"7", "1"}, h.far.list)
	})
}

func TestAnotherAccountGetsItsOwnCopy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.copied()
		c, err := h.db.Connection(t.Context(), h.user, "navidrome")
		require.NoError(t, err)
		c.AccountID = "another"
		_, err = h.db.SaveConnection(t.Context(), c)
		require.NoError(t, err)
		h.far.gone = true // that account has none yet
		h.playlist("Rain", "Two", "One")
		h.carry()
		require.False(t, h.far.gone, "it was made there")
		require.Empty(t, h.questions())
	})
}

func TestNoneIsSaidOfOneRecording(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t, sung("a", "One", time.Hour))
		h.hear("One") // of a minute
		h.carry()
		h.answer(`{"none":true}`)
		time.Sleep(2 * time.Hour)
		_, err := h.db.SaveListens(t.Context(), library.Intake{User: h.user, Connection: "spotify",
			Listens: []library.Listen{{SourceID: "x", PlayedAt: time.Now(),
				Track: library.Track{Title: "One", Artist: "Sigur Rós", Album: "Album a", Duration: time.Hour}}}})
		require.NoError(t, err)
		h.carry()
		require.Equal(t, []string{"One"}, h.far.taken, "the very recording of the library")
	})
}

func TestAPlayKeepsItsTrackInTheCopy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t, library.Track{SourceID: "x", Title: "Untitled Long Storry", Artist: "Sigur Rós",
			Duration: time.Minute},
			library.Track{SourceID: "z", Title: "Zzz", Artist: "Sigur Rós", Duration: time.Minute})
		h.rains("Untitled Long Story")
		require.Equal(t, []string{"x"}, h.far.list, "by likeness")
		h.hear("Untitled Long Story") // which is not enough for a play
		h.carry()
		h.rains("Untitled Long Story", "Zzz")
		require.Equal(t, []string{"x", "z"}, h.far.list)
	})
}

func TestAChoiceCountsMoreThanLikeness(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newLibrary(t, library.Track{SourceID: "x", Title: "Untitled Long Storry", Artist: "Sigur Rós",
			Duration: time.Minute}, library.Track{SourceID: "y", Title: "Untitled Long Story (Live)",
			Artist: "Sigur Rós", Duration: 5 * time.Minute})
		h.rains("Untitled Long Story")
		require.Equal(t, []string{"x"}, h.far.list)
		h.hear("Untitled Long Story")
		h.carry()
		h.answer(`{"chosen":"y"}`)
		h.rains("Untitled Long Story")
		require.Equal(t, []string{"y"}, h.far.list)
	})
}
