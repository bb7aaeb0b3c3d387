package library

import "time"

// Playlist is a playlist of a provider, without its tracks.
type Playlist struct {
	SourceID   string
	Name       string
	Snapshot   string // changes when the tracks change; empty when the provider has no such mark
	TrackCount int
	Blank      int // places that are left of tracks which the provider doesn't offer any more
	// Locked says that the account can't change it: it is another account's, or the provider makes it.
	Locked bool
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
	Lost              Loss // with that change
	Pinned            bool // it is kept for good
	Bytes             int  // what keeping it takes
}

// Loss is what a playlist has lost at its provider, perhaps without its person's doing; see versions.Changes.
type Loss struct {
	Songs int // 0 for none
	// Taken says that the provider doesn't offer them any more. Otherwise nothing tells who has removed them.
	Taken bool
}

// fewestTold is the smallest loss, in songs, that a person is notified of. Long playlists lose one or two now and then,
// which their history shows.
const fewestTold = 5

// Told reports whether the person is notified of the loss.
func (l Loss) Told() bool { return l.Songs >= fewestTold }

// PlaylistLoss is a loss of a stored playlist, with what has become of it since.
type PlaylistLoss struct {
	Loss
	Playlist int64
	Name     string // of the playlist, now
	Version  int    // the number of the version that had the songs
	At       time.Time
	Restored bool // that version was written somewhere
	Back     int  // how many tracks came with one later change, at most
	Active   bool // the playlist is still there
}

// lossMatters is how long the notification of a loss stays open when its person does nothing.
const lossMatters = 30 * 24 * time.Hour

// Over reports whether there is nothing to do about a loss any more.
func (l PlaylistLoss) Over(now time.Time) bool {
	return l.Restored || l.Back >= l.Songs || !l.Active || now.Sub(l.At) >= lossMatters
}

// Sudden reports whether so much of a list is missing that it may have been emptied, or read wrongly: more than ten
// and more than a tenth, or all of several. A person who tidies up takes less away between two readings.
func Sudden(missing, of int) bool {
	return missing > 10 && missing*10 > of || missing > 1 && missing == of
}

// CopyChange is a copy of a playlist, written by us, that was found deleted or changed at its provider.
type CopyChange struct {
	User       int64
	Connection ConnectionID
	Label      string // of the connection
	Playlist   int64  // ours
	Name       string // of ours
	Gone       bool   // it was deleted; otherwise changed
	Conflict   bool   // both were changed, and the changes can't be merged
}
