package listening

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two people share an artist who made a song with another one. Each number is of the one it is said of.
func TestWhatTwoPeopleHaveInCommon(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	yours := columnsOf(t, berlin,
		play{at: "2024-01-10 20:00", spelling: joga},
		play{at: "2024-05-31 23:30", spelling: together}, // June in Tokyo
		play{at: "2024-06-02 12:00", spelling: joga},
		play{at: "2024-06-03 12:00", spelling: 99}, // without a meaning
	)
	theirs := columnsOf(t, berlin,
		play{at: "2024-02-01 20:00", spelling: bachelorette},
		play{at: "2024-02-02 20:00", spelling: bachelorette},
		play{at: "2024-05-01 00:10", spelling: together},
	)
	ask := func(name, at string, zone *time.Location) Common {
		now, err := time.ParseInLocation(time.DateOnly, at, zone)
		require.NoError(t, err)
		span, err := NewSpan(name, now)
		require.NoError(t, err)
		return Compare(yours, theirs, someMusic(), Question{Span: span, Now: now})
	}
	all := ask(All, "2024-07-01", berlin)
	require.Equal(t, Overlap{4, 3}, all.Yours)
	require.Equal(t, Overlap{3, 3}, all.Theirs)
	require.Equal(t, []Pair{{bjork, 3, 3}, {thom, 1, 1}}, all.Artists)
	require.Equal(t, []Pair{{homogenic, 2, 2}}, all.Albums)
	require.Equal(t, []Pair{{together, 1, 1}}, all.Tracks)
	may := time.Date(2024, 5, 1, 0, 0, 0, 0, berlin)
	require.Equal(t, []Found{{Pair{thom, 1, 1}, may}}, all.Found, "the other one was found in different months")
	require.Empty(t, all.Unheard)

	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	require.Empty(t, ask(All, "2024-07-01", tokyo).Found, "there it was May for one and June for the other")

	require.Equal(t, all.Found, ask(Month, "2024-05-20", berlin).Found)
	june := ask(Month, "2024-06-20", berlin)
	require.Equal(t, []Overlap{{2, 0}, {}}, []Overlap{june.Yours, june.Theirs})
	require.Empty(t, june.Artists)
	require.Empty(t, june.Found)
}

// In the first month of somebody's listens everything is new, so nothing is said to be found then.
func TestNothingIsFoundInAFirstMonth(t *testing.T) {
	yours := columnsOf(t, time.UTC, play{at: "2024-01-10 20:00", spelling: joga},
		play{at: "2024-03-10 20:00", spelling: together})
	theirs := columnsOf(t, time.UTC, play{at: "2024-03-01 20:00", spelling: together})
	now := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	require.Empty(t, Compare(yours, theirs, someMusic(), Question{Span: Span{Name: All}, Now: now}).Found)
}

// What only the other one hears, and often, may be for who asks, unless they have ever heard it.
func TestWhatOnlyTheOtherHears(t *testing.T) {
	var theirs []play
	for range much {
		theirs = append(theirs, play{at: "2024-03-01 20:00", spelling: together})
	}
	march := Question{Span: Span{Name: Month, From: time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC),
		To: time.Date(2024, 4, 1, 0, 0, 0, 0, time.UTC)}, Now: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)}
	yours := columnsOf(t, time.UTC, play{at: "2024-01-10 20:00", spelling: joga})
	c := Compare(yours, columnsOf(t, time.UTC, theirs...), someMusic(), march)
	require.Equal(t, []Row{{ID: thom, Listens: much}}, c.Unheard, "the other one was heard in January")
	c = Compare(yours, columnsOf(t, time.UTC, theirs[1:]...), someMusic(), march)
	require.Empty(t, c.Unheard, "too seldom")
}

// A share is never rounded to nothing or to everything.
func TestASharedPercentIsHonest(t *testing.T) {
	for o, want := range map[Overlap]int{{}: 0, {1000, 0}: 0, {1000, 1}: 1, {1000, 415}: 42, {1000, 999}: 99,
		{1000, 1000}: 100} {
		require.Equal(t, want, o.Percent(), o)
	}
}

func TestRecentDaysAreWhole(t *testing.T) {
	now := time.Date(2024, 3, 1, 23, 59, 0, 0, time.UTC)
	require.Equal(t, Span{From: time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC),
		To: time.Date(2024, 3, 2, 0, 0, 0, 0, time.UTC)}, Recent(now, 0, 30))
	require.Equal(t, time.Date(2023, 3, 2, 0, 0, 0, 0, time.UTC), Recent(now, 1, 0).From)
}
