package keys

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"

	"reprise/internal/resilience"
)

// Promise: A clock that is set, or a machine that sleeps, moves no wait: nothing is sent too early, or much too late.
func TestTheClockMovesNoKey(t *testing.T) {
	clocktest.Each(t, func(t *testing.T, move func(any)) {
		p := poolOf("aaaa")
		require.Equal(t, "aaaa", leased(p, until(tooFast, time.Now().Add(time.Hour))))
		move(p)
		clocktest.Pass(p, 59*time.Minute)
		require.Empty(t, leased(p, resilience.Verdict{}))
		st, short := p.Short()
		require.True(t, short)
		clocktest.RequireIn(t, time.Minute, st.Until)
		clocktest.Pass(p, time.Minute)
		require.Equal(t, "aaaa", leased(p, resilience.Verdict{}))
	})
}
