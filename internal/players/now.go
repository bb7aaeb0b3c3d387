package players

import (
	"slices"
	"sync"
	"time"

	"reprise/internal/library"
)

// Playing is what is heard now.
type Playing struct {
	Player library.ConnectionID
	Name   string // of the player
	With   string // the device or program; empty for unknown
	Track  library.Track
	Since  time.Time // when it was first said
	Until  time.Time // when it is forgotten
}

// unknownLength is how long a track of unknown length is taken to play.
const unknownLength = 10 * time.Minute

// Now is what is playing now, in memory: it is worth nothing after a restart. It is safe for concurrent use.
type Now struct {
	mu  sync.Mutex
	all map[int64][]Playing // by person; one for each player
}

// NewNow returns a Now in which nothing plays.
func NewNow() *Now { return &Now{all: map[int64][]Playing{}} }

// Of returns what a person hears, the latest first.
func (n *Now) Of(user int64) []Playing {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.currentLocked(user))
}

// currentLocked drops what has ended, and returns the rest.
func (n *Now) currentLocked(user int64) []Playing {
	now := time.Now()
	left := slices.DeleteFunc(n.all[user], func(p Playing) bool { return !p.Until.After(now) })
	if n.all[user] = left; len(left) == 0 {
		delete(n.all, user)
	}
	return left
}

// set notes a track with so much of it left, 0 for unknown, and reports whether that is news. The same track again does
// not last longer.
func (n *Now) set(p Player, t library.Track, with string, left time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if left <= 0 || left > 24*time.Hour {
		left = unknownLength
	}
	now := time.Now()
	all := n.currentLocked(p.User)
	one := Playing{Player: p.ID, Name: p.Name, With: with, Track: t, Since: now, Until: now.Add(left)}
	i := slices.IndexFunc(all, func(other Playing) bool { return other.Player == p.ID })
	if i >= 0 {
		if same(all[i].Track, t) {
			return false
		}
		all = slices.Delete(all, i, i+1)
	}
	n.all[p.User] = slices.Insert(all, 0, one)
	return true
}

// clear forgets what a player plays, if it is this track or the zero track is given. It reports whether it was.
func (n *Now) clear(p Player, t library.Track) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.currentLocked(p.User)
	i := slices.IndexFunc(all, func(other Playing) bool {
		return other.Player == p.ID && (t.Title == "" || same(other.Track, t))
	})
	if i < 0 {
		return false
	}
	n.all[p.User] = slices.Delete(all, i, i+1)
	return true
}

func same(one, other library.Track) bool {
	return one.Title == other.Title && one.Artist == other.Artist
}
