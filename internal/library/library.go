// Package library holds the domain of the program: what a household listens to, where it is kept, and how reading it
// went. It has types and pure functions only: no I/O, no locks, and no import of ours.
package library

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The streams: the kinds of calls that are made for a connection, or for the installation as a whole. Each has a backoff
// of its own, because what goes wrong with one says nothing about another.
const (
	Listens    = "listens"    // plays, read
	Playlists  = "playlists"  // playlists, read
	Deliveries = "deliveries" // what is sent
	Enrichment = "enrichment" // facts about music, for the whole installation
	Digest     = "digest"     // texts by a language model, for the whole installation
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

// ErrNotThere is a success: a source was asked and knows nothing of the entity.
var ErrNotThere = errors.New("not there")

// Stamp writes a time as all interfaces do.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
