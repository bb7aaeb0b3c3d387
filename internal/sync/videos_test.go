package sync_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	syncer "reprise/internal/sync"
)

// rain is a playlist of Alice's with so many videos.
func rain(up *enginetest.Upstreams, n int) (videos []string) {
	for i := range n {
		videos = append(videos, fmt.Sprintf("rain-%03d", i))
	}
	up.SetYouTubePlaylist("alice", "PLrain", "public", videos...)
	return videos
}

// tracksOf returns the tracks of the playlist PLrain, and what is known of their videos.
func tracksOf(t *testing.T, e *enginetest.Engine, user int64) ([]library.Track, map[string]library.StoredVideo) {
	t.Helper()
	lists, err := e.Store.Playlists(context.Background(), user)
	require.NoError(t, err)
	i := slices.IndexFunc(lists, func(p library.StoredPlaylist) bool { return p.SourceID == "PLrain" })
	require.GreaterOrEqual(t, i, 0)
	tracks, err := e.Store.PlaylistTracks(context.Background(), user, lists[i].ID, 0, 1000)
	require.NoError(t, err)
	var ids []string
	for _, track := range tracks {
		ids = append(ids, track.SourceID)
	}
	videos, err := e.Store.Videos(context.Background(), ids)
	require.NoError(t, err)
	return tracks, videos
}

func TestVideosAreAskedForDailyFiftyAtATime(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		before := len(up.VideosAsked())
		rain(up, 120)
		time.Sleep(11 * time.Minute)
		require.Equal(t, []int{50, 50, 20}, up.VideosAsked()[before:], "120 videos are 3 calls")
		tracks, videos := tracksOf(t, e, admin)
		require.Len(t, tracks, 120)
		require.Equal(t, 3*time.Minute, tracks[7].Duration)
		v := videos["rain-007"]
		require.WithinRange(t, v.CheckedAt, time.Now().Add(-time.Minute*12), time.Now())
		require.Zero(t, v.GoneSince)
		require.Equal(t, library.Video{ID: "rain-007", Title: "rain-007", Channel: "Sigur Rós - Topic",
			Published: time.Date(2014, 11, 7, 9, 30, 12, 0, time.UTC), Duration: 3 * time.Minute, Category: "Music",
			Tags: []string{"Post-rock"}, Views: 10000, Likes: 100, Comments: -1,
			Thumbnail: "https://i.ytimg.com/vi/rain-007/hqdefault.jpg", Availability: library.VideoPublic,
			BlockedIn: []string{"DE"}}, v.Video)

		// A day of ticks every ten minutes asks once more for each, in as many calls.
		before = len(up.VideosAsked())
		time.Sleep(23 * time.Hour)
		require.Len(t, up.VideosAsked(), before, "nothing is older than a day")
		time.Sleep(2 * time.Hour)
		asked := 0
		for _, n := range up.VideosAsked()[before:] {
			asked += n
		}
		require.Equal(t, 122, asked, "each once, and no video that is in nobody's playlist")
		require.LessOrEqual(t, len(up.VideosAsked())-before, 5, "the likes of two people beside these")
	})
}

func TestAVideoVanishesAndComesBack(t *testing.T) {
	for _, how := range []string{"deleted", "private"} {
		t.Run(how, func(t *testing.T) {
			keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
				rain(up, 3)
				time.Sleep(11 * time.Minute)
				up.Vanish("rain-001", how)
				gone := time.Now()
				time.Sleep(26 * time.Hour) // the playlist itself is read again once a day too
				tracks, videos := tracksOf(t, e, admin)
				require.Len(t, tracks, 3, "it keeps its place")
				require.Equal(t, "rain-001", tracks[1].Title, "under the name that it had")
				require.Equal(t, "Sigur Rós", tracks[1].Artist)
				require.Equal(t, 3*time.Minute, tracks[1].Duration)
				v := videos["rain-001"]
				require.WithinRange(t, v.GoneSince, gone, gone.Add(25*time.Hour))
				require.Equal(t, how, v.Availability)
				require.Equal(t, "rain-001", v.Title)
				require.Zero(t, videos["rain-000"].GoneSince)
				since := v.GoneSince

				time.Sleep(26 * time.Hour)
				_, videos = tracksOf(t, e, admin)
				require.Equal(t, since, videos["rain-001"].GoneSince, "since then, however often it is looked for")

				up.Vanish("rain-001", "")
				time.Sleep(26 * time.Hour)
				tracks, videos = tracksOf(t, e, admin)
				require.Len(t, tracks, 3)
				require.Zero(t, videos["rain-001"].GoneSince)
				require.Equal(t, library.VideoPublic, videos["rain-001"].Availability)
				require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
			})
		})
	}
}

// What was gone before it was ever seen has no name to keep, and is left out as before.
func TestAVideoThatWasNeverSeenIsLeftOut(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		up.Vanish("rain-000", "deleted")
		up.Vanish("rain-002", "private")
		rain(up, 5)
		time.Sleep(11 * time.Minute)
		tracks, _ := tracksOf(t, e, admin)
		require.Len(t, tracks, 3)
		before := len(up.VideosAsked())
		time.Sleep(3 * 24 * time.Hour)
		asked := 0
		for _, n := range up.VideosAsked()[before:] {
			asked += n
		}
		require.LessOrEqual(t, asked, 3*5+5, "nobody looks for them every day")
	})
}

// An answer that leaves out most videos is not believed at once.
func TestHalfAnAnswerMakesNoVideoGone(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		videos := rain(up, 10)
		time.Sleep(11 * time.Minute)
		up.FailPath("youtube", "/youtube/v3/videos", enginetest.Refusal(200,
			`{"items":[],"pageInfo":{"totalResults":0}}`))
		time.Sleep(23*time.Hour + 55*time.Minute)
		up.FailPath("youtube", "/youtube/v3/videos", nil)
		time.Sleep(2 * time.Hour)
		_, known := tracksOf(t, e, admin)
		for _, id := range videos {
			require.Zero(t, known[id].GoneSince, id)
		}
	})
}
