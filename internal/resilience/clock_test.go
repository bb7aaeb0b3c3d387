package resilience

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"
)

// moved runs a story for each thing that can happen to the clock: move does it to what a story has in memory.
func moved(t *testing.T, story func(t *testing.T, move func(v any))) {
	t.Parallel()
	for name, d := range clocktest.Moves {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, func(v any) { clocktest.Set(v, d) })
		})
	}
}

// TestTheClockMovesNoWait: waits are measured in time that passes while the machine is awake, so that none ends too
// early, or lasts longer than it would, because the clock was set. What people read of them is by the clock as it is.
func TestTheClockMovesNoWait(t *testing.T) {
	wait := 30 * time.Minute
	for name, v := range map[string]Verdict{
		"backoff": {Class: Retriable, Category: Network, Scope: ScopeConnection},
		"hold":    {Class: Retriable, Category: RateLimit, Scope: ScopeApp},
	} {
		t.Run(name, func(t *testing.T) {
			moved(t, func(t *testing.T, move func(any)) {
				b, k := NewBackoff(Options{Base: wait, Max: wait, Jitter: -1}), spotifyOf(1, "listens")
				v := v              // stories run side by side
				if name == "hold" { // Retry-After: 1800
					v.NotBefore, _ = parseRetryAfter("1800", time.Now())
				}
				p, _, _ := b.Acquire(k, 1)
				p.Done(v)
				move(b)
				clocktest.Pass(b, wait-time.Minute)
				_, st, ok := b.Acquire(k, 1)
				require.False(t, ok)
				requireIn(t, time.Minute, st.Until)
				clocktest.Pass(b, time.Minute)
				_, _, ok = b.Acquire(k, 1)
				require.True(t, ok)
			})
		})
	}
}

// TestAHoldUntilATimeFollowsTheClock: a service that names a time of day means that time.
func TestAHoldUntilATimeFollowsTheClock(t *testing.T) {
	t.Parallel()
	for name, d := range clocktest.Moves {
		b, k := NewBackoff(Options{Jitter: -1}), spotifyOf(1, "listens")
		p, _, _ := b.Acquire(k, 1)
		at := time.Now().Add(30 * time.Minute)
		p.Done(Verdict{Class: Retriable, Category: Quota, Scope: ScopeApp, NotBefore: at.Round(0)})
		clocktest.Set(b, d)
		_, st, ok := b.Acquire(k, 1)
		require.Equal(t, d > 0, ok, name)
		if !ok {
			requireIn(t, 30*time.Minute-d, st.Until)
		}
	}
}

func TestTheClockMovesNoBreaker(t *testing.T) {
	moved(t, func(t *testing.T, move func(any)) {
		bs := NewBreakers(BreakerOptions{})
		for range 5 {
			pass, _, ok := bs.enter("spotify", "host", "GET /x", false)
			require.True(t, ok)
			pass.done(Verdict{Class: Retriable, Category: Upstream, Scope: ScopeEndpoint})
		}
		move(bs)
		_, until, ok := bs.enter("spotify", "host", "GET /x", false)
		require.False(t, ok)
		requireIn(t, time.Minute, until)
		requireIn(t, time.Minute, bs.Status()[0].Until)
		clocktest.Pass(bs, time.Minute)
		_, _, ok = bs.enter("spotify", "host", "GET /x", false)
		require.True(t, ok)
	})
}

func TestTheClockMovesNoKey(t *testing.T) {
	moved(t, func(t *testing.T, move func(any)) {
		p := poolOf("aaaa")
		require.Equal(t, "aaaa", leased(p, until(tooFast, time.Now().Add(time.Hour))))
		move(p)
		clocktest.Pass(p, 59*time.Minute)
		require.Empty(t, leased(p, Verdict{}))
		st, short := p.Short()
		require.True(t, short)
		requireIn(t, time.Minute, st.Until)
		clocktest.Pass(p, time.Minute)
		require.Equal(t, "aaaa", leased(p, Verdict{}))
	})
}

// requireIn requires that an instant is that far ahead, by the clock that people see.
func requireIn(t *testing.T, want time.Duration, at time.Time) {
	t.Helper()
	require.InDelta(t, want, at.Round(0).Sub(time.Now().Round(0)), float64(30*time.Second))
}
