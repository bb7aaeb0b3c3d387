package library

import (
	"time"

	"reprise/internal/words"
)

// The kinds of skipped items.
const (
	SkippedPlaylist = "playlist"
	SkippedTrack    = "track"
)

// MaxSkipped is how many skipped items of one stream are kept.
const MaxSkipped = 1_000

// Skipped is an item that a provider lists and does not give: a private playlist, a video that is gone, a broken track.
// It is looked at again at RetryAt, and forgotten when it can be read or is no longer listed.
type Skipped struct {
	Connection ConnectionID
	Stream     string
	Kind       string // SkippedPlaylist or SkippedTrack
	Playlist   string // the provider's id of the playlist that a track is in; empty for a playlist
	SourceID   string // the provider's id of the item
	Name       string
	In         string     // the name of the playlist that a track is in
	Snapshot   string     // of the playlist when it was refused
	Category   string     // of the failure
	Reason     words.Text // a sentence for people
	Answer     string     // what the provider said; an excerpt that the person may read, empty for none
	Since      time.Time
	TriedAt    time.Time
	RetryAt    time.Time
	Failures   int // in a row
}
