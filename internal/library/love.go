package library

import "time"

// The scores of a [Love], as ListenBrainz has them.
const (
	Loved   = 1
	Unrated = 0 // takes the other two back
	Hated   = -1
)

// Love is what a person thinks of a track, by its names: loved or hated.
type Love struct {
	Title, Artist string
	RecordingMBID string // may be empty
	Score         int
	At            time.Time // when they said so
}
