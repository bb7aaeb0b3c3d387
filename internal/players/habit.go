package players

import "time"

// Habit is how often a player has sent.
type Habit struct {
	Plays   int           // since HabitFrom
	Longest time.Duration // between two of them
	Latest  time.Time     // when the latest one began; zero for none
}

// habitSpan is how far back a habit is looked at: a season, so that a holiday belongs to it.
const habitSpan = 90 * 24 * time.Hour

// HabitFrom returns the time from which plays count as habit.
func HabitFrom(now time.Time) time.Time { return now.Add(-habitSpan) }

// What tells silence from a pause: so many plays make a habit, and a weekend is none.
const (
	habitPlays = 20
	pause      = 3 * 24 * time.Hour
)

// Silent reports whether nothing has come for longer than usual: more than half as long again as the longest pause, and
// than three days. A player that is used now and then has no habit.
func (h Habit) Silent(now time.Time) bool {
	return h.Plays >= habitPlays && now.Sub(h.Latest) > max(h.Longest*3/2, pause)
}
