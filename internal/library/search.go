package library

import "time"

// Search is a question about the music of a user.
type Search struct {
	User int64
	Text string // as somebody types it
	Kind string // KindArtist, KindAlbum, KindTrack, KindPlaylist or KindListen; empty for all
	Most int    // results of each kind
}

// These are what can be searched for besides entities.
const (
	KindPlaylist = "playlist"
	KindListen   = "listen"
)

// Found is what a Search finds, each list with the best first.
type Found struct {
	Artists, Albums, Tracks []Heard
	Playlists               []StoredPlaylist // without CopyOf and CopyName
	Listens                 []StoredListen   // the latest of each track that was found, the newest first
}

// Heard is an entity that a user has heard.
type Heard struct {
	ID int64
	Entity
	Plays     int
	LastHeard time.Time // in whole seconds
}

// Name returns what the entity is called.
func (h Heard) Name() string {
	if h.Kind == KindArtist {
		return h.Artist
	}
	return h.Title
}
