package resilience

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The verdicts of these tests, as Classify gives them.
var (
	well          = Verdict{}
	ourEnd        = Verdict{Class: Canceled}
	unavailable   = Verdict{Class: Retriable, Category: Upstream, Scope: ScopeStream}
	unreachable   = Verdict{Class: Retriable, Category: Network, Scope: ScopeConnection}
	misshapen     = Verdict{Class: Retriable, Category: Contract, Scope: ScopeStream, FatalAfter: 3}
	refused       = Verdict{Class: Fatal, Category: Auth, Scope: ScopeConnection}
	forbidden     = Verdict{Class: Fatal, Category: Permission, Scope: ScopeStream}
	misconfigured = Verdict{Class: Fatal, Category: Config, Scope: ScopeApp}
)

// limited is a rate limit with a dictated wait, outage a 503 with one.
func limited(wait time.Duration) Verdict {
	return Verdict{Class: Retriable, Category: RateLimit, Scope: ScopeApp, NotBefore: time.Now().Add(wait)}
}

func outage(wait time.Duration) Verdict {
	v := unavailable
	v.NotBefore = time.Now().Add(wait)
	return v
}

// manager is a Backoff whose calls must be permitted or refused as a test expects.
type manager struct {
	*Backoff
	t *testing.T
}

// bubble runs a test in fake time on a Backoff whose waits have no jitter (but at the cap, where they are 26.25 min).
func bubble(t *testing.T, test func(t *testing.T, b manager)) {
	t.Helper()
	bubbleWith(t, Options{Rand: func() float64 { return 0.5 }}, test)
}

func bubbleWith(t *testing.T, opt Options, test func(t *testing.T, b manager)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, manager{NewBackoff(opt), t}) })
}

func (b manager) permit(k Key) Permit {
	b.t.Helper()
	p, s, ok := b.Acquire(k, 1)
	require.True(b.t, ok, "refused: %+v", s)
	return p
}

func (b manager) refused(k Key) State {
	b.t.Helper()
	_, s, ok := b.Acquire(k, 1)
	require.False(b.t, ok, "a permit although %+v", b.State(k))
	require.NotEqual(b.t, Ready, s.Kind)
	return s
}

// told is what a change announces, without the state of its stream after it.
func told(ch Change) Change {
	return Change{Kind: ch.Kind, State: ch.State, NewHold: ch.NewHold}
}

// call is one call with its outcome.
func (b manager) call(k Key, v Verdict) Change {
	b.t.Helper()
	p := b.permit(k)
	return p.Done(v)
}

// fail lets a call fail as soon as it is permitted, so many times in a row, and returns the last wait.
func (b manager) fail(k Key, v Verdict, times int) time.Duration {
	b.t.Helper()
	for range times {
		time.Sleep(time.Until(b.State(k).Until))
		b.call(k, v)
	}
	return time.Until(b.State(k).Until)
}

// seeded is randomness that is the same in every run.
func seeded(seed uint64) func() float64 { return rand.New(rand.NewPCG(seed, 0)).Float64 }

func spotifyOf(user int64, stream string) Key {
	return Key{User: user, Connection: "spotify", Provider: "spotify", App: "client", Stream: stream}
}

var (
	listens   = spotifyOf(1, "listens")
	playlists = spotifyOf(1, "playlists")
	bobs      = spotifyOf(2, "listens")
)

func TestTheFirstWaits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			b := manager{NewBackoff(Options{Rand: seeded(seed)}), t}
			for i, want := range []float64{30, 60, 120, 240, 480, 960} {
				wait := b.fail(listens, unavailable, 1).Seconds()
				require.InDelta(t, want, wait, want/4, "wait %d", i+1)
			}
		})
	}
}

// TestJitterAtTheCap: a wait never exceeds the cap, and connections at the cap do not fall into step.
func TestJitterAtTheCap(t *testing.T) {
	bubbleWith(t, Options{Rand: seeded(7)}, func(t *testing.T, b manager) {
		b.fail(listens, unavailable, 6)
		shortest, longest := time.Hour, time.Duration(0)
		for range 500 {
			wait := b.fail(listens, unavailable, 1)
			shortest, longest = min(shortest, wait), max(longest, wait)
		}
		require.GreaterOrEqual(t, shortest, 22*time.Minute+30*time.Second)
		require.LessOrEqual(t, longest, 30*time.Minute)
		require.Less(t, shortest, 23*time.Minute)
		require.Greater(t, longest, 29*time.Minute+30*time.Second)
	})
}

