// Package library holds the domain of the program: the music that a household listens to, the connections to the
// services that know of it, and the record of reading them.
//
// It has plain types and pure functions: no I/O, no locks, and of our other packages it imports only bounded, so that
// every other package can use its words. Names of providers appear as text only; what a provider can do is in package
// providers.
//
//   - Music: [Track], [Listen], [Playlist] as a provider tells of them; [StoredListen] and [StoredPlaylist] as they are
//     kept; [Entity], [Facts] and [Picture] for what enrichment adds.
//   - Services: [Connection], [ConnectionID] and [Credentials]; [StreamRecord] and [Standing] for how far reading has
//     come.
//   - Reading: [Intake] is one page on its way into the store, [Run] one finished run, [Gap] a time that was missed.
package library

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The streams: the kinds of data of a connection, or of the installation as a whole. Each stream has its own backoff,
// because a failure of one says nothing about another.
const (
	Listens    = "listens"    // listens, read
	Playlists  = "playlists"  // playlists, read
	Loves      = "loves"      // what people love, read
	Songs      = "songs"      // which songs a person's own library has, read
	Deliveries = "deliveries" // everything that is sent
	Enrichment = "enrichment" // facts about music, for the whole installation
	Digest     = "digest"     // texts by a language model, for the whole installation
)

// Read are the streams that are read from connections, in the order in which pages list them.
var Read = []string{Listens, Playlists, Loves, Songs}

var (
	// ErrNotFound says that there is no such connection, listen or playlist.
	ErrNotFound = errors.New("not found")
	// ErrReplaced says that a connection has been given other credentials, so that what was read with the old ones does
	// not count. It wraps context.Canceled, because nothing is to be learned from such a failure.
	ErrReplaced = fmt.Errorf("the connection was replaced: %w", context.Canceled)
	// ErrBadCursor says that a list was asked to continue from a cursor that it has not handed out.
	ErrBadCursor = errors.New("not a cursor of this list")
	// ErrNotThere says that a source was asked about an entity and does not know it. It is no failure.
	ErrNotThere = errors.New("not there")
)

// Stamp formats a time as the JSON API, the exports and the webhooks do: RFC 3339 in UTC, with milliseconds.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
