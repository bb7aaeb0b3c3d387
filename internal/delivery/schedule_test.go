package delivery

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Promise: Wait after a failure: 1 s, doubling to 1 h, ± 10 % (at most 5 min); with what the queue adds, each wait
// stays within a fifth of its length.
func TestWaitsDoubleUntilTheLongest(t *testing.T) {
	t.Parallel()
	s := Options{}.withDefaults().Schedule
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second,
		4: 8 * time.Second, 10: 512 * time.Second,
		12: 2048 * time.Second, 13: time.Hour, 14: time.Hour, 1000: time.Hour} {
		require.Equal(t, want, s.nominal(n), n)
		spread := min(want/10, 5*time.Minute)
		shortest, longest := 2*want, time.Duration(0)
		for range 2000 {
			d := s.delay(n)
			require.GreaterOrEqual(t, d, want-spread, n)
			require.LessOrEqual(t, d, min(want+spread, time.Hour), n)
			shortest, longest = min(shortest, d), max(longest, d)
		}
		require.Less(t, shortest, want-spread*8/10, "failure %d: the whole width is used", n)
		require.Greater(t, longest, want+min(spread*8/10, time.Hour-want-10*time.Second), "failure %d", n)
	}
}

// Promise: Tries: as many as fit into 14 days: 347; an outage of days loses nothing.
func TestADeliveryIsTriedForFourteenDays(t *testing.T) {
	t.Parallel()
	s := Options{}.withDefaults().Schedule
	require.Equal(t, 347, s.Attempts())
	total := time.Duration(0)
	for n := 1; n < s.Attempts(); n++ {
		total += s.nominal(n)
	}
	require.LessOrEqual(t, total, 14*24*time.Hour)
	require.Greater(t, total+s.nominal(s.Attempts()), 14*24*time.Hour, "no other attempt fits")
	for age, want := range map[time.Duration]int{0: 1, time.Second - 1: 1, time.Second: 2, 3 * time.Second: 3,
		7*time.Second - 1: 3} {
		require.Equal(t, want, Schedule{First: time.Second, Max: time.Hour, Age: age}.Attempts(), age)
	}
	require.Equal(t, 6, Schedule{First: time.Second, Max: time.Hour, Age: time.Hour, Tries: 6}.Attempts(), "as set")
	require.Equal(t, 10_000, Schedule{First: time.Millisecond, Max: time.Millisecond,
		Age: 1000 * time.Hour}.Attempts(), "bounded")
}

func TestAnyScheduleKeepsItsBounds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration { return 1 + time.Duration(rnd.Int64N(int64(d))) }
	for range 3000 {
		s := Schedule{First: upTo(time.Hour), Max: upTo(48 * time.Hour), Age: upTo(60 * 24 * time.Hour)}
		n := 1 + rnd.IntN(500)
		require.LessOrEqual(t, s.nominal(n), s.nominal(n+1), "%+v: waits never grow shorter", s)
		d := s.delay(n)
		require.LessOrEqual(t, d, s.Max, "%+v", s)
		require.GreaterOrEqual(t, d, s.nominal(n)*9/10, "%+v", s)
		require.LessOrEqual(t, (d - s.nominal(n)).Abs(), 5*time.Minute, "%+v", s)
		attempts := s.Attempts()
		require.GreaterOrEqual(t, attempts, 1, "%+v", s)
		longer := s
		longer.Age *= 2
		require.GreaterOrEqual(t, longer.Attempts(), attempts, "%+v", s)
	}
}
