package backoff_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// Promise: Backoff 30 s, doubling to 30 min: soon enough for a blip, rare enough for an outage.
func TestTheFirstWaits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			b := backofftest.Manager{Manager: backoff.New(backoff.Options{Rand: backofftest.Seeded(seed)}), T: t}
			for i, want := range []float64{30, 60, 120, 240, 480, 960} {
				wait := b.Fail(backofftest.Listens, backofftest.Unavailable, 1).Seconds()
				require.InDelta(t, want, wait, want/4, "wait %d", i+1)
			}
		})
	}
}

// TestJitterAtTheCap: a wait never exceeds the cap, and connections at the cap do not fall into step.
//
// Promise: Jitter ±25 %, also at the cap: connections don't come back in step.
func TestJitterAtTheCap(t *testing.T) {
	backofftest.BubbleWith(t, backoff.Options{Rand: backofftest.Seeded(7)}, func(t *testing.T, b backofftest.Manager) {
		b.Fail(backofftest.Listens, backofftest.Unavailable, 6)
		shortest, longest := time.Hour, time.Duration(0)
		for range 500 {
			wait := b.Fail(backofftest.Listens, backofftest.Unavailable, 1)
			shortest, longest = min(shortest, wait), max(longest, wait)
		}
		require.GreaterOrEqual(t, shortest, 22*time.Minute+30*time.Second)
		require.LessOrEqual(t, longest, 30*time.Minute)
		require.Less(t, shortest, 23*time.Minute)
		require.Greater(t, longest, 29*time.Minute+30*time.Second)
	})
}

// Promise: Jitter ±25 %, also at the cap: connections don't come back in step.
func TestTheEdgesOfJitter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opt   backoff.Options
		first time.Duration // the first wait
		cap   time.Duration // the wait after many failures
	}{
		"least": {backoff.Options{Rand: func() float64 { return 0 }}, 22500 * time.Millisecond, 22*time.Minute +
			30*time.Second},
		"middle": {backoff.Options{Rand: func() float64 { return 0.5 }}, 30 * time.Second, 26*time.Minute +
			15*time.Second},
		"most": {backoff.Options{Rand: func() float64 { return 1 }}, 37500 * time.Millisecond,
			30 * time.Minute},
		"none": {backoff.Options{Jitter: -1}, 30 * time.Second, 30 * time.Minute},
		"other settings": {backoff.Options{Base: time.Second, Max: time.Minute, Jitter: -1}, time.Second,
			time.Minute},
		"a cap under base": {backoff.Options{Base: time.Hour, Jitter: -1}, 30 * time.Minute, 30 * time.Minute},
		"a cap that is odd": {backoff.Options{Max: 45 * time.Second, Jitter: 0.5, Rand: func() float64 { return 1 }},
			45 * time.Second, 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.BubbleWith(t, c.opt, func(t *testing.T, b backofftest.Manager) {
				require.Equal(t, c.first, b.Fail(backofftest.Listens, backofftest.Unavailable, 1))
				require.Equal(t, c.cap, b.Fail(backofftest.Listens, backofftest.Unavailable, 20))
			})
		})
	}
}

// TestADayOfOutage: a connection that is tried as soon as its backoff ends makes about sixty calls in a day of 503, and
// not one more than the shortest waits allow.
func TestADayOfOutage(t *testing.T) {
	t.Parallel()
	day := func(random func() float64) (calls int) {
		synctest.Test(t, func(t *testing.T) {
			b, end := backofftest.Manager{Manager: backoff.New(backoff.Options{Rand: random}),
				T: t}, time.Now().Add(24*time.Hour)
			for time.Now().Before(end) {
				require.Contains(t, []backoff.ChangeKind{backoff.Began, backoff.Unchanged},
					b.Call(backofftest.Listens, backofftest.Unavailable).Kind,
					"nothing to tell a person")
				calls++
				time.Sleep(time.Until(b.State(backofftest.Listens).Until))
			}
			require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind,
				"the next attempt recovers")
			require.Equal(t, backoff.State{}, b.State(backofftest.Listens))
			require.Equal(t, backoff.Began, b.Call(backofftest.Listens, backofftest.Unavailable).Kind)
			require.Equal(t, 1, b.State(backofftest.Listens).Failures, "and the count starts over")
		})
		return calls
	}
	require.Equal(t, 60, day(func() float64 { return 0.5 }))
	for seed := range uint64(20) {
		require.InDelta(t, 60, day(backofftest.Seeded(seed)), 3)
	}
	require.LessOrEqual(t, day(func() float64 { return 0 }), 7+63)
}

