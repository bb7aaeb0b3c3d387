package playlists_test

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

// TestAPlaylistTellsOfItsVideos has a playlist with a video that is there, one that was deleted, and a song of which no
// video is known.
func TestAPlaylistTellsOfItsVideos(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		tracks := []library.Track{
			{Title: "Roygbiv", Artist: "Boards of Canada", Duration: 151 * time.Second, SourceID: "there"},
			{Title: "Jóga", Artist: "Björk", SourceID: "gone"}, {Title: "No video", Artist: "Nobody"}}
		require.NoError(t, h.DB.SavePlaylist(t.Context(), h.User, "youtube",
			library.Playlist{SourceID: "PL1", Name: "Rain"}, 0, tracks))
		published := time.Date(2014, 11, 7, 9, 30, 12, 0, time.UTC)
		require.NoError(t, h.DB.SaveVideos(t.Context(), []library.Video{
			{ID: "there", Title: "Roygbiv", Channel: "Boards of Canada - Topic", Published: published,
				Duration: 151 * time.Second, Category: "Music", Tags: []string{"Roygbiv"}, Views: 6204311, Likes: -1,
				Comments: 0, Thumbnail: "https://i.ytimg.com/vi/there/hq.jpg", Availability: library.VideoPublic,
				BlockedIn: []string{"DE", "FR"}},
			{ID: "gone", Title: "Jóga (Official Video)", Channel: "BjörkVEVO", Duration: 5 * time.Minute, Views: 1,
				Availability: library.VideoPublic}}, time.Now()))
		since := time.Now()
		require.NoError(t, h.DB.VideosGone(t.Context(), []string{"gone"}, library.VideoDeleted, since))
		time.Sleep(72 * time.Hour)

		all, err := h.DB.Playlists(t.Context(), h.User)
		require.NoError(t, err)
		id := strconv.FormatInt(all[0].ID, 10)
		got := h.Call(http.MethodGet, "/playlists/"+id, "", http.StatusOK)["tracks"].([]any)
		video := func(i int) any { return got[i].(map[string]any)["video"] }
		require.Equal(t, map[string]any{"id": "there", "title": "Roygbiv", "channel": "Boards of Canada - Topic",
			"published_at": "2014-11-07T09:30:12.000Z", "duration_ms": 151000.0, "category": "Music",
			"tags": []any{"Roygbiv"}, "views": 6204311.0, "likes": nil, "comments": 0.0,
			"thumbnail": "https://i.ytimg.com/vi/there/hq.jpg", "availability": "public", "allowed_in": []any{},
			"blocked_in": []any{"DE", "FR"}, "checked_at": library.Stamp(since), "gone_since": nil}, video(0))
		gone := video(1).(map[string]any)
		require.Equal(t, []any{"Jóga (Official Video)", "deleted", library.Stamp(since), 300000.0},
			[]any{gone["title"], gone["availability"], gone["gone_since"], gone["duration_ms"]})
		require.Nil(t, video(2))

		html := h.Page("/playlists/" + id)
		require.Contains(t, html, "2:31")
		require.Contains(t, html, "deleted on YouTube")
		require.NotContains(t, html, "Deleted video", "it has the name that it had")
	})
}
