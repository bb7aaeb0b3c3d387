package library

import "time"

// The kinds of entities that are enriched.
const (
	KindArtist = "artist"
	KindAlbum  = "album" // a release group: the album, whatever its editions
	KindTrack  = "track" // a recording
)

// Entity is an artist, an album or a track, as listens name it.
type Entity struct {
	Kind     string
	Artist   string        // the artist, or whose album or track it is
	Title    string        // of the album or track; empty for an artist
	Album    string        // that a track was played from; may be empty
	Duration time.Duration // of a track; 0 when unknown
	ISRC     string        // of a track; may be empty
	// MBID is the id that MusicBrainz has given the artist, release group or recording; empty while it is not known.
	MBID string
}

// Facts are what a source knows about an entity. All of it may be missing.
type Facts struct {
	MBID     string
	Name     string   // as the source writes it
	Tags     []string // the most given first, at most MaxTags, in lower case
	Released string   // first release as far as it is known: "1999", "1999-06" or "1999-06-12"
	Pictures []Picture
}

// MaxTags is how many tags of an entity are kept.
const MaxTags = 10

// Picture is an image that a source offers, the best first.
type Picture struct {
	Kind string // "cover" of an album, "portrait" or "background" of an artist
	URL  string
}