func TestAFailureHoldsWhatItSpeaksOf(t *testing.T) {
	t.Parallel()
	elsewhere := backoff.Key{User: 1, Connection: "navidrome", Provider: "navidrome", App: "client", Stream: "listens"}
	otherApp := backoff.Key{User: 3, Connection: "spotify", Provider: "spotify", App: "other", Stream: "listens"}
	for _, c := range []struct {
		v       resilience.Verdict
		scope   resilience.Scope
		blocked []backoff.Key
		free    []backoff.Key
	}{
		{backofftest.Unavailable, resilience.ScopeStream, []backoff.Key{backofftest.Listens},
			[]backoff.Key{backofftest.Playlists, backofftest.Bobs, elsewhere, otherApp}},
		{backofftest.Unreachable, resilience.ScopeConnection, []backoff.Key{backofftest.Listens,
			backofftest.Playlists}, []backoff.Key{backofftest.Bobs, elsewhere, otherApp}},
		{resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeApp},
			resilience.ScopeApp, []backoff.Key{backofftest.Listens, backofftest.Playlists, backofftest.Bobs},
			[]backoff.Key{elsewhere, otherApp}},
		{resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeKey},
			resilience.ScopeApp, []backoff.Key{backofftest.Listens, backofftest.Playlists, backofftest.Bobs},
			[]backoff.Key{elsewhere, otherApp}},
		{resilience.Verdict{Class: resilience.Retriable, Category: resilience.CircuitOpen,
			Scope: resilience.ScopeEndpoint}, resilience.ScopeStream, []backoff.Key{backofftest.Listens},
			[]backoff.Key{backofftest.Playlists, backofftest.Bobs, elsewhere, otherApp}},
		{backofftest.Forbidden, resilience.ScopeStream, []backoff.Key{backofftest.Listens},
			[]backoff.Key{backofftest.Playlists, backofftest.Bobs, elsewhere, otherApp}},
		{backofftest.Refused, resilience.ScopeConnection, []backoff.Key{backofftest.Listens, backofftest.Playlists},
			[]backoff.Key{backofftest.Bobs, elsewhere, otherApp}},
		{backofftest.Misconfigured, resilience.ScopeApp, []backoff.Key{backofftest.Listens, backofftest.Playlists,
			backofftest.Bobs}, []backoff.Key{elsewhere, otherApp}},
	} {
		t.Run(c.v.Class.String()+" "+c.v.Category.String()+" "+c.v.Scope.String(), func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				ch := b.Call(backofftest.Listens, c.v)
				require.Equal(t, c.scope, ch.Fault.Scope)
				for _, k := range c.blocked {
					require.Equal(t, ch.Fault, b.Refused(k), k)
					require.Equal(t, ch.Fault, b.State(k), k)
				}
				for _, k := range c.free {
					require.Equal(t, backoff.Unchanged, b.Call(k, backofftest.Well).Kind, k)
				}
			})
		})
	}
}

func TestListensGoOnWhilePlaylistsBackOff(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		var waits []time.Duration
		for range 24 { // two hours of a five-minute tick
			require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, backofftest.Well).Kind)
			if p, _, ok := b.Acquire(backofftest.Playlists, 1); ok {
				p.Done(backofftest.Unavailable)
				waits = append(waits, time.Until(b.State(backofftest.Playlists).Until))
			}
			time.Sleep(5 * time.Minute)
		}
		require.IsNonDecreasing(t, waits)
		require.Equal(t, 26*time.Minute+15*time.Second, waits[len(waits)-1])
		require.Equal(t, len(waits), b.State(backofftest.Playlists).Failures,
			"the successes of listens did not reset it")
		require.Equal(t, 26*time.Minute+15*time.Second, b.Fail(backofftest.Playlists, backofftest.Unavailable, 2))
	})
}

