package sync_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
	syncer "reprise/internal/sync"
)

// first returns a fault that the first n requests to a path meet.
func first(n int, fault enginetest.Fault) enginetest.Fault {
	var mu sync.Mutex
	return func(req *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if n--; n >= 0 {
			return fault(req)
		}
		return nil, nil
	}
}

func TestOne503WhileConnectingIsNoError(t *testing.T) {
	for name, fault := range map[string]enginetest.Fault{"503": enginetest.Status(503), "502": enginetest.Status(502),
		"cut off": enginetest.Unreachable} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
				up.FailPath("spotify", "/v1/me", first(2, fault))
				began := time.Now()
				require.NoError(t, e.ConnectSpotify(up, user, "alice"))
				require.Len(t, attempts(up.Calls("spotify"), "/v1/me", began), 3)
				up.FailPath("listenbrainz", "/1/validate-token", first(1, fault))
				require.NoError(t, e.ConnectListenBrainz(user, "alice"))
			})
		})
	}
}

// TestAMomentsTroubleIsNoFailure: a read that fails once is read a second later, and nobody sees a wait.
func TestAMomentsTroubleIsNoFailure(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		log := logged(e)
		up.FailPath("spotify", recent, first(1, enginetest.Status(503)))
		up.PlayOn("spotify", "alice", "Just now", time.Now())
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		time.Sleep(5 * time.Second)
		require.Equal(t, 1, e.Listens(user))
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		for _, line := range log.lines(t, "run ended") {
			require.NotEqual(t, "upstream", line["category"])
		}
	})
}

// outageCalls lives through a day of a fault at ticks of five minutes, and returns the calls of each stream in the
// first minute of the fault and after it.
func outageCalls(t *testing.T, fault enginetest.Fault, once bool) (calls map[string][2]int) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		up.Tune = func(tr *transport.Transport, b *backoff.Options) {
			half := func() float64 { return 0.5 }
			tr.Once, tr.Rand, b.Rand = once, half, half
			tr.Breakers = transport.NewBreakers(transport.BreakerOptions{})
		}
		every := syncer.Options{ListensEvery: 5 * time.Minute, PlaylistsEvery: 5 * time.Minute}
		e := enginetest.Start(t, dir, up, every, nil)
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", fault)
		began := time.Now()
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		time.Sleep(24*time.Hour + 5*time.Minute)
		paths := map[string]string{"listens": recent, "playlists": "/v1/me/playlists"}
		start := 48 * time.Hour
		for _, path := range paths {
			start = min(start, attempts(up.Calls("spotify"), path, began)[0])
		}
		calls = map[string][2]int{}
		for stream, path := range paths {
			n := [2]int{}
			for _, at := range attempts(up.Calls("spotify"), path, began) {
				switch {
				case at < start+time.Minute:
					n[0]++
				case at < start+24*time.Hour:
					n[1]++
				}
			}
			calls[stream] = n
		}
	})
	return calls
}

// sum adds up the calls of all streams.
func sum(calls map[string][2]int) (minute, rest int) {
	for _, n := range calls {
		minute, rest = minute+n[0], rest+n[1]
	}
	return minute, rest
}

// TestADayOfAnOutage compares the calls of a day of failures with and without repeating inside a call: beyond the first
// minute there are not more.
//
// Promise: No more calls than without, beyond the first minute: an outage is no time to ask more.
func TestADayOfAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		fault   enginetest.Fault
		repeats bool
	}{
		"503":                       {enginetest.Status(503), true},
		"503 with Retry-After: 120": {enginetest.Status(503, "Retry-After", "120"), false},
		"429":                       {enginetest.Status(429), false},
		"429 with Retry-After: 900": {enginetest.Status(429, "Retry-After", "900"), false},
		"no connection":             {enginetest.Unreachable, true},
		"silence":                   {enginetest.Silent, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := outageCalls(t, c.fault, true), outageCalls(t, c.fault, false)
			for _, stream := range []string{"listens", "playlists"} {
				t.Logf("%s, %s: in the first minute %d calls before, %d now; in the rest of the day %d before, %d now",
					name, stream, before[stream][0], after[stream][0], before[stream][1], after[stream][1])
			}
			// Where the whole connection waits, its streams take turns in finding out.
			minute, rest := sum(after)
			minuteBefore, restBefore := sum(before)
			const turns = 1 // by which the day's last call may fall on either side of its end
			require.LessOrEqual(t, rest, restBefore+turns, "beyond the first minute there are not more calls")
			if !c.repeats {
				require.InDelta(t, minuteBefore, minute, turns)
			} else {
				require.Greater(t, minute, minuteBefore)
				require.LessOrEqual(t, minute, minuteBefore+2*5)
			}
		})
	}
}

// restart lives through a restart of a service that takes 20 seconds, with some people, and returns how long it took
// until all of them were healthy again, counted from the start.
func restart(t *testing.T, people int, once bool) (recovered time.Duration, failures int) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		up.Tune = func(tr *transport.Transport, b *backoff.Options) {
			half := func() float64 { return 0.5 }
			tr.Once, tr.Rand, b.Rand = once, half, half
			tr.Breakers = transport.NewBreakers(transport.BreakerOptions{})
		}
		e := enginetest.Start(t, dir, up, syncer.Options{}, nil)
		var users []int64
		for i := range people {
			user := e.AddUser(fmt.Sprintf("User %d", i), accounts.Member)
			require.NoError(t, e.ConnectSpotify(up, user, fmt.Sprintf("account-%d", i)))
			users = append(users, user)
		}
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(503))
		began := time.Now()
		for _, user := range users {
			require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		}
		time.Sleep(20 * time.Second)
		up.Fail("spotify", nil)
		healthy := func() bool {
			for _, user := range users {
				s := e.Status(user, "spotify")
				if s.Condition != syncer.Healthy || s.LastSuccessAt.Before(began) {
					return false
				}
			}
			return true
		}
		for !healthy() {
			time.Sleep(time.Second)
		}
		recovered, failures = time.Since(began), since(up, "spotify", began)
	})
	return recovered, failures
}

// TestARestartOf20Seconds: repeating inside a call does not make anybody wait longer for the end of a short outage,
// which an open breaker would.
//
// Promise: Repetitions that nobody waits for use half of a breaker: a restart of 20 s must not cost a minute.
func TestARestartOf20Seconds(t *testing.T) {
	for _, people := range []int{1, 2, 3, 5, 8} {
		t.Run(fmt.Sprint(people), func(t *testing.T) {
			t.Parallel()
			before, called := restart(t, people, true)
			after, calls := restart(t, people, false)
			t.Logf("%d people: all healthy after %v before (%d calls), %v now (%d calls)",
				people, before, called, after, calls)
			require.LessOrEqual(t, after, before+20*time.Second, "an open breaker would take half a minute more")
		})
	}
}
