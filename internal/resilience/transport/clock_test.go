package transport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"

	"reprise/internal/resilience"
)

// Promise: A clock that is set, or a machine that sleeps, moves no wait: nothing is sent too early, or much too late.
func TestTheClockMovesNoBreaker(t *testing.T) {
	clocktest.Each(t, func(t *testing.T, move func(any)) {
		bs := NewBreakers(BreakerOptions{})
		for range 5 {
			pass, _, ok := bs.enter("spotify", "host", "GET /x", false)
			require.True(t, ok)
			pass.done(resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
				Scope: resilience.ScopeEndpoint})
		}
		move(bs)
		_, until, ok := bs.enter("spotify", "host", "GET /x", false)
		require.False(t, ok)
		clocktest.RequireIn(t, time.Minute, until)
		clocktest.RequireIn(t, time.Minute, bs.Status()[0].Until)
		clocktest.Pass(bs, time.Minute)
		_, _, ok = bs.enter("spotify", "host", "GET /x", false)
		require.True(t, ok)
	})
}
