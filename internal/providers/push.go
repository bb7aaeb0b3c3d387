package providers

import (
	"context"
	"time"

	"reprise/internal/library"
)

// Takes says what can be carried to a provider. The zero value means nothing.
type Takes struct {
	// Listens is the kind of the deliveries that carry listens there: "submit_listens" or "scrobble"; empty for none.
	Listens string
	// Batch is how many listens one call of Submit may carry, 1 to 1,000.
	Batch int
	// Oldest is how old a listen may be to be taken; 0 means as old as it likes.
	Oldest time.Duration
	// Doubles says that the provider keeps a play that is sent twice as two plays, so that it must be asked what it has
	// before anything is sent a second time.
	Doubles   bool
	Playlists bool // the adapter is a PlaylistWriter
	Archive   bool // the adapter is an ObjectStore
}

// Nothing says whether nothing can be carried to the provider.
func (t Takes) Nothing() bool { return t == Takes{} }

// ListenTaker is an adapter that takes listens.
type ListenTaker interface {
	// Submit sends plays, the oldest first, at most Takes.Batch of them. outcomes has one element per play: nil for one
	// that was taken; an item failure (see resilience.Classify) for one that was refused for good; any other error for
	// one that was not taken now. outcomes may be nil when all plays share err. An err that is an item failure speaks
	// about the batch as a whole: one of its plays is bad, and none was taken.
	Submit(ctx context.Context, plays []library.StoredListen) (outcomes []error, err error)
}

// PlaylistWriter is an adapter that writes playlists. It is a PlaylistSource too, so that what is there can be compared
// before anything is changed.
type PlaylistWriter interface {
	PlaylistSource
	// Find returns tracks of the provider's catalogue that may be t, at most 30, in the provider's order; none is no
	// error. Each has its SourceID.
	Find(ctx context.Context, t library.Track) ([]library.Track, error)
	// CreatePlaylist makes a playlist of these tracks, by their SourceIDs, and returns its SourceID.
	CreatePlaylist(ctx context.Context, name string, tracks []string) (id string, err error)
	// ReplacePlaylist gives a playlist this name and exactly these tracks, in this order. A playlist that is gone is an
	// item failure.
	ReplacePlaylist(ctx context.Context, id, name string, tracks []string) error
}

// ObjectStore is an adapter that keeps objects (files) by name.
type ObjectStore interface {
	// Keep makes the object of that name hold body, and verifies that it does. It returns the object's ETag. An object
	// that holds body already is not written again; one that somebody else writes at the same time is not overwritten
	// unseen.
	Keep(ctx context.Context, name, contentType string, body []byte) (etag string, err error)
}
