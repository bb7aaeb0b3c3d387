package transport

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

func paceBubble(t *testing.T, rates map[string]float64, test func(t *testing.T, tr *Transport, far *farSide)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far := &farSide{}
		test(t, &Transport{Base: far, Paces: NewPaces(rates)}, far)
	})
}

// TestTenAtOnceKeepToOneASecond: an upstream sees the rate that it documents, no matter who asks.
func TestTenAtOnceKeepToOneASecond(t *testing.T) {
	paceBubble(t, map[string]float64{api: 1}, func(t *testing.T, tr *Transport, far *farSide) {
		began := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { require.NoError(t, through(t, tr, t.Context(), api)) })
		}
		all.Wait()
		for i, at := range far.seen {
			require.Equal(t, time.Duration(i)*time.Second, at.Sub(began))
		}
		for range 10 {
			require.NoError(t, through(t, tr, t.Context(), "other.example.org"))
		}
		require.Equal(t, 9*time.Second, time.Since(began), "others wait for nothing")
	})
}

func TestFiveASecondMayComeAtOnce(t *testing.T) {
	paceBubble(t, map[string]float64{api: 5}, func(t *testing.T, tr *Transport, _ *farSide) {
		began := time.Now()
		for range 15 {
			require.NoError(t, through(t, tr, t.Context(), api))
		}
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// TestAWaitThatIsTooLongIsTheSchedules: it holds nobody up, takes no turn, and says when to come back.
//
// Promise: A request waits up to 15 s for its turn: the schedule handles anything longer.
func TestAWaitThatIsTooLongIsTheSchedules(t *testing.T) {
	paceBubble(t, map[string]float64{api: 0.05}, func(t *testing.T, tr *Transport, far *farSide) {
		require.NoError(t, through(t, tr, t.Context(), api))
		began := time.Now()
		for range 3 {
			v := resilience.VerdictOf(through(t, tr, t.Context(), api))
			require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.RateLimit,
				Scope:     resilience.ScopeEndpoint,
				NotBefore: began.Add(20 * time.Second)}, v)
		}
		require.Equal(t, began, time.Now())
		time.Sleep(20 * time.Second)
		require.NoError(t, through(t, tr, t.Context(), api))
		require.Len(t, far.seen, 2)
	})
}

func TestOurOwnEndWhileWaitingForATurn(t *testing.T) {
	paceBubble(t, map[string]float64{api: 0.1}, func(t *testing.T, tr *Transport, far *farSide) {
		require.NoError(t, through(t, tr, t.Context(), api))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		v := resilience.VerdictOf(through(t, tr, ctx, api))
		require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.RateLimit,
			Scope: resilience.ScopeEndpoint, NotBefore: v.NotBefore},
			v, "the run's time is over: no fault of the upstream's")
		time.Sleep(10 * time.Second)
		stopped, stop := context.WithCancelCause(t.Context())
		stop(errors.New("the queue stops"))
		require.ErrorIs(t, through(t, tr, stopped, api), context.Canceled)
		require.Len(t, far.seen, 1)
	})
}

// TestWhatAnswersSayIsLeftIsBelieved: when nothing is, no request goes out before the reset, in either way to tell it.
//
// Promise: Nothing is sent before a named reset: "0 left" was said.
func TestWhatAnswersSayIsLeftIsBelieved(t *testing.T) {
	for name, reset := range map[string]func(now time.Time) (string, string){
		"seconds": func(time.Time) (string, string) { return "X-RateLimit-Reset-In", "8" },
		"Unix time": func(now time.Time) (string, string) {
			return "X-RateLimit-Reset",
				strconv.FormatInt(now.Unix()+8, 10)
		},
	} {
		t.Run(name, func(t *testing.T) {
			paceBubble(t, nil, func(t *testing.T, tr *Transport, far *farSide) {
				header, value := reset(time.Now())
				far.header = http.Header{"X-Ratelimit-Remaining": {"1"}, http.CanonicalHeaderKey(header): {value}}
				require.NoError(t, through(t, tr, t.Context(), api))
				far.header.Set("X-RateLimit-Remaining", "0")
				require.NoError(t, through(t, tr, t.Context(), api))
				far.header = nil
				began := time.Now()
				require.NoError(t, through(t, tr, t.Context(), api))
				require.Equal(t, 8*time.Second, time.Since(began))
				require.NoError(t, through(t, tr, t.Context(), api))
				require.Equal(t, 8*time.Second, time.Since(began))
				require.Empty(t, tr.Paces.all, "nothing is kept of an upstream without trouble")

				far.header = http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-In": {"600"}}
				require.NoError(t, through(t, tr, t.Context(), api))
				require.Equal(t, resilience.RateLimit, resilience.VerdictOf(through(t, tr, t.Context(), api)).Category)
				for _, nonsense := range []string{"", "soon", "-5", "1e300"} {
					far.header.Set("X-RateLimit-Reset-In", nonsense)
					require.NoError(t, through(t, tr, t.Context(), "nonsense.example.org"))
				}
			})
		})
	}
}

// TestThePaceIsLearnedFromBeingToldToSlowDown: for upstreams that document none.
//
// Promise: 429s teach how far apart calls should be, 250 ms to 10 s: where nothing is documented.
func TestThePaceIsLearnedFromBeingToldToSlowDown(t *testing.T) {
	paceBubble(t, nil, func(t *testing.T, tr *Transport, far *farSide) {
		apart := func() time.Duration {
			require.NoError(t, through(t, tr, t.Context(), api))
			require.NoError(t, through(t, tr, t.Context(), api))
			return far.seen[len(far.seen)-1].Sub(far.seen[len(far.seen)-2])
		}
		require.Zero(t, apart())
		far.set(api, http.StatusTooManyRequests)
		for range 3 {
			require.Error(t, through(t, tr, t.Context(), api))
		}
		far.set(api, 0)
		slow := apart()
		require.InDelta(t, time.Second, slow, float64(150*time.Millisecond))
		require.Less(t, apart(), slow, "it recovers")
		for range 40 {
			apart()
		}
		require.Zero(t, apart())
		require.Empty(t, tr.Paces.all)
	})
}

func TestKeysHavePacesOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		paces := NewPaces(map[string]float64{api: 1})
		for _, key := range []string{"aaaa", "bbbb"} {
			pause, ok := paces.reserve(api, key)
			require.True(t, ok)
			require.Zero(t, pause)
		}
		pause, ok := paces.reserve(api, "aaaa")
		require.True(t, ok)
		require.Equal(t, time.Second, pause)
	})
}
