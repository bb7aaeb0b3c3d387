package library

import "time"

// The kinds of entities that are enriched.
const (
	KindArtist = "artist"
	KindAlbum  = "album" // a release group: the album in all its editions
	KindTrack  = "track" // a recording
)

// Entity is an artist, an album or a track, as listens name it.
type Entity struct {
	Kind     string
	Artist   string        // the artist itself, or the artist of the album or track
	Title    string        // of the album or track; empty for an artist
	Album    string        // an album that has the track; may be empty
	Duration time.Duration // of a track; 0 when unknown
	ISRC     string        // of a track; may be empty
	MBID     string        // MusicBrainz's id of the artist, release group or recording; empty while unknown
}

// Pictured returns a track for looking up the picture of the entity.
func (e Entity) Pictured() Track {
	if e.Kind == KindAlbum {
		return Track{Artist: e.Artist, Album: e.Title}
	}
	return Track{Artist: e.Artist, Album: e.Album}
}

// Facts are what a source knows about an entity. Any of them may be missing.
type Facts struct {
	MBID     string
	Name     string   // as the source writes it
	Tags     []string // in lower case, the most frequent first, at most MaxTags
	Released string   // first release, as exactly as it is known: "1999", "1999-06" or "1999-06-12"
	Pictures []Picture
}

// MaxTags is the number of tags of an entity that are kept.
const MaxTags = 10

// Picture is an image that a source offers. In a list the best comes first.
type Picture struct {
	Kind string // "cover" of an album, "portrait" or "background" of an artist
	URL  string
}
