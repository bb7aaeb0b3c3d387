package library

// Playlist is a playlist without its tracks.
type Playlist struct {
	SourceID   string
	Name       string
	Snapshot   string // changes when the tracks do; empty when the provider has no such thing
	TrackCount int
}

// StoredPlaylist is a playlist as it is kept.
type StoredPlaylist struct {
	ID       int64
	Provider string
	Playlist
	Position int  // among those of its provider, from 0
	Active   bool // false once it is gone at its provider
	ShrunkTo int  // a much smaller number of tracks that was seen once and is not believed yet; -1 for none
}
