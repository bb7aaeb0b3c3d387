package sync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/clocktest"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

func TestAWalkThatBreaksOffLeavesNoGap(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		for i := range 100 {
			up.Play("alice", fmt.Sprintf("Old %d", i), time.Now().Add(time.Duration(i-100)*10*time.Minute))
		}
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		require.Equal(t, 100, e.Listens(user))
		require.NoError(t, e.Connections.Pause(context.Background(), user, "listenbrainz"))
		for i := range 2500 {
			up.Play("alice", fmt.Sprintf("New %d", i), time.Now().Add(time.Duration(i)*5*time.Minute))
		}
		time.Sleep(2600 * 5 * time.Minute)
		// Of the three pages the second fails once.
		var pages atomic.Int32 // streams are read at the same time
		up.Fail("listenbrainz", nil)
		var fault enginetest.Fault
		fault = func(req *http.Request) (*http.Response, error) {
			if pages.Add(1) == 2 {
				up.Fail("listenbrainz", nil)
				return enginetest.Answer(req, 503, `{}`), nil
			}
			up.Fail("listenbrainz", nil)
			defer up.Fail("listenbrainz", fault)
			return up.RoundTrip(req)
		}
		up.Fail("listenbrainz", fault)
		require.NoError(t, e.Connections.Resume(context.Background(), user, "listenbrainz"))
		time.Sleep(10 * time.Minute)
		require.EqualValues(t, 2, pages.Load(), "the fault has struck")
		require.Equal(t, 2600, e.Listens(user))
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)
	})
}

func TestALongHistoryIsReadInParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const plays = 3500 // a page is a thousand
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{HistoryPages: 2}, nil)
		user := e.AddUser("Alice", accounts.Admin)
		for i := range plays {
			up.Play("alice", fmt.Sprintf("Song %d", i%977), time.Now().Add(time.Duration(i-plays)*4*time.Minute))
		}
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		s := e.Status(user, "listenbrainz").Streams[0]
		require.True(t, s.History)
		require.Equal(t, plays, s.Total)
		require.InDelta(t, 2000, s.Done, 2, "two pages, which share a play")
		up.Play("alice", "Just now", time.Now())
		time.Sleep(12 * time.Minute)
		require.Equal(t, plays+1, e.Listens(user))
		require.False(t, e.Status(user, "listenbrainz").Streams[0].History)
	})
}

// TestAPlayFromTheFutureHidesNoneThatFollow: a player whose clock is wrong dates its plays as it likes.
func TestAPlayFromTheFutureHidesNoneThatFollow(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.PlayOn("spotify", "alice", "Yesterday", time.Now().Add(-24*time.Hour))
		up.PlayOn("spotify", "alice", "In twelve hours", time.Now().Add(12*time.Hour))
		up.PlayOn("spotify", "alice", "In two years", time.Now().AddDate(2, 0, 0)) // which is not stored
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.Equal(t, 2, e.Listens(user))
		for i := range 3 {
			time.Sleep(time.Hour)
			up.PlayOn("spotify", "alice", fmt.Sprintf("Today %d", i), time.Now())
		}
		time.Sleep(10 * time.Minute)
		require.Equal(t, 5, e.Listens(user))
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
	})
}

// TestPlaysKeepTheTimesOfTheirService: this server's clock is wrong for a while, and then right again.
func TestPlaysKeepTheTimesOfTheirService(t *testing.T) {
	for name, d := range clocktest.Moves { // so far is the service's clock behind
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
				require.NoError(t, e.ConnectSpotify(up, user, "alice"))
				enginetest.Settle()
				var want []time.Time
				play := func(at time.Time) {
					want = append(want, at.UTC().Truncate(time.Millisecond))
					up.PlayOn("spotify", "alice", fmt.Sprintf("Song %d", len(want)), at)
				}
				for range 3 {
					play(time.Now().Add(-d))
					time.Sleep(10 * time.Minute)
				}
				time.Sleep(max(-d, 0))
				play(time.Now())
				time.Sleep(time.Hour)
				require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
				time.Sleep(time.Minute)
				all, _, err := e.Store.Listens(context.Background(), user, "", 50)
				require.NoError(t, err)
				var got []time.Time
				for _, l := range all {
					got = append(got, l.PlayedAt.UTC())
				}
				slices.SortFunc(got, time.Time.Compare)
				slices.SortFunc(want, time.Time.Compare)
				require.Equal(t, want, got)
			})
		})
	}
}