func TestOneDeadUserOfTen(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		require.Equal(t, backoff.BecameFatal, b.Call(backofftest.SpotifyOf(1, "listens"), backofftest.Refused).Kind)
		for range 12 * 12 {
			time.Sleep(5 * time.Minute)
			require.Equal(t, backoff.Stopped, b.Refused(backofftest.SpotifyOf(1, "listens")).Kind)
			for user := range int64(9) {
				require.Equal(t, backoff.Unchanged, b.Call(backofftest.SpotifyOf(user+2, "listens"),
					backofftest.Well).Kind)
			}
		}
	})
}

// TestTheInstantABackoffEnds: of eight callers one gets through, and the count of failures rises by one.
//
// Promise: One caller finds out when a wait ends: no crowd at the end of an outage.
func TestTheInstantABackoffEnds(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Fail(backofftest.Listens, backofftest.Unreachable, 3)
		until := b.State(backofftest.Listens).Until
		time.Sleep(time.Until(until) - time.Nanosecond)
		require.Equal(t, until, b.Refused(backofftest.Listens).Until, "not a moment before")
		time.Sleep(time.Nanosecond)

		var permits, waiting atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				p, s, ok := b.Acquire(backofftest.SpotifyOf(1, []string{"listens", "playlists"}[i%2]), 1)
				if !ok {
					waiting.Add(1)
					require.Zero(t, s.Until, "nobody knows yet until when")
					require.Equal(t, [2]any{backoff.Waiting, 3}, [2]any{s.Kind, s.Failures})
					return
				}
				permits.Add(1)
				time.Sleep(10 * time.Second) // the call
				p.Done(backofftest.Unreachable)
			})
		}
		wg.Wait()
		require.Equal(t, [2]int64{1, 7}, [2]int64{permits.Load(), waiting.Load()})
		require.Equal(t, 4, b.State(backofftest.Listens).Failures)
		require.Equal(t, 4*time.Minute, time.Until(b.State(backofftest.Playlists).Until))
	})
}

// TestRecoveredNamesTheOldestTrouble when a success ends several.
func TestRecoveredNamesTheOldestTrouble(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		since := time.Now()
		b.Fail(backofftest.Listens, backofftest.Unavailable, 1)
		b.Fail(backofftest.Listens, backofftest.Unreachable, 1)
		time.Sleep(time.Hour)
		ch := b.Call(backofftest.Listens, backofftest.Well)
		require.Equal(t, [3]any{backoff.Recovered, resilience.ScopeStream, since},
			[3]any{ch.Kind, ch.Fault.Scope, ch.Fault.Since})

		since = time.Now()
		b.Fail(backofftest.Listens, backofftest.Unreachable, 1)
		b.Fail(backofftest.Listens, backofftest.Unavailable, 1)
		time.Sleep(time.Hour)
		ch = b.Call(backofftest.Listens, backofftest.Well)
		require.Equal(t, [3]any{backoff.Recovered, resilience.ScopeConnection, since},
			[3]any{ch.Kind, ch.Fault.Scope, ch.Fault.Since})
	})
}

// TestTogetherTheyFailOnce: failures of calls that were under way together are one failure.
func TestTogetherTheyFailOnce(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		var permits [8]backoff.Permit
		for i := range permits {
			permits[i] = b.Permit(backofftest.Listens)
		}
		var kinds []backoff.ChangeKind
		for i := range permits {
			kinds = append(kinds, permits[i].Done(backofftest.Unreachable).Kind)
		}
		require.Equal(t, []backoff.ChangeKind{backoff.Began, backoff.Unchanged, backoff.Unchanged, backoff.Unchanged,
			backoff.Unchanged, backoff.Unchanged, backoff.Unchanged,
			backoff.Unchanged}, kinds)
		s := b.State(backofftest.Listens)
		require.Equal(t, [2]any{1, 30 * time.Second}, [2]any{s.Failures, time.Until(s.Until)})
	})
}

func TestFirstDelay(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		home := resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
			Scope: resilience.ScopeConnection, FirstDelay: 5 * time.Second}
		for _, want := range []time.Duration{5, 10, 20, 40} {
			require.Equal(t, want*time.Second, b.Fail(backofftest.Listens, home, 1))
		}
		home.FirstDelay = time.Hour
		require.Equal(t, 30*time.Second, b.Fail(backofftest.Bobs, home, 1), "it only ever shortens")
	})
}
