package listening

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What two servers tell of two people leads to the same as their listens, but for the month, which is that of each one.
func TestSummariesCompareLikeListens(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	yours := Summarize(columnsOf(t, berlin,
		play{at: "2024-01-10 20:00", spelling: joga},
		play{at: "2024-05-31 23:30", spelling: together},
		play{at: "2024-06-02 12:00", spelling: joga},
		play{at: "2024-06-03 12:00", spelling: 99}, // without a meaning
	), someMusic(), berlin)
	month := func(m time.Month) time.Time { return time.Date(2024, m, 1, 0, 0, 0, 0, time.UTC) }
	require.Equal(t, Summary{Began: month(1), Listens: 4, Artists: []Heard{{bjork, 3, month(1)}, {thom, 1, month(5)}}},
		yours)
	theirs := Summarize(columnsOf(t, berlin,
		play{at: "2024-02-01 20:00", spelling: bachelorette},
		play{at: "2024-05-01 00:10", spelling: together},
	), someMusic(), berlin)
	theirs.Artists = append(theirs.Artists, Heard{7_000_000, much, month(3)}, Heard{7_000_001, much - 1, month(3)})
	c := CompareSummaries(yours, theirs, 10)
	require.Equal(t, []Pair{{bjork, 3, 2}, {thom, 1, 1}}, c.Artists)
	require.Equal(t, []Found{{Pair{thom, 1, 1}, month(5)}}, c.Found)
	require.Equal(t, []Row{{ID: 7_000_000, Listens: much}}, c.Unheard)
	require.Equal(t, Overlap{4, 4}, c.Yours)
	require.Equal(t, Overlap{3, 3}, c.Theirs)
	require.Empty(t, CompareSummaries(Summary{}, Summary{}, 10))
	require.Equal(t, Summary{}, Summarize(nil, someMusic(), berlin))
}
