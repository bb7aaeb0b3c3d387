package sync_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
)

func gaps(t *testing.T, e *enginetest.Engine, user int64) []library.Gap {
	t.Helper()
	synctest.Wait()
	all, err := e.Store.Gaps(t.Context(), user, "spotify")
	require.NoError(t, err)
	return all
}

// play lets an account play so many tracks, a quarter of an hour apart.
func play(up *enginetest.Upstreams, n int, what string) {
	for i := range n {
		time.Sleep(15 * time.Minute)
		up.Play("alice", fmt.Sprint(what, " ", i), time.Now())
	}
}

func TestAfterAnOutageTheLedgerSaysWhatWasCaughtUp(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		play(up, 4, "before")
		time.Sleep(10 * time.Minute)
		require.Empty(t, gaps(t, e, user), "ordinary pauses between two runs are no outage")

		up.Fail("spotify", enginetest.Status(503))
		play(up, 1, "a moment")
		up.Fail("spotify", nil)
		time.Sleep(40 * time.Minute)
		require.Empty(t, gaps(t, e, user),
			"a quarter of an hour is not worth telling, although the next try is a while after it")

		began := time.Now()
		up.Fail("spotify", enginetest.Status(503))
		play(up, 41, "outage")
		up.Fail("spotify", nil)
		ended := time.Now()
		time.Sleep(40 * time.Minute)
		all := gaps(t, e, user)
		require.Len(t, all, 1)
		require.Equal(t, 41, all[0].Recovered)
		require.Zero(t, all[0].LostTo)
		require.WithinDuration(t, began, all[0].From, 10*time.Minute)
		require.WithinRange(t, all[0].To, ended, ended.Add(40*time.Minute))
		time.Sleep(24 * time.Hour)
		require.Len(t, gaps(t, e, user), 1, "it is told once")
	})
}

func TestTheLedgerSaysWhatIsNoLongerOffered(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", "admin")
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		play(up, 4, "before")
		time.Sleep(10 * time.Minute)
		e.Stop() // for a day, in which twice as much is played as Spotify remembers
		off := time.Now()
		play(up, 100, "outage")
		oldest := time.Now().Add(-49 * 15 * time.Minute)
		e = start()
		time.Sleep(40 * time.Minute)
		all := gaps(t, e, user)
		require.Len(t, all, 1)
		require.Equal(t, 50, all[0].Recovered)
		require.Equal(t, oldest.UTC(), all[0].LostTo)
		require.WithinDuration(t, off, all[0].From, 10*time.Minute)
		require.Equal(t, 54, e.Listens(user))
	})
}
