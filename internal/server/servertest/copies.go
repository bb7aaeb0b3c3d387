package servertest

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// Playlist stores a playlist of Spotify, and returns its ID.
func (h *Household) Playlist(name string, titles ...string) string {
	h.T.Helper()
	var tracks []library.Track
	for i, title := range titles {
		tracks = append(tracks, library.Track{Title: title, Artist: "Sigur Rós", Duration: 3 * time.Minute,
			ISRC: "ISA01250000" + strconv.Itoa(i)})
	}
	require.NoError(h.T, h.DB.SavePlaylist(h.T.Context(), h.User, "spotify",
		library.Playlist{SourceID: name, Name: name}, 0, tracks))
	all, err := h.DB.Playlists(h.T.Context(), h.User)
	require.NoError(h.T, err)
	i := slices.IndexFunc(all, func(p library.StoredPlaylist) bool { return p.Name == name })
	return strconv.FormatInt(all[i].ID, 10)
}

// Days lets n days pass. Deliveries run for a minute and a half at the end of each: a bubble in which they run all day
// is slow.
func (h *Household) Days(n int) {
	h.T.Helper()
	for range n {
		time.Sleep(24*time.Hour + time.Minute)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(h.T, h.Deliveries.Run(ctx)) })
		time.Sleep(90 * time.Second)
		cancel()
		running.Wait()
	}
}

// Copied returns the path of a copy at Navidrome that has been written, of a playlist with two tracks.
func (h *Household) Copied() (path string) {
	h.T.Helper()
	id := h.Playlist("Rain", "One", "Two")
	for i, title := range []string{"One", "Two"} {
		h.Far.Has = append(h.Far.Has, library.Track{Title: title, Artist: "Sigur Rós", Duration: 3 * time.Minute,
			SourceID: string(rune('1' + i))})
	}
	h.Far.Named = "made here"
	path = "/playlists/" + id + "/copies/navidrome"
	h.Call(http.MethodPut, path, "", http.StatusAccepted)
	h.Carry()
	require.Equal(h.T, true, h.Call(http.MethodGet, path, "", http.StatusOK)["up_to_date"])
	require.Equal(h.T, []string{"1", "2"}, h.Far.List)
	require.Equal(h.T, "Rain", h.Far.Named)
	return path
}

// Questions returns the open notifications about the copy.
func (h *Household) Questions() (titles []string) {
	h.T.Helper()
	for _, n := range h.Call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"].([]any) {
		titles = append(titles, n.(map[string]any)["title"].(string))
	}
	return titles
}
