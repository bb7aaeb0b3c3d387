package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

func TestAChangedRateHoldsFromTheNextRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		paces := NewPaces(map[string]float64{api: 1})
		pause := func() time.Duration {
			d, ok := paces.reserve(api, "")
			require.True(t, ok)
			return d
		}
		require.Zero(t, pause())
		require.Equal(t, time.Second, pause())
		paces.Limit(api, 1)
		require.Equal(t, 2*time.Second, pause(), "the same rate changes nothing")
		paces.Limit(api, 0.5)
		require.Zero(t, pause())
		require.Equal(t, 2*time.Second, pause())
		paces.Limit(api, 0)
		require.Zero(t, pause())
		require.Zero(t, pause())
	})
}

func TestAHostThatIsAddedIsReachedOverTheUplink(t *testing.T) {
	t.Parallel()
	up := NewUplink(UplinkOptions{})
	fail := func(host string) {
		trip, _, ok := up.enter(host)
		require.True(t, ok)
		trip.leave(resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network})
	}
	fail("a.example.org")
	fail("b.example.org")
	_, offline := up.Offline()
	require.False(t, offline, "they may be at home")
	up.Reach("a.example.org", "a")
	up.Reach("b.example.org", "b")
	fail("a.example.org")
	fail("b.example.org")
	_, offline = up.Offline()
	require.True(t, offline)
}
