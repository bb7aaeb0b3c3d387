package sync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
)

// slowPlaylists gives an account thirty playlists to read, each of which takes a second. The stream of listens meets
// the fault three seconds after a run has begun.
func slowPlaylists(up *enginetest.Upstreams, fault enginetest.Fault) {
	for i := range 30 {
		up.SetPlaylist("alice", fmt.Sprintf("List %d", i), "Song 1", fmt.Sprintf("Song %d", time.Now().Unix()))
	}
	up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
		switch {
		case strings.HasPrefix(req.URL.Path, "/v1/playlists/"):
			time.Sleep(time.Second)
		case req.URL.Path == recent:
			time.Sleep(3 * time.Second)
			return fault(req)
		}
		return nil, nil
	})
}

// since counts the calls to a service since an instant.
func since(up *enginetest.Upstreams, service string, at time.Time) (n int) {
	for _, c := range up.Calls(service) {
		if c.Time.After(at) {
			n++
		}
	}
	return n
}

func playlistsRead(t *testing.T, e *enginetest.Engine, user int64) int {
	t.Helper()
	n, err := e.Store.CountPlaylists(context.Background(), user)
	require.NoError(t, err)
	return n
}

// TestAHoldReachesARunUnderWay: one stream has to wait; the other, which reads thirty playlists at that moment,
// sends nothing more before the wait is over, and then goes on.
//
// Promise: Every request asks for its permit again, after its turn has come: a run under way keeps a hold, too.
func TestAHoldReachesARunUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		log := logged(e)
		slowPlaylists(up, enginetest.Status(429, "Retry-After", "40"))
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		time.Sleep(3*time.Second + 100*time.Millisecond)
		held := time.Now()
		require.Equal(t, syncer.Held, e.Status(user, "spotify").Condition)
		up.FailPath("spotify", recent, func(*http.Request) (*http.Response, error) { return nil, nil })
		time.Sleep(39 * time.Second)
		require.Zero(t, since(up, "spotify", held), "nothing is sent inside the wait")
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.Held, s.Condition)
		require.Equal(t, resilience.RateLimit, s.State.Category)
		require.Equal(t, 1, s.State.Failures, "what was not sent has not failed")
		require.Len(t, log.lines(t, "run broken off"), 1)
		up.Fail("spotify", nil)
		time.Sleep(5 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		require.Equal(t, 30, playlistsRead(t, e, user))
	})
}

// TestAStopReachesARunUnderWay: a credential that was refused is not sent again by the other stream, and neither is
// its renewal.
//
// Promise: Every request asks for its permit again, after its turn has come: a run under way keeps a hold, too.
func TestAStopReachesARunUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		slowPlaylists(up, enginetest.Status(401))
		up.Fail("spotify accounts", enginetest.Refusal(400, `{"error":"invalid_grant"}`))
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		time.Sleep(3*time.Second + 100*time.Millisecond)
		stopped := time.Now()
		require.Equal(t, syncer.NeedsReconnect, e.Status(user, "spotify").Condition)
		time.Sleep(2 * time.Hour) // the access token ends meanwhile
		require.Zero(t, since(up, "spotify", stopped), "the refused credential is not sent again")
		require.Zero(t, since(up, "spotify accounts", stopped), "and not renewed")
		require.Equal(t, syncer.NeedsReconnect, e.Status(user, "spotify").Condition)
		require.Len(t, e.Open(user), 1)
	})
}

// TestABackoffOfAnotherStreamStopsNoRun: a wait that Reprise guesses is about that stream alone.
//
// Promise: A backoff of another stream ends no run: it is a guess, about that stream.
func TestABackoffOfAnotherStreamStopsNoRun(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		slowPlaylists(up, enginetest.Status(500))
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		time.Sleep(40 * time.Second)
		require.Equal(t, 30, playlistsRead(t, e, user))
		require.Equal(t, resilience.Upstream, e.Status(user, "spotify").State.Category)
	})
}

// TestAHoldReachesADeliveryUnderWay: a delivery of several requests sends no more of them, and learns until when.
//
// Promise: Every request asks for its permit again, after its turn has come: a run under way keeps a hold, too.
func TestAHoldReachesADeliveryUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		c, err := e.Store.Connection(context.Background(), user, "spotify")
		require.NoError(t, err)
		subject := providers.OfConnection(c, library.Deliveries)
		sent := 0
		err = e.Guard.Do(context.Background(), subject, func(ctx context.Context, _ resilience.Call,
			a providers.Adapter) error {
			for range 5 {
				if _, err := a.Prove(ctx); err != nil {
					return err
				}
				if sent++; sent == 2 {
					up.Fail("spotify", enginetest.Status(429, "Retry-After", "40"))
					require.NoError(t, e.Connections.SyncNow(ctx, user, "spotify"))
					time.Sleep(time.Second)
					up.Fail("spotify", nil)
				}
			}
			return nil
		})
		require.Equal(t, 2, sent)
		held, ok := errors.AsType[*backoff.NotBeforeError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, backoff.Held, held.State.Kind)
		require.Equal(t, 39*time.Second, time.Until(held.State.Until))
		_, failed := errors.AsType[*backoff.Failure](err)
		require.False(t, failed, "what was not sent has not failed")
	})
}
