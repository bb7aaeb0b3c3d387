package players

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// TestHalfATrackIsAPlay: https://www.last.fm/api/scrobbling
func TestHalfATrackIsAPlay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		heard, length time.Duration
		want          bool
	}{
		{29 * time.Second, time.Minute, false}, {30 * time.Second, time.Minute, true},
		{29 * time.Second, 29 * time.Second, false}, {4 * time.Minute, time.Hour, true},
		{4*time.Minute - 1, time.Hour, false}, {4 * time.Minute, 0, true}, {3 * time.Minute, 0, false},
	} {
		require.Equal(t, c.want, LongEnough(c.heard, c.length), "%s of %s", c.heard, c.length)
	}
}

// TestPausesAreNotHeard: what lies between a pause and going on does not count.
func TestPausesAreNotHeard(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC)
	play := Play{Track: library.Track{Title: "Jóga", Artist: "Björk", Duration: 5 * time.Minute}}
	var u Underway
	taken := 0
	for _, step := range []struct {
		what  What
		after time.Duration
		want  bool
	}{
		{Started, 0, false}, {Halted, time.Minute, false}, {Continued, time.Hour, false},
		{Halted, time.Hour + time.Minute, false}, {Continued, 2 * time.Hour, false},
		{Stopped, 2*time.Hour + time.Minute, true}, {Scrobbled, 2*time.Hour + time.Minute, false},
	} {
		var now bool
		u, now = u.After(Event{Item: "x", What: step.what, Play: play, Position: -1, Heard: -1}, began.Add(step.after))
		require.Equal(t, step.want, now, "after %s", step.after)
		if now {
			taken++
			require.Equal(t, began, u.Began)
		}
	}
	require.Equal(t, 1, taken)
}

// TestSilenceIsJudgedByHabit: who plays daily is missed after days, who was on holiday for two weeks is not.
func TestSilenceIsJudgedByHabit(t *testing.T) {
	t.Parallel()
	day, now := 24*time.Hour, time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		plays         int
		longest, ago  time.Duration
		wantsToBeSaid bool
	}{
		{500, day, 2 * day, false}, {500, day, 4 * day, true},
		{500, 14 * day, 20 * day, false}, {500, 14 * day, 22 * day, true},
		{19, day, 60 * day, false},
	} {
		h := Habit{Plays: c.plays, Longest: c.longest, Latest: now.Add(-c.ago)}
		require.Equal(t, c.wantsToBeSaid, h.Silent(now), "%+v", c)
	}
}