func TestTheEdgesOfJitter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opt   Options
		first time.Duration // the first wait
		cap   time.Duration // the wait after many failures
	}{
		"least": {Options{Rand: func() float64 { return 0 }}, 22500 * time.Millisecond, 22*time.Minute +
			30*time.Second},
		"middle": {Options{Rand: func() float64 { return 0.5 }}, 30 * time.Second, 26*time.Minute +
			15*time.Second},
		"most":             {Options{Rand: func() float64 { return 1 }}, 37500 * time.Millisecond, 30 * time.Minute},
		"none":             {Options{Jitter: -1}, 30 * time.Second, 30 * time.Minute},
		"other settings":   {Options{Base: time.Second, Max: time.Minute, Jitter: -1}, time.Second, time.Minute},
		"a cap under base": {Options{Base: time.Hour, Jitter: -1}, 30 * time.Minute, 30 * time.Minute},
		"a cap that is odd": {Options{Max: 45 * time.Second, Jitter: 0.5, Rand: func() float64 { return 1 }},
			45 * time.Second, 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubbleWith(t, c.opt, func(t *testing.T, b manager) {
				require.Equal(t, c.first, b.fail(listens, unavailable, 1))
				require.Equal(t, c.cap, b.fail(listens, unavailable, 20))
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
			b, end := manager{NewBackoff(Options{Rand: random}), t}, time.Now().Add(24*time.Hour)
			for time.Now().Before(end) {
				require.Contains(t, []ChangeKind{Began, Unchanged}, b.call(listens, unavailable).Kind,
					"nothing to tell a person")
				calls++
				time.Sleep(time.Until(b.State(listens).Until))
			}
			require.Equal(t, Recovered, b.call(listens, well).Kind, "the next attempt recovers")
			require.Equal(t, State{}, b.State(listens))
			require.Equal(t, Began, b.call(listens, unavailable).Kind)
			require.Equal(t, 1, b.State(listens).Failures, "and the count starts over")
		})
		return calls
	}
	require.Equal(t, 60, day(func() float64 { return 0.5 }))
	for seed := range uint64(20) {
		require.InDelta(t, 60, day(seeded(seed)), 3)
	}
	require.LessOrEqual(t, day(func() float64 { return 0 }), 7+63)
}

func TestAFailureHoldsWhatItSpeaksOf(t *testing.T) {
	t.Parallel()
	elsewhere := Key{User: 1, Connection: "navidrome", Provider: "navidrome", App: "client", Stream: "listens"}
	otherApp := Key{User: 3, Connection: "spotify", Provider: "spotify", App: "other", Stream: "listens"}
	for _, c := range []struct {
		v       Verdict
		scope   Scope
		blocked []Key
		free    []Key
	}{
		{unavailable, ScopeStream, []Key{listens}, []Key{playlists, bobs, elsewhere, otherApp}},
		{unreachable, ScopeConnection, []Key{listens, playlists}, []Key{bobs, elsewhere, otherApp}},
		{Verdict{Class: Retriable, Category: Quota, Scope: ScopeApp}, ScopeApp, []Key{listens, playlists, bobs},
			[]Key{elsewhere, otherApp}},
		{Verdict{Class: Retriable, Category: Quota, Scope: ScopeKey}, ScopeApp, []Key{listens, playlists, bobs},
			[]Key{elsewhere, otherApp}},
		{Verdict{Class: Retriable, Category: CircuitOpen, Scope: ScopeEndpoint}, ScopeStream, []Key{listens},
			[]Key{playlists, bobs, elsewhere, otherApp}},
		{forbidden, ScopeStream, []Key{listens}, []Key{playlists, bobs, elsewhere, otherApp}},
		{refused, ScopeConnection, []Key{listens, playlists}, []Key{bobs, elsewhere, otherApp}},
		{misconfigured, ScopeApp, []Key{listens, playlists, bobs}, []Key{elsewhere, otherApp}},
	} {
		t.Run(c.v.Class.String()+" "+c.v.Category.String()+" "+c.v.Scope.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				ch := b.call(listens, c.v)
				require.Equal(t, c.scope, ch.State.Scope)
				for _, k := range c.blocked {
					require.Equal(t, ch.State, b.refused(k), k)
					require.Equal(t, ch.State, b.State(k), k)
				}
				for _, k := range c.free {
					require.Equal(t, Unchanged, b.call(k, well).Kind, k)
				}
			})
		})
	}
}

func TestListensGoOnWhilePlaylistsBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		var waits []time.Duration
		for range 24 { // two hours of a five-minute tick
			require.Equal(t, Unchanged, b.call(listens, well).Kind)
			if p, _, ok := b.Acquire(playlists, 1); ok {
				p.Done(unavailable)
				waits = append(waits, time.Until(b.State(playlists).Until))
			}
			time.Sleep(5 * time.Minute)
		}
		require.IsNonDecreasing(t, waits)
		require.Equal(t, 26*time.Minute+15*time.Second, waits[len(waits)-1])
		require.Equal(t, len(waits), b.State(playlists).Failures, "the successes of listens did not reset it")
		require.Equal(t, 26*time.Minute+15*time.Second, b.fail(playlists, unavailable, 2))
	})
}

func TestOneDeadUserOfTen(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		require.Equal(t, BecameFatal, b.call(spotifyOf(1, "listens"), refused).Kind)
		for range 12 * 12 {
			time.Sleep(5 * time.Minute)
			require.Equal(t, Stopped, b.refused(spotifyOf(1, "listens")).Kind)
			for user := range int64(9) {
				require.Equal(t, Unchanged, b.call(spotifyOf(user+2, "listens"), well).Kind)
			}
		}
	})
}

// TestTheInstantABackoffEnds: of eight callers one gets through, and the count of failures rises by one.
func TestTheInstantABackoffEnds(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.fail(listens, unreachable, 3)
		until := b.State(listens).Until
		time.Sleep(time.Until(until) - time.Nanosecond)
		require.Equal(t, until, b.refused(listens).Until, "not a moment before")
		time.Sleep(time.Nanosecond)

		var permits, waiting atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				p, s, ok := b.Acquire(spotifyOf(1, []string{"listens", "playlists"}[i%2]), 1)
				if !ok {
					waiting.Add(1)
					require.Zero(t, s.Until, "nobody knows yet until when")
					require.Equal(t, [2]any{Waiting, 3}, [2]any{s.Kind, s.Failures})
					return
				}
				permits.Add(1)
				time.Sleep(10 * time.Second) // the call
				p.Done(unreachable)
			})
		}
		wg.Wait()
		require.Equal(t, [2]int64{1, 7}, [2]int64{permits.Load(), waiting.Load()})
		require.Equal(t, 4, b.State(listens).Failures)
		require.Equal(t, 4*time.Minute, time.Until(b.State(playlists).Until))
	})
}

// TestRecoveredNamesTheOldestTrouble when a success ends several.
func TestRecoveredNamesTheOldestTrouble(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		since := time.Now()
		b.fail(listens, unavailable, 1)
		b.fail(listens, unreachable, 1)
		time.Sleep(time.Hour)
		ch := b.call(listens, well)
		require.Equal(t, [3]any{Recovered, ScopeStream, since}, [3]any{ch.Kind, ch.State.Scope, ch.State.Since})

		since = time.Now()
		b.fail(listens, unreachable, 1)
		b.fail(listens, unavailable, 1)
		time.Sleep(time.Hour)
		ch = b.call(listens, well)
		require.Equal(t, [3]any{Recovered, ScopeConnection, since}, [3]any{ch.Kind, ch.State.Scope, ch.State.Since})
	})
}

// TestTogetherTheyFailOnce: failures of calls that were under way together are one failure.
func TestTogetherTheyFailOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		var permits [8]Permit
		for i := range permits {
			permits[i] = b.permit(listens)
		}
		var kinds []ChangeKind
		for i := range permits {
			kinds = append(kinds, permits[i].Done(unreachable).Kind)
		}
		require.Equal(t, []ChangeKind{Began, Unchanged, Unchanged, Unchanged, Unchanged, Unchanged, Unchanged,
			Unchanged}, kinds)
		s := b.State(listens)
		require.Equal(t, [2]any{1, 30 * time.Second}, [2]any{s.Failures, time.Until(s.Until)})
	})
}

func TestFirstDelay(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		home := Verdict{Class: Retriable, Category: Network, Scope: ScopeConnection, FirstDelay: 5 * time.Second}
		for _, want := range []time.Duration{5, 10, 20, 40} {
			require.Equal(t, want*time.Second, b.fail(listens, home, 1))
		}
		home.FirstDelay = time.Hour
		require.Equal(t, 30*time.Second, b.fail(bobs, home, 1), "it only ever shortens")
	})
}
