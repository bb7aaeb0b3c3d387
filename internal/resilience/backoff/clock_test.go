package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// TestTheClockMovesNoWait: waits are measured in time that passes while the machine is awake, so that none ends too
// early, or lasts longer than it would, because the clock was set. What people read of them is by the clock as it is.
//
// Promise: A clock that is set, or a machine that sleeps, moves no wait: nothing is sent too early, or much too late.
func TestTheClockMovesNoWait(t *testing.T) {
	wait := 30 * time.Minute
	for name, v := range map[string]resilience.Verdict{
		"backoff": {Class: resilience.Retriable, Category: resilience.Network, Scope: resilience.ScopeConnection},
		"hold":    {Class: resilience.Retriable, Category: resilience.RateLimit, Scope: resilience.ScopeApp},
	} {
		t.Run(name, func(t *testing.T) {
			clocktest.Each(t, func(t *testing.T, move func(any)) {
				b, k := backoff.New(backoff.Options{Base: wait, Max: wait, Jitter: -1}), backofftest.SpotifyOf(1,
					"listens")
				v := v              // stories run side by side
				if name == "hold" { // Retry-After: 1800
					v.NotBefore, _ = resilience.After(1800, time.Now())
				}
				p, _, _ := b.Acquire(k, 1)
				p.Done(v)
				move(b)
				clocktest.Pass(b, wait-time.Minute)
				_, st, ok := b.Acquire(k, 1)
				require.False(t, ok)
				clocktest.RequireIn(t, time.Minute, st.Until)
				clocktest.Pass(b, time.Minute)
				_, _, ok = b.Acquire(k, 1)
				require.True(t, ok)
			})
		})
	}
}

// TestAHoldUntilATimeFollowsTheClock: a service that names a time of day means that time.
//
// Promise: A clock that is set, or a machine that sleeps, moves no wait: nothing is sent too early, or much too late.
func TestAHoldUntilATimeFollowsTheClock(t *testing.T) {
	t.Parallel()
	for name, d := range clocktest.Moves {
		b, k := backoff.New(backoff.Options{Jitter: -1}), backofftest.SpotifyOf(1, "listens")
		p, _, _ := b.Acquire(k, 1)
		at := time.Now().Add(30 * time.Minute)
		p.Done(resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeApp,
			NotBefore: at.Round(0)})
		clocktest.Set(b, d)
		_, st, ok := b.Acquire(k, 1)
		require.Equal(t, d > 0, ok, name)
		if !ok {
			clocktest.RequireIn(t, 30*time.Minute-d, st.Until)
		}
	}
}
