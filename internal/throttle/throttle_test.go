package throttle

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBurstThenAtIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := New(Rate{Burst: 3, Every: time.Minute})
		for range 3 {
			require.Zero(t, table.Take("ann"))
		}
		require.Equal(t, time.Minute, table.Take("ann"))
		require.Zero(t, table.Take("ben"), "each has its own")
		time.Sleep(20 * time.Second)
		require.Equal(t, 40*time.Second, table.Wait("ann"))
		require.Equal(t, 40*time.Second, table.Take("ann"), "asking and being refused cost nothing")
		time.Sleep(40 * time.Second)
		require.Zero(t, table.Wait("ann"))
		require.Zero(t, table.Take("ann"))
		require.Equal(t, time.Minute, table.Take("ann"))

		table.GiveBack("ann")
		require.Zero(t, table.Take("ann"))
		time.Sleep(24 * time.Hour)
		table.GiveBack("ann") // of a try that is forgotten already
		for range 3 {
			require.Zero(t, table.Take("ann"))
		}
		require.Equal(t, time.Minute, table.Take("ann"), "a long rest saves up no more than the burst")
	})
}

func TestBurstHoldsForTriesAtOnce(t *testing.T) {
	t.Parallel()
	table := New(Rate{Burst: 10, Every: time.Hour})
	var taken atomic.Int32
	var tries sync.WaitGroup
	for range 40 {
		tries.Go(func() {
			if table.Take("ann") == 0 {
				taken.Add(1)
			}
		})
	}
	tries.Wait()
	require.EqualValues(t, 10, taken.Load())
}

// A flood of names cannot push out the tries at one of them.
func TestFloodOfKeysFreesNobody(t *testing.T) {
	t.Parallel()
	table := New(Rate{Burst: 1, Every: time.Hour})
	require.Zero(t, table.Take("ann"))
	for i := range 50_000 {
		table.Take(fmt.Sprint(i))
	}
	require.NotZero(t, table.Take("ann"))
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]string{
		"203.0.113.7":              {"203.0.113.7/32", "203.0.113.0/24"},
		"::ffff:203.0.113.7":       {"203.0.113.7/32", "203.0.113.0/24"},
		"2001:db8:1:2:3:4:5:6":     {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"2001:db8:1:2:ffff::1":     {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"fe80::1%eth0":             {"fe80::/64", "fe80::/48"},
		"":                         {"", ""},
		"a proxy that sends words": {"a proxy that sends words", "a proxy that sends words"},
	} {
		near, far := Networks(address)
		require.Equal(t, want, [2]string{near, far}, address)
	}
}
