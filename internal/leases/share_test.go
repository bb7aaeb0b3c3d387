package leases

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What no connection has any more counts for nobody, and comes back with the next connection.
func TestAnAppWithoutConnectionsIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("spotify ", "navidrome home")
		s := m.joins(t, "leader")
		defer s.leave()
		keep := func(d time.Duration) {
			for range d / time.Minute {
				require.NoError(t, s.Keep(t.Context(), []string{"spotify "}))
				time.Sleep(time.Minute)
			}
		}
		keep(unusedFor - time.Minute)
		run, done, err := s.Use(t.Context(), "navidrome home") // somebody connects it, and then doesn't
		require.NoError(t, err)
		done()
		require.Error(t, run.Err())
		keep(unusedFor)
		require.Len(t, m.holds(s), 2)
		keep(2 * time.Minute)
		require.Equal(t, []string{"spotify "}, m.holds(s))
		require.NotContains(t, m.apps(), "navidrome home")

		_, done, err = s.Claim(t.Context(), "navidrome home")
		require.NoError(t, err)
		done()
		require.Len(t, m.holds(s), 2)
	})
}
