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
}