// faultyStore fails to store now and then.
type faultyStore struct {
	*store.Store
	fails int // how many times still
}

func (s *faultyStore) SaveListens(ctx context.Context, in library.Intake) (int, error) {
	if s.fails > 0 && len(in.Listens) > 0 {
		s.fails--
		return 0, &resilience.LocalError{Problem: words.Plain("The disk is full. Make room on it."),
			Err: errors.New("disk full")}
	}
	return s.Store.SaveListens(ctx, in)
}

func TestAnInsertThatFailsOnceLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{},
			func(s *store.Store) enginetest.Store { return &faultyStore{s, 1} })
		user := e.AddUser("Alice", accounts.Admin)
		for i := range 50 {
			up.Play("alice", fmt.Sprintf("Song %d", i), time.Now().Add(time.Duration(i-50)*time.Hour))
		}
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		s := e.Status(user, "spotify")
		require.Zero(t, e.Listens(user))
		require.Contains(t, s.Words.Message.String(), "The disk is full.", "it is said what to do")
		require.NotContains(t, s.Words.Message.String(), "reconnect")
		time.Sleep(time.Minute)
		require.Equal(t, 50, e.Listens(user))
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
	})
}

func TestTwoRealPlaysStayTwo(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		first := time.Now().Add(-time.Hour)
		up.Play("alice", "Svefn-g-englar", first)
		up.Play("alice", "Svefn-g-englar", first.Add(time.Minute))
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		page, _, err := e.Store.Listens(context.Background(), user, "", 10)
		require.NoError(t, err)
		require.Len(t, page, 2)
		for _, l := range page {
			require.Len(t, l.Sources, 2, "each was told of by both services")
		}
	})
}

func TestPlaylistsAreNotLostToABadAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		titles := make([]string, 20)
		for i := range titles {
			titles[i] = fmt.Sprintf("Song %d", i)
		}
		up.SetPlaylist("alice", "Rain", titles...)
		up.SetPlaylist("alice", "Sun", "Song 1", "Song 2")
		up.SetPlaylist("alice", "Wind", "Song 1", "Song 2")
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		active := func() (n, tracks int) {
			all, err := e.Store.Playlists(ctx, user)
			require.NoError(t, err)
			for _, p := range all {
				if p.Active {
					n++
					_, list, err := e.Store.Playlist(ctx, user, p.ID)
					require.NoError(t, err)
					tracks += len(list)
				}
			}
			return n, tracks
		}
		check := func(wantPlaylists, wantTracks int, why string) {
			t.Helper()
			n, tracks := active()
			require.Equal(t, wantPlaylists, n, why)
			require.Equal(t, wantTracks, tracks, why)
		}
		sync := func() {
			t.Helper()
			require.NoError(t, e.Connections.SyncNow(ctx, user, "spotify"))
			enginetest.Settle()
		}
		check(3, 24, "all of it has been read")

		// A read that breaks off after three tracks.
		up.SetPlaylist("alice", "Rain", append(titles, "One more")...)
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(req.URL.Path, "/v1/playlists/") {
				return enginetest.Answer(req, 200, `{"items":[{"item":{"name":"Song 1"`), nil
			}
			return nil, nil
		})
		sync()
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Streams[1].Condition, "the others were as they were")
		require.Equal(t, "contract", skipped(t, e, user)[0].Category)
		check(3, 24, "twenty remain")
		up.Fail("spotify", nil)
		require.NoError(t, e.Connections.Retry(ctx, user, "spotify"))
		enginetest.Settle()
		check(3, 25, "and the one more, after it was read whole")

		// An empty list, once.
		empty := func(req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(req.URL.Path, "/v1/me/playlists") {
				return enginetest.Answer(req, 200, `{"items":[],"total":0,"next":null}`), nil
			}
			return enginetest.Answer(req, 200, `{"items":[]}`), nil
		}
		up.Fail("spotify", empty)
		sync()
		check(3, 25, "none disappears for one empty answer")
		up.Fail("spotify", nil)
		sync()
		up.Fail("spotify", empty)
		sync()
		check(3, 25, "nor for another one, later")
		sync()
		check(0, 0, "seen twice in a row, it is believed")

		// A playlist that shrinks by more than half must be seen so twice, too; one that loses a few, not.
		up.Fail("spotify", nil)
		sync()
		check(3, 25, "they are back")
		up.SetPlaylist("alice", "Rain", titles[:3]...)
		sync()
		check(3, 25, "not believed yet")
		sync()
		check(3, 7, "believed")
		up.SetPlaylist("alice", "Wind")
		sync()
		check(2, 5, "one of three may go at once")
	})
}

