// Package throttletest checks what counts tries, for tests: whatever keeps them, they are counted alike.
package throttletest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/throttle"
)

// CountsAlike checks limits as two servers have them; one server alone has the same twice.
func CountsAlike(t *testing.T, one, other throttle.Limits) {
	t.Helper()
	ctx := t.Context()
	take := func(from throttle.Limits, tolls ...throttle.Toll) time.Duration {
		t.Helper()
		wait, err := from.Take(ctx, tolls...)
		require.NoError(t, err)
		return wait
	}
	hourly := throttle.Limit{Name: "hourly", Rate: throttle.Rate{Burst: 3, Every: time.Hour}}
	ann, ben := hourly.Of("ann"), hourly.Of("ben")
	for range 2 {
		require.Zero(t, take(one, ann))
	}
	require.Zero(t, take(other, ann), "all servers count together")
	for _, from := range []throttle.Limits{one, other} {
		wait := take(from, ann)
		require.Greater(t, wait, 30*time.Minute)
		require.LessOrEqual(t, wait, time.Hour)
		told, err := from.Wait(ctx, ben, ann)
		require.NoError(t, err)
		require.InDelta(t, wait, told, float64(time.Minute), "the longer wait")
	}
	require.Zero(t, take(other, ben), "each has its own")
	require.NoError(t, other.GiveBack(ctx, ann))
	require.Zero(t, take(one, ann))
	require.NotZero(t, take(one, ann), "being refused costs nothing, and gives nothing back")

	once := throttle.Limit{Name: "once", Rate: throttle.Rate{Burst: 1, Every: time.Hour}}
	require.NotZero(t, take(one, once.Of("ann"), ann), "too many by one of two")
	require.Zero(t, take(other, once.Of("ann")), "that has cost nothing of the other")
	require.NotZero(t, take(one, once.Of("ann"), ben), "too many by the first")
	require.Zero(t, take(other, ben), "that has cost nothing of the second")

	many := throttle.Limit{Name: "many", Rate: throttle.Rate{Burst: 10, Every: time.Hour}}
	var taken atomic.Int32
	var tries sync.WaitGroup
	for n := range 40 {
		tries.Go(func() {
			own := throttle.Limit{Name: "own", Rate: throttle.Rate{Burst: 40, Every: time.Hour}}
			wait, err := []throttle.Limits{one, other}[n%2].Take(ctx, many.Of("ann"), own.Of("ann"))
			assert.NoError(t, err)
			if wait == 0 {
				taken.Add(1)
			}
		})
	}
	tries.Wait()
	require.EqualValues(t, 10, taken.Load(), "the burst holds for tries at once")

	soon := throttle.Limit{Name: "soon", Rate: throttle.Rate{Burst: 1, Every: 50 * time.Millisecond}}
	require.Zero(t, take(one, soon.Of("ann")))
	for wait := take(other, soon.Of("ann")); wait > 0; wait = take(other, soon.Of("ann")) {
		time.Sleep(wait)
	}
}
