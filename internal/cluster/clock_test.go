package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"
)

// TestALeaseIsNeverLongerForTheClock: a clock that is set back lengthens no lease, and one that was set forward, or has
// gone on while the machine was suspended, ends it until the next confirmation.
func TestALeaseIsNeverLongerForTheClock(t *testing.T) {
	t.Parallel()
	for name, d := range clocktest.Moves {
		m := &Member{lease: 1, sent: time.Now()}
		require.True(t, m.May())
		clocktest.Set(m, d)
		require.Equal(t, d < 0, m.May(), name)
		clocktest.Pass(m, LeaseFor)
		require.False(t, m.May(), name)
		m.sent = time.Now() // confirmed
		require.True(t, m.May(), name)
	}
}
