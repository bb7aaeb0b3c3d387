// Package reprise_test follows one household through an upstream's bad week. Everything in it is real except the
// upstreams and the clock: the syncer and its loops, the backoff, the bus, the notifications and SQLite. Time is
// synctest's, so the week passes in seconds.
package reprise_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// callsBetween counts the requests to a service from one time, inclusive, to another, exclusive.
func callsBetween(calls []enginetest.Call, from, to time.Time) int {
	n := 0
	for _, c := range calls {
		if !c.Time.Before(from) && c.Time.Before(to) {
			n++
		}
	}
	return n
}

// without returns the calls of every account but one.
func without(calls []enginetest.Call, account string) []enginetest.Call {
	return slices.DeleteFunc(calls, func(c enginetest.Call) bool { return c.User == account })
}

// Promise: A bad week of a service costs no play, no more calls than a quiet one, and one announcement.
func TestAnUpstreamsBadWeek(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{}, nil)
		alice := e.AddUser("Alice", accounts.Admin)

		// Monday. Alice connects Spotify and ListenBrainz. Both know the same forty plays of the weekend, and Reprise
		// keeps each once.
		for i := range 40 {
			up.Play("alice", fmt.Sprintf("Song %d", i), time.Now().Add(time.Duration(i-41)*10*time.Minute))
		}
		up.SetPlaylist("alice", "Rain", "Song 1", "Song 2", "Song 3")
		require.NoError(t, e.ConnectSpotify(up, alice, "alice"))
		require.NoError(t, e.ConnectListenBrainz(alice, "alice"))
		enginetest.Settle()
		require.Equal(t, 40, e.Listens(alice), "the same play from two services is one listen")
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		require.Empty(t, e.Open(alice))

		// Tuesday. Spotify answers 503 all day. There is no notification, Spotify is called less and less often, and
		// what Alice plays still arrives through ListenBrainz at its usual interval.
		up.Fail("spotify", enginetest.Status(503))
		bad := time.Now()
		for i := range 24 {
			time.Sleep(time.Hour)
			up.Play("alice", fmt.Sprintf("Tuesday %d", i), time.Now())
		}
		// Seven calls in the first half hour, then one every 22.5 to 30 minutes, for each of the two streams.
		require.LessOrEqual(t, callsBetween(up.Calls("spotify"), bad, time.Now()), 2*(7+63))
		require.Equal(t, syncer.Waiting, e.Status(alice, "spotify").Condition)
		require.Equal(t, syncer.Healthy, e.Status(alice, "listenbrainz").Condition)
		require.Empty(t, e.Open(alice), "an outage that may pass by itself opens no notification")
		require.Equal(t, 40+23, e.Listens(alice), "all but the latest play")

		// The outage goes on. After a day at the longest wait there is one warning.
		time.Sleep(3 * time.Hour)
		require.Len(t, e.Open(alice), 1)
		require.Equal(t, notify.Warning, e.Open(alice)[0].Severity)

		// Wednesday. Spotify is back. The next attempt succeeds, all listens are caught up, and the warning closes.
		up.Fail("spotify", nil)
		time.Sleep(31 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		require.Equal(t, 64, e.Listens(alice))
		require.Empty(t, e.Open(alice))

		// Thursday, 08:00. Spotify asks for a wait of one day. The wait is kept to the second, across a restart, even
		// when Alice presses "Sync now", and for all users of the same client ID.
		bob := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, bob, "bob"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(429, "Retry-After", "86400"))
		time.Sleep(6 * time.Minute)
		held := e.Status(alice, "spotify")
		require.Equal(t, syncer.Held, held.Condition)
		require.Equal(t, syncer.Held, e.Status(bob, "spotify").Condition)
		lastCalls := up.Calls("spotify")
		until := lastCalls[len(lastCalls)-1].Time.Add(24 * time.Hour)
		require.WithinDuration(t, until, held.State.Until, time.Second)
		up.Fail("spotify", nil)
		before := len(lastCalls)
		e.Stop()
		e = enginetest.Start(t, dir, up, syncer.Options{}, nil)
		err := e.Connections.SyncNow(context.Background(), alice, "spotify")
		refused, ok := errors.AsType[*backoff.NotBeforeError](err)
		require.True(t, ok, "want the end of the hold, got %v", err)
		require.WithinDuration(t, until, refused.State.Until, time.Second)
		time.Sleep(time.Until(until) - time.Second)
		require.Len(t, up.Calls("spotify"), before, "no call before the hold ends")
		time.Sleep(6 * time.Minute)
		require.Greater(t, len(up.Calls("spotify")), before)
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		require.Equal(t, syncer.Healthy, e.Status(bob, "spotify").Condition)

		// Friday. Alice's permission is revoked. After one refused call and one refused renewal there are no more calls
		// for her. There is one alert, also after a restart, and Bob is not affected.
		watch := e.Bus.Subscribe(alice)
		up.Revoke("alice")
		time.Sleep(6 * time.Minute)
		require.Equal(t, syncer.NeedsReconnect, e.Status(alice, "spotify").Condition)
		before = len(without(up.Calls("spotify"), "bob"))
		time.Sleep(12 * time.Hour)
		e.Stop()
		e = enginetest.Start(t, dir, up, syncer.Options{}, nil)
		time.Sleep(time.Hour)
		require.Len(t, without(up.Calls("spotify"), "bob"), before,
			"a dead credential is never sent again")
		require.Equal(t, syncer.NeedsReconnect, e.Status(alice, "spotify").Condition)
		require.Equal(t, syncer.Healthy, e.Status(bob, "spotify").Condition)
		alerts := e.Open(alice)
		require.Len(t, alerts, 1)
		require.Equal(t, "Reconnect Spotify", alerts[0].Title.String())
		require.Equal(t, notify.Action{Label: words.New("alert.action.reconnect"), URL: "/connect/spotify"},
			alerts[0].Action)
		require.Equal(t, 1, announcements(watch), "one announcement on the bus")

		// Saturday. Alice reconnects. The alert closes, reading starts at once, and no listen of the week is missing.
		up.Play("alice", "Friday night", time.Now().Add(-20*time.Minute))
		require.NoError(t, e.ConnectSpotify(up, alice, "alice"))
		enginetest.Settle()
		require.Empty(t, e.Open(alice))
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		require.Equal(t, 65, e.Listens(alice))

		// Sunday morning. Spotify restarts, and answers 503 twice. The reading repeats its call a moment later, so that
		// nobody sees a wait or a failure.
		failing := 2
		up.FailPath("spotify", "/v1/me/player/recently-played", func(r *http.Request) (*http.Response, error) {
			if failing--; failing >= 0 {
				return enginetest.Answer(r, 503, `{}`), nil
			}
			return nil, nil
		})
		up.PlayOn("spotify", "alice", "Sunday morning", time.Now())
		require.NoError(t, e.Connections.SyncNow(context.Background(), alice, "spotify"))
		time.Sleep(8 * time.Second) // the longest two waits are 1.5 and 4.5 s
		require.Negative(t, failing, "the third try was answered")
		require.Equal(t, 66, e.Listens(alice))
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)

		// Sunday noon. Alice has twenty new playlists, each of which takes a second. In the middle of reading them her
		// other stream has to wait 40 seconds: the run under way sends nothing more, and goes on after that.
		for i := range 20 {
			up.SetPlaylist("alice", fmt.Sprintf("Summer %d", i), "Song 1")
		}
		up.Fail("spotify", func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return nil, nil
		})
		up.FailPath("spotify", "/v1/me/player/recently-played", func(r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return enginetest.Answer(r, 429, `{}`, "Retry-After", "40"), nil
		})
		require.NoError(t, e.Connections.SyncNow(context.Background(), alice, "spotify"))
		time.Sleep(5*time.Second + time.Millisecond)
		held, bad = e.Status(alice, "spotify"), time.Now()
		require.Equal(t, syncer.Held, held.Condition)
		up.Fail("spotify", nil)
		up.FailPath("spotify", "/v1/me/player/recently-played", nil)
		time.Sleep(39 * time.Second)
		require.Zero(t, callsBetween(up.Calls("spotify"), bad, time.Now()), "nothing is sent inside the wait")
		require.Equal(t, 1, e.Status(alice, "spotify").State.Failures, "what was not sent has not failed")
		time.Sleep(20 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		lists, err := e.Store.CountPlaylists(context.Background(), alice)
		require.NoError(t, err)
		require.Equal(t, 21, lists)

		// Half a year later, Alice is warned that the permission will end: 30, 7 and 1 days ahead, once each, across
		// any number of restarts. The syncer runs less often here so that the test takes less time.
		var warned []string
		expires := e.Status(alice, "spotify").Connection.ExpiresAt
		for time.Until(expires) > 2*time.Hour {
			e.Stop()
			e = enginetest.Start(t, dir, up,
				syncer.Options{ListensEvery: 48 * time.Hour, PlaylistsEvery: 48 * time.Hour}, nil)
			if left := time.Until(expires); left > 32*24*time.Hour {
				time.Sleep(left - 32*24*time.Hour)
			}
			time.Sleep(10 * time.Hour)
			for _, n := range e.Open(alice) {
				if once := n.Cause + n.CreatedAt.String(); !slices.Contains(warned, once) {
					warned = append(warned, once)
				}
			}
		}
		require.Len(t, warned, 3)
		for i, cause := range []string{notify.CauseEnds30, notify.CauseEnds7, notify.CauseEnds1} {
			require.Contains(t, warned[i], cause)
		}
		require.Len(t, e.Open(alice), 1, "a nearer warning replaces the earlier ones")
	})
}

// announcements counts the distinct notifications in the buffer of a subscription.
func announcements(s *events.Subscription) int {
	ids := map[string]bool{}
	for {
		select {
		case e, ok := <-s.C:
			if !ok {
				return len(ids)
			}
			if e.Type == events.Notification {
				ids[e.ID] = true
			}
		default:
			return len(ids)
		}
	}
}
