package library

import "time"

// Playlist is a playlist of a provider, without its tracks.
type Playlist struct {
	SourceID   string
	Name       string
	Snapshot   string // changes when the tracks change; empty when the provider has no such mark
	TrackCount int
}

// PlaylistStart is how long a playlist is, and how it begins.
type PlaylistStart struct {
	Length time.Duration // of all tracks whose length is known
	Tracks []Track       // the first ones, by their names
}

// StoredPlaylist is a playlist as it is kept.
type StoredPlaylist struct {
	ID         int64
	Connection ConnectionID
	Playlist
	Position int  // among the playlists of its provider, from 0
	Active   bool // false when the provider no longer has it
	// ShrunkTo is a much smaller number of tracks that was seen once and is not believed yet; -1 for none.
	ShrunkTo int
	// CopyOf is the id of the playlist that this one was written from, by us; 0 if it is no such copy.
	CopyOf   int64
	CopyName string // of that playlist
}

// PlaylistVersion is what a playlist was like earlier.
type PlaylistVersion struct {
	Number       int    // from 1 on, greater for later ones; some may be missing
	Name         string // of the playlist then
	TrackCount   int
	Since, Until time.Time // when it was read for the first time, and when it was found to be another
	// Came, Went and Moved are how many tracks the change did that ended this version.
	Came, Went, Moved int
	Pinned            bool // it is kept for good
	Bytes             int  // what keeping it takes
}

// CopyChange is a copy of a playlist, written by us, that was found deleted or changed at its provider.
type CopyChange struct {
	User       int64
	Connection ConnectionID
	Label      string // of the connection
	Playlist   int64  // ours
	Name       string // of ours
	Gone       bool   // it was deleted; otherwise changed
}
