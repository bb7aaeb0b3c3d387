package welcome

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func TestTheRestIsEstimatedFromTheRate(t *testing.T) {
	t.Parallel()
	s, now := newSpeed(), time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	left := func(seconds, done, total int) time.Duration {
		return s.left(1, "spotify/listens", done, total, now.Add(time.Duration(seconds)*time.Second))
	}
	require.Zero(t, left(0, 1000, 61000), "nothing is known yet")
	require.Zero(t, left(1, 1100, 61000), "too short")
	require.Equal(t, 290*time.Second, left(10, 3000, 61000), "200 a second")
	require.Equal(t, 295*time.Second, left(20, 5000, 64000).Round(time.Second))
	require.Zero(t, left(30, 9000, 0), "no total")
	require.Zero(t, left(40, 100, 61000), "it has begun again")
	require.Equal(t, time.Second, left(50, 60999, 61000))
	s.forget(1, "spotify/listens")
	require.Zero(t, left(60, 60999, 61000))

	for d, want := range map[time.Duration]string{0: "", time.Second: "Less than a minute left",
		70 * time.Second: "About a minute left", 5 * time.Minute: "About 5 minutes left",
		3 * time.Hour: "About 3 hours left"} {
		require.Equal(t, want, leftWords(words.With(t.Context(), words.English), d))
	}
}
