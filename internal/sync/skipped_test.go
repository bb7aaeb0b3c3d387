package sync_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	syncer "reprise/internal/sync"
)

const itemsOfC = "/v1/playlists/C/items"

// gone answers that a playlist does not exist.
func gone(req *http.Request) (*http.Response, error) {
	return enginetest.Answer(req, 404, `{"error":{"status":404,"message":"Resource not found"}}`), nil
}

func skipped(t *testing.T, e *enginetest.Engine, user int64) []library.Skipped {
	t.Helper()
	all, err := e.Store.Skipped(t.Context(), user, "spotify")
	require.NoError(t, err)
	return all
}

// fiveLists connects an account with the playlists A to E, of which C fails.
func fiveLists(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64, f enginetest.Fault) {
	t.Helper()
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		up.SetPlaylist("alice", name, "One", "Two")
	}
	up.FailPath("spotify", itemsOfC, f)
	require.NoError(t, e.ConnectSpotify(up, user, "alice"))
	enginetest.Settle()
}

// Promise: 24 h: before Reprise tries something skipped again; it costs one call a day, not one a tick.
func TestARefusedPlaylistIsAskedForDaily(t *testing.T) {
	hourly := syncer.Options{ListensEvery: 48 * time.Hour, PlaylistsEvery: time.Hour}
	restartableWith(t, hourly, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		fiveLists(t, e, up, user, gone)
		began := time.Now().Add(-time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		one := skipped(t, e, user)
		require.Len(t, one, 1)
		require.Equal(t, []string{"playlist", "C", "C", "item"},
			[]string{one[0].Kind, one[0].SourceID, one[0].Name, one[0].Category})
		require.Contains(t, one[0].Answer, "answered 404: Resource not found")
		require.NotEmpty(t, one[0].Reason)
		time.Sleep(3*24*time.Hour + time.Hour)
		require.InDelta(t, 4, len(attempts(up.Calls("spotify"), itemsOfC, began)), 1, "once a day, not at every tick")
		require.Equal(t, one[0].Since, skipped(t, e, user)[0].Since)

		require.NoError(t, e.Connections.LookAgain(context.Background(), user, "spotify"))
		enginetest.Settle()
		require.WithinDuration(t, time.Now(), skipped(t, e, user)[0].TriedAt, time.Minute, "at once when asked to")

		up.FailPath("spotify", itemsOfC, nil)
		time.Sleep(25 * time.Hour)
		require.Empty(t, skipped(t, e, user), "it can be read again")
		lists, err := e.Store.ConnectionPlaylists(t.Context(), user, "spotify")
		require.NoError(t, err)
		require.Len(t, lists, 5)
	})
}

func TestAChangedPlaylistIsAskedForAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		fiveLists(t, e, up, user, gone)
		up.FailPath("spotify", itemsOfC, nil)
		up.SetPlaylist("alice", "C", "Three")
		time.Sleep(20 * time.Minute)
		require.Empty(t, skipped(t, e, user))
	})
}

func TestAPlaylistNoLongerListedIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		fiveLists(t, e, up, user, gone)
		up.SetPlaylist("alice", "C")
		time.Sleep(20 * time.Minute)
		require.Empty(t, skipped(t, e, user))
	})
}

// TestATrackThatIsGoneIsListed: Spotify lists a track that it no longer offers as null.
func TestATrackThatIsGoneIsListed(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		fiveLists(t, e, up, user, func(req *http.Request) (*http.Response, error) {
			return enginetest.Answer(req, 200, `{"items":[{"item":null},
				{"item":{"type":"track","name":"Two","id":"2"}}],"total":2,"next":null}`), nil
		})
		one := skipped(t, e, user)
		require.Len(t, one, 1)
		require.Equal(t, []string{"track", "C", "1", "Track 1", "C", "Spotify no longer offers this track."},
			[]string{one[0].Kind, one[0].Playlist, one[0].SourceID, one[0].Name, one[0].In, one[0].Reason.String()})
		up.FailPath("spotify", itemsOfC, nil)
		time.Sleep(23 * time.Hour)
		require.Len(t, skipped(t, e, user), 1)
		time.Sleep(90 * time.Minute)
		require.Empty(t, skipped(t, e, user), "its playlist is read again once a day, though it has not changed")
	})
}

func TestListensGoOnBesideACutPlaylist(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		fiveLists(t, e, up, user, func(*http.Request) (*http.Response, error) {
			return nil, errors.New("connection reset by peer")
		})
		up.Play("alice", "Now", time.Now())
		time.Sleep(20 * time.Minute)
		require.Equal(t, 1, e.Listens(user))
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.Healthy, s.Condition)
		require.Empty(t, s.Detail)
		require.Equal(t, "Skipped, because they can't be read there: C.", s.Streams[1].Note.String())
		require.Equal(t, "network", skipped(t, e, user)[0].Category)
	})
}

func TestSkippedItemsGoWithTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		fiveLists(t, e, up, user, gone)
		require.NoError(t, e.Connections.Disconnect(context.Background(), user, "spotify", false))
		require.Empty(t, skipped(t, e, user))
	})
}

// TestAVideoThatIsGoneIsListed: its place in the playlist stays, and the page says why it has no name.
func TestAVideoThatIsGoneIsListed(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.Like("alice", "Song")
		up.FailPath("youtube", "/youtube/v3/playlistItems", func(req *http.Request) (*http.Response, error) {
			return enginetest.Answer(req, 200, `{"pageInfo":{"totalResults":1},"items":[{"snippet":
				{"title":"Deleted video"},"contentDetails":{"videoId":"gone0000001"}}]}`), nil
		})
		require.NoError(t, e.ConnectYouTube(up, user, "alice"))
		enginetest.Settle()
		all, err := e.Store.Skipped(t.Context(), user, "youtube")
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, []string{"track", "gone0000001", "Deleted video", "Liked videos",
			"This video is gone from YouTube."}, []string{all[0].Kind, all[0].SourceID, all[0].Name, all[0].In,
			all[0].Reason.String()})
	})
}
