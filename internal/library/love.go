package library

import (
	"time"

	"reprise/internal/words"
)

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
	At            time.Time // when they said so; zero where a service doesn't say
	SourceID      string    // the track's id at the service that lists it; empty for what was said here
}

// Clean bounds everything that a service says about it, and reports whether that says something: it has both names, or
// an id; see Name.
func (v *Love) Clean() bool {
	v.Title, v.Artist, v.SourceID = Name(v.Title), Name(v.Artist), ID(v.SourceID)
	v.RecordingMBID = code(v.RecordingMBID)
	v.Score = min(max(v.Score, Hated), Loved)
	return v.Score != Unrated && (v.Title != "" && v.Artist != "" || v.SourceID != "")
}

// LoveThere is what is known of a track at one service, by its names there. Its time is when that became known.
type LoveThere struct {
	Love
	Key     int64      // the same as the track's key here
	Told    int        // how often the service was told of it since it was listed
	Seen    bool       // the service has listed it, so that it's news if it doesn't any more
	Gone    bool       // it doesn't list it any more, with so many others that its person is asked what that means
	Refused words.Text // why the service doesn't take what its person thinks; Score is what it has still
	Keep    bool       // its SourceID is kept once nothing more is thought of it; not stored
}

// LoveFilter selects from what a person thinks of tracks.
type LoveFilter struct {
	User  int64
	Score int          // Unrated: loved and hated
	Text  string       // in title or artist
	At    ConnectionID // listed there
	NotAt ConnectionID // not listed there
	// Since and Until select what was said at Since or later, and before Until; zero for no limit.
	Since, Until time.Time
}

// LovedAt is how much of what a person loves a service has.
type LovedAt struct {
	Connection ConnectionID
	Loved      int
	Gone       int // see LoveThere
	Refused    int
	Kept       bool       // it is kept the same as here
	Sending    int        // still to be sent
	ReadAt     time.Time  // zero if it never was
	Note       words.Text // why it can't be read; empty if it can
}
