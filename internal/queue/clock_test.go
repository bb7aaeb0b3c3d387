package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"
)

// Promise: A clock that is set, or a machine that sleeps, moves no wait: nothing is sent too early, or much too late.
func TestAClockThatWasSetBackIsNoticed(t *testing.T) {
	t.Parallel()
	for name, d := range clocktest.Moves {
		from := time.Now()
		clocktest.Set(&from, d)
		clocktest.Pass(&from, time.Minute)
		require.InDelta(t, max(-d, 0), setBack(from, time.Now()), float64(time.Millisecond), name)
	}
	require.Zero(t, setBack(time.Time{}, time.Now()))
}