func TestPlaylistsStandInTheOrderOfTheirService(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		names := func() (all []string) {
			stored, err := e.Store.Playlists(context.Background(), user)
			require.NoError(t, err)
			for _, p := range stored {
				all = append(all, p.Name)
			}
			return all
		}
		for _, name := range []string{"Wind", "Sun", "Rain"} {
			up.SetPlaylist("alice", name, "Song 1")
		}
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.Equal(t, []string{"Rain", "Sun", "Wind"}, names())
		up.SetPlaylist("alice", "Snow", "Song 1") // is listed first, and the others, unchanged, behind it
		up.SetPlaylist("alice", "Hail", "Song 1")
		time.Sleep(time.Hour)
		require.Equal(t, []string{"Hail", "Snow", "Rain", "Sun", "Wind"}, names())
	})
}

func TestAClosedPlaylistDoesNotStopTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.SetPlaylist("alice", "Closed", "Song 1")
		up.SetPlaylist("alice", "Open", "Song 1")
		refused := 0
		var fault enginetest.Fault
		fault = func(req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(req.URL.Path, "/v1/playlists/Closed") {
				refused++
				return enginetest.Answer(req, 403, `{"error":{"status":403,"message":"Forbidden"}}`), nil
			}
			up.Fail("spotify", nil)
			defer up.Fail("spotify", fault)
			return up.RoundTrip(req)
		}
		up.Fail("spotify", fault)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		time.Sleep(2 * time.Hour)
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.Healthy, s.Condition)
		require.Contains(t, s.Streams[1].Note.String(), "Closed")
		require.Equal(t, 1, refused, "not asked for again before it changes")
		all, err := e.Store.Playlists(context.Background(), user)
		require.NoError(t, err)
		require.Len(t, all, 1)
	})
}

func TestManyPressesOfSyncNowAreOneMoreRun(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		time.Sleep(time.Second)
		release := make(chan struct{})
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			<-release
			return enginetest.Answer(req, 200, `{"items":[]}`), nil
		})
		began := time.Now()
		for range 8 {
			require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
			enginetest.Settle()
			require.Equal(t, syncer.Syncing, e.Status(user, "spotify").Condition)
		}
		close(release)
		enginetest.Settle()
		require.Len(t, attempts(up.Calls("spotify"), recent, began), 2, "the first press's, and one for all others")
	})
}

func TestDisconnectKeepsOrDeletes(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		for i := range 10 {
			up.Play("alice", fmt.Sprintf("Song %d", i), time.Now().Add(time.Duration(i-10)*time.Hour))
		}
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.NoError(t, e.Connections.Disconnect(ctx, user, "spotify", false))
		require.Equal(t, 10, e.Listens(user))
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.Equal(t, 10, e.Listens(user), "read again, they are the same")
		require.Equal(t, int64(2), e.Status(user, "spotify").Connection.Generation)
		require.NoError(t, e.Connections.Disconnect(ctx, user, "spotify", true))
		require.Zero(t, e.Listens(user))
		calls := len(up.Calls("spotify"))
		time.Sleep(24 * time.Hour)
		require.Len(t, up.Calls("spotify"), calls)
	})
}
