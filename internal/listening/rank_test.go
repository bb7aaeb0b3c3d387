package listening

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRanksAmongTheOthersOfAKind(t *testing.T) {
	all := columnsOf(t, time.UTC, play{"2025-05-01 10:00", joga, nil}, play{"2025-05-01 11:00", joga, nil},
		play{"2026-05-01 10:00", together, nil}, play{"2026-05-02 10:00", bachelorette, nil},
		play{"2026-05-03 10:00", together, nil}, play{"2026-05-03 11:00", together, nil})
	year, err := NewSpan(Year, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	rank := func(f Filter) Rank { return RankOf(all, someMusic(), f, year) }
	require.Equal(t, Rank{1, 1}, rank(Filter{Artist: bjork}))
	require.Equal(t, Rank{2, 2}, rank(Filter{Artist: thom}))
	require.Equal(t, Rank{2, 0}, rank(Filter{Track: joga}), "not heard this year")
	require.Equal(t, Rank{3, 2}, rank(Filter{Track: bachelorette}))
	require.Equal(t, Rank{1, 1}, rank(Filter{Album: homogenic}), "listens without an album are of none")
}
