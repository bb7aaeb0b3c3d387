package providers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound says that there is no such connection, listen or playlist.
	ErrNotFound = errors.New("not found")
	// ErrReplaced says that a connection has another credential by now, so that what was read with the old one does not
	// count. It is a context.Canceled: nothing is learned from it.
	ErrReplaced = fmt.Errorf("the connection was replaced: %w", context.Canceled)
	// ErrBadCursor says that a cursor of a list is not one that was handed out.
	ErrBadCursor = errors.New("not a cursor of this list")
)

// Source is where a stored listen came from.
type Source struct {
	Provider string
	SourceID string
}

// StoredListen is a listen as it is kept: one play, however many services told of it.
type StoredListen struct {
	ID int64
	Listen
	Sources []Source
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

// StreamRecord is what is kept of one stream beside its data. An empty Stream stands for the whole connection.
type StreamRecord struct {
	Provider      string
	Stream        string
	Reading       string // how far reading has come, in the words of whoever reads
	LastSuccessAt time.Time
	Advice        string // what a person should do about the latest failure
	Detail        string // the latest failure as the upstream put it
	Note          string // what a person should know about the data, such as a hole that cannot be filled
}

// Intake is a page of plays on its way into the store, with the reading position that it leads to.
type Intake struct {
	User     int64
	Provider string
	// Generation is that of the credential which the page was read with. Nothing is stored when the connection has moved
	// on to another one; 0 is not checked.
	Generation int64
	Listens    []Listen
	Reading    string // see StreamRecord
	Note       string
	Gap        *Gap // that has come to its end with this page; Recovered is counted by whoever stores it
}

// FromExport begins the SourceID of a play that a file of the provider's own export tells of in other words than its
// interface does: with another time, or another name of the track. What follows, up to a colon, names the kind of file.
const FromExport = "export/"

// Gap is a stretch of time in which a connection was not read.
type Gap struct {
	From      time.Time `json:"from"`             // everything earlier had been read
	To        time.Time `json:"to"`               // from here on it was read again
	LostTo    time.Time `json:"lost_to,omitzero"` // what was played before is no longer offered; zero when nothing is lost
	Recovered int       `json:"-"`                // plays of that time that the provider told of when it was read again
	Filled    int       `json:"-"`                // plays of the lost part that an import has brought since
	FilledAt  time.Time `json:"-"`
}
