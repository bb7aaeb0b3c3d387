package providers

import (
	"context"
	"time"

	"reprise/internal/library"
)

// Takes says what can be delivered to a provider. The zero value means nothing.
type Takes struct {
	// Listens is the kind of deliveries of listens: "submit_listens" or "scrobble"; empty for none.
	Listens string
	// Batch is the maximum number of listens per call of Submit, 1 to 1,000.
	Batch int
	// Oldest is the maximum age of a listen; 0 means unlimited.
	Oldest time.Duration
	// Doubles means that the provider stores a play that is sent twice as two plays. Before a retry, its plays have to
	// be read.
	Doubles bool
	// Repeat says in Markdown what becomes of a play that is sent once more; docs/deliveries.md lists it. It is given
	// with Listens.
	Repeat    string
	Library   bool // plays are of songs in the person's own library: the adapter is a LibraryTaker
	Playlists bool // the adapter is a PlaylistWriter
	// Piecewise means that a playlist is replaced in several calls. If one of them fails, the playlist may be neither
	// what it was nor what it should become.
	Piecewise bool
	Archive   bool // the adapter is an ObjectStore
	Deletions bool // listens can be deleted there: the adapter is a ListenDeleter
	Playing   bool // what is playing now is shown there: the adapter is a PlayingTaker
	Loves     bool // the adapter is a LoveTaker
	// LovesFound means that the LoveTaker is also a SongFinder, and takes tracks by the SourceIDs that it found.
	LovesFound bool
	// LovesKnown means that the LoveTaker takes a track by its SourceID alone, where that is known of what the person
	// has heard, listed or loved there. It is not searched for.
	LovesKnown bool
	// LovesPerDay is how many calls of Love the connections of one app make at most between two times of
	// Description.QuotaReset, so that a part of the quota is left for reading; 0 means unlimited.
	LovesPerDay int
	Hates       bool // a LoveTaker takes what is hated, too
}

// Nothing reports whether nothing can be delivered to the provider.
func (t Takes) Nothing() bool { return t == Takes{} }

// ListenTaker is an adapter that accepts listens.
type ListenTaker interface {
	// Submit sends plays, the oldest first, at most Takes.Batch of them. outcomes has one element per play: nil if it
	// was accepted, an item failure (see resilience.ScopeItem) if it was refused permanently, any other error if it was
	// not accepted now. outcomes may be nil when err applies to all plays. An err that is an item failure means that
	// one play is bad and none was accepted.
	Submit(ctx context.Context, plays []library.StoredListen) (outcomes []error, err error)
}

// ListenDeleter is an adapter that deletes listens.
type ListenDeleter interface {
	// DeleteListen deletes the listen that has this SourceID at the provider, which may do so later. A listen that is
	// not there is not an error, so that it may be deleted again. An item failure means that it cannot be deleted.
	DeleteListen(ctx context.Context, sourceID string) error
}

// PlayingTaker is an adapter that shows what is playing now.
type PlayingTaker interface {
	// Playing says that a track has begun to play. It is shown for the track's duration, if that is known. A refusal of
	// the track is an item failure.
	Playing(ctx context.Context, t library.Track) error
}

// LoveTaker is an adapter that can set what an account loves.
type LoveTaker interface {
	// Love sets the score of a track, and returns its SourceID if the provider lists it by one. Setting a score that it
	// has already is no error. A track that the provider doesn't know is an item failure. A score of library.Hated
	// needs Takes.Hates.
	Love(context.Context, library.Love) (sourceID string, err error)
}

// SongFinder is an adapter that searches the provider's catalogue.
type SongFinder interface {
	// Find returns at most 30 tracks of the provider's catalogue that may be t, each with its SourceID, in the
	// provider's order or the most similar first. An empty result is not an error.
	Find(ctx context.Context, t library.Track) ([]library.Track, error)
}

// SongsFinder is a SongFinder that searches for many tracks in a call.
type SongsFinder interface {
	SongFinder
	// FindAll is Find for each of the tracks, in their order. It returns ErrNotOffered if the server can't do that.
	FindAll(ctx context.Context, tracks []library.Track) ([][]library.Track, error)
}

// LibraryTaker is a ListenTaker of plays of songs in the person's own library: Submit takes plays whose Track has the
// SourceID of a song there.
type LibraryTaker interface {
	ListenTaker
	SongFinder
}

// PlaylistWriter is an adapter that writes playlists. It is a PlaylistSource too, so that a playlist can be compared
// before it is changed.
type PlaylistWriter interface {
	PlaylistSource
	SongFinder
	// CreatePlaylist creates a playlist of these tracks, by their SourceIDs, and returns its SourceID.
	CreatePlaylist(ctx context.Context, name string, tracks []string) (id string, err error)
	// ReplacePlaylist gives a playlist this name and exactly these tracks, in this order. A deleted playlist is an
	// item failure.
	ReplacePlaylist(ctx context.Context, id, name string, tracks []string) error
}

// ObjectStore is an adapter that stores objects (files) by name.
type ObjectStore interface {
	// Keep stores body under the name, verifies it, and returns the object's ETag. It does not write an object that is
	// already equal to body, and does not overwrite a concurrent change without reading it.
	Keep(ctx context.Context, name, contentType string, body []byte) (etag string, err error)
}
