// Package reprise_test tells the story of an upstream's bad week, as one household lives through it. Everything in it
// is real except the far side of the network and the clock: the syncer and its loops, the backoff, the bus, the
// notifications and SQLite. The days pass in a bubble of fake time, so the story takes no time to tell.
package reprise_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

// callsBetween counts the requests of a service in a stretch of time.
func callsBetween(calls []enginetest.Call, from, to time.Time) int {
	n := 0
	for _, c := range calls {
		if !c.At.Before(from) && c.At.Before(to) {
			n++
		}
	}
	return n
}

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

		// Tuesday. Spotify answers 503 all day. Nobody is bothered, Spotify is asked ever less often, and what Alice
		// plays meanwhile arrives through ListenBrainz in its usual rhythm.
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
		require.Empty(t, e.Open(alice), "an outage that passes by itself is no reason for a toast")
		require.Equal(t, 40+23, e.Listens(alice), "all but the play of this very minute")

		// It stays so, and after a day at the longest wait there is one warning.
		time.Sleep(3 * time.Hour)
		require.Len(t, e.Open(alice), 1)
		require.Equal(t, notify.Warning, e.Open(alice)[0].Severity)

		// Wednesday. Spotify is back. The next attempt finds out, everything is caught up, the warning goes by itself.
		up.Fail("spotify", nil)
		time.Sleep(31 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		require.Equal(t, 64, e.Listens(alice))
		require.Empty(t, e.Open(alice))

		// Thursday, 08:00. Spotify asks for a day's rest. It gets it, to the second, across a restart and although Alice
		// presses "Sync now"; and so does everybody else who uses the same client id.
		bob := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, bob, "bob"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(429, "Retry-After", "86400"))
		time.Sleep(6 * time.Minute)
		held := e.Status(alice, "spotify")
		require.Equal(t, syncer.Held, held.Condition)
		require.Equal(t, syncer.Held, e.Status(bob, "spotify").Condition)
		lastCalls := up.Calls("spotify")
		until := lastCalls[len(lastCalls)-1].At.Add(24 * time.Hour)
		require.WithinDuration(t, until, held.State.Until, time.Second)
		up.Fail("spotify", nil)
		before := len(lastCalls)
		e.Stop()
		e = enginetest.Start(t, dir, up, syncer.Options{}, nil)
		err := e.Connections.SyncNow(context.Background(), alice, "spotify")
		refused, ok := errors.AsType[*resilience.NotBeforeError](err)
		require.True(t, ok, "sync now while held says until when, got %v", err)
		require.WithinDuration(t, until, refused.State.Until, time.Second)
		time.Sleep(time.Until(until) - time.Second)
		require.Len(t, up.Calls("spotify"), before, "not one call before its time")
		time.Sleep(6 * time.Minute)
		require.Greater(t, len(up.Calls("spotify")), before)
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		require.Equal(t, syncer.Healthy, e.Status(bob, "spotify").Condition)

		// Friday. Alice's permission is gone. One call finds out, after one try to renew it; then there is silence, one
		// alert, and it is still there after a restart, while Bob notices nothing.
		watch := e.Bus.Subscribe(alice)
		up.Revoke("alice")
		time.Sleep(6 * time.Minute)
		require.Equal(t, syncer.NeedsReconnect, e.Status(alice, "spotify").Condition)
		before = len(slices.DeleteFunc(up.Calls("spotify"), func(c enginetest.Call) bool { return c.Account == "bob" }))
		time.Sleep(12 * time.Hour)
		e.Stop()
		e = enginetest.Start(t, dir, up, syncer.Options{}, nil)
		time.Sleep(time.Hour)
		require.Len(t, slices.DeleteFunc(up.Calls("spotify"), func(c enginetest.Call) bool { return c.Account == "bob" }), before,
			"a dead credential is never sent again")
		require.Equal(t, syncer.NeedsReconnect, e.Status(alice, "spotify").Condition)
		require.Equal(t, syncer.Healthy, e.Status(bob, "spotify").Condition)
		alerts := e.Open(alice)
		require.Len(t, alerts, 1)
		require.Equal(t, "Spotify needs to be reconnected", alerts[0].Title)
		require.Equal(t, notify.Action{Label: "Reconnect", URL: "/connect/spotify"}, alerts[0].Action)
		require.Equal(t, 1, announcements(watch), "one announcement on the bus")

		// Saturday. She reconnects. The alert closes, reading starts at once, and nothing of the week is missing.
		up.Play("alice", "Friday night", time.Now().Add(-20*time.Minute))
		require.NoError(t, e.ConnectSpotify(up, alice, "alice"))
		enginetest.Settle()
		require.Empty(t, e.Open(alice))
		require.Equal(t, syncer.Healthy, e.Status(alice, "spotify").Condition)
		require.Equal(t, 65, e.Listens(alice))

		// Half a year later, she is told in time that the permission will end: 30, 7 and 1 days ahead, each once, however
		// often the server is started anew meanwhile. (The loops turn slower here, to tell it faster.)
		var told []string
		expires := e.Status(alice, "spotify").Connection.ExpiresAt
		for time.Until(expires) > 2*time.Hour {
			e.Stop()
			e = enginetest.Start(t, dir, up, syncer.Options{ListensEvery: 48 * time.Hour, PlaylistsEvery: 48 * time.Hour}, nil)
			if left := time.Until(expires); left > 32*24*time.Hour {
				time.Sleep(left - 32*24*time.Hour)
			}
			time.Sleep(10 * time.Hour)
			for _, n := range e.Open(alice) {
				if once := n.Cause + n.CreatedAt.String(); !slices.Contains(told, once) {
					told = append(told, once)
				}
			}
		}
		require.Len(t, told, 3)
		for i, cause := range []string{notify.CauseEnds30, notify.CauseEnds7, notify.CauseEnds1} {
			require.Contains(t, told[i], cause)
		}
		require.Len(t, e.Open(alice), 1, "the nearest takes the place of those before it")
	})
}

// announcements counts the notifications on a subscription whose engine has stopped.
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
