package players

import (
	"strings"
	"time"
)

// Event is what a media server or a script tells of something that is being played. It carries no play of its own: what
// was heard follows from the events of one item.
type Event struct {
	// Item is the same for all events of one play: the person, the device and the song at the server.
	Item     string
	What     What
	Play     Play          // its At is when it began; zero if the program does not say
	Position time.Duration // within the song; negative for unknown
	Heard    time.Duration // how long it has been heard; negative for unknown
}

// What is what happened.
type What int

// What may happen. Scrobbled is the program's own word that it was heard long enough.
const (
	Started What = iota
	Continued
	Halted
	Stopped
	Scrobbled
	Loved // and no longer loved: what is said of a track, whenever it was heard
	Unloved
)

// Underway is what is known of an item from its events so far.
type Underway struct {
	Item    string
	Began   time.Time
	Since   time.Time     // when it was last started or continued; zero while it is halted
	Played  time.Duration // before Since
	Taken   bool          // it has become a play
	TouchAt time.Time     // of the last event
}

// The rule of Last.fm and ListenBrainz: half of the track or four minutes, and no track under half a minute.
// https://www.last.fm/api/scrobbling
const (
	longEnough = 4 * time.Minute
	shortest   = 30 * time.Second
)

// LongEnough reports whether so much of a track of a length, 0 for an unknown one, makes it a play.
func LongEnough(heard, length time.Duration) bool {
	if length > 0 && length < shortest {
		return false
	}
	return heard >= longEnough || length > 0 && 2*heard >= length
}

// forgotten is how long after its last event an item is taken for a new play.
const forgotten = 6 * time.Hour

// After returns what is known after an event, and whether it has become a play by it, which began at Began. now is when
// the event arrived.
func (u Underway) After(e Event, now time.Time) (next Underway, play bool) {
	if u.Item == "" || u.over(e, now) {
		u = Underway{Item: e.Item, Began: begin(e, now)}
	}
	u.Item, u.TouchAt = e.Item, now
	heard := u.Played
	if !u.Since.IsZero() {
		heard += now.Sub(u.Since)
	} else if u.Played == 0 && e.What != Started { // the start was not told
		heard = now.Sub(u.Began)
	}
	if e.Position >= 0 && e.Position < heard {
		heard = e.Position
	}
	if e.Heard >= 0 {
		heard = e.Heard
	}
	u.Played, u.Since = heard, time.Time{}
	if e.What == Started || e.What == Continued {
		u.Since = now
	}
	if u.Taken || e.What != Scrobbled && !LongEnough(heard, e.Play.Duration) {
		return u, false
	}
	u.Taken = true
	return u, true
}

// over reports whether an event is of another play than the events before it.
func (u Underway) over(e Event, now time.Time) bool {
	if now.Sub(u.TouchAt) > forgotten+e.Play.Duration {
		return true
	}
	if !e.Play.At.IsZero() { // the program says which play it is
		return e.Play.At.Sub(u.Began).Abs() > 2*time.Second
	}
	if e.What != Started {
		return false
	}
	if e.Position > 0 { // it goes on where it was
		return false
	}
	return u.Taken || u.Played == 0 && now.Sub(u.Since) > e.Play.Duration
}

// begin returns when a play began, judged by its first event.
func begin(e Event, now time.Time) time.Time {
	switch {
	case !e.Play.At.IsZero():
		return e.Play.At
	case e.Heard > 0:
		return now.Add(-e.Heard)
	case e.Position > 0:
		return now.Add(-e.Position)
	}
	return now
}

// ItemOf returns the item of an event from what names it.
func ItemOf(parts ...string) string { return strings.Join(parts, "\x1f") }
