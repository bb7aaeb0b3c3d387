// Package enrich finds out about the music that was heard: ids, tags, dates and pictures of artists, albums and tracks.
//
// What there is to ask stands in one ordered queue in the database, a row per entity and source, each with the time at
// which it is due. What is due longest is asked first, so new work and repeated work share one queue and nothing starves; what
// fails is put off, longer every time, and never blocks the rest. A row is done only after a success or a definite "not
// there", and both are asked again after a while. A source that needs the MBID which another one finds is asked
// within seconds of its being found.
//
// The sources work side by side, each with one call at a time, and every call goes through the guard: what is held or
// stopped there is not asked, and does not stop the others. What is known is written down after each call, so a process
// that ends goes on where it was.
package enrich

import (
	"context"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// State says where an entity stands with a source.
type State string

// The states. Failed is only what the source said about this one entity; it is tried again all the same.
const (
	Waiting  State = "waiting" // has not been asked, or waits for what another source finds
	Done     State = "done"
	NotThere State = "not_there" // the source knows nothing of it
	Failed   State = "failed"
)

// Source is where facts come from.
type Source struct {
	Provider *providers.Provider
	Enricher providers.Enricher // nil while the installation has not set it up: then it is not asked
	Kinds    []string           // of the entities that it knows
	Needs    string             // the source without whose MBID it cannot be asked; empty for none
	NotThere time.Duration      // for how long a "not there" is believed
	// Missing are the settings without which there is no Enricher, and SettingUp tells an administrator about them, in
	// whole sentences.
	Missing   []string
	SettingUp string
}

// Task is one thing to ask a source.
type Task struct {
	ID       int64 // of the entity
	Source   string
	State    State // so far
	Failures int   // in a row; 0 after a success, and at least 1 while it is put off
	library.Entity
}

// Outcome is what has become of a task.
type Outcome struct {
	Task           // as it was
	State    State // as it is now
	Failures int   // in a row; 0 after a success
	Due      time.Time
	Reason   string   // of a failure, as the source put it
	Then     []string // the sources that need the MBID which this one finds
	// Facts and Picture (its name in the cache of pictures) replace what this source told before; a failure leaves that as
	// it is.
	Facts   library.Facts
	Picture string
}

// Progress is how far a source has got.
type Progress struct {
	Done, NotThere, Waiting, Failed int
	NextAt                          time.Time // when the next one is due; zero when none ever is
	PutOff                          int       // of all of them, those of which the latest call failed
	PutOffUntil                     time.Time // when the first of those is due
}

// Total is how many entities there are for the source.
func (p Progress) Total() int { return p.Done + p.NotThere + p.Waiting + p.Failed }

// Asked is of how many the source has said all it knows.
func (p Progress) Asked() int { return p.Done + p.NotThere }

func (p *Progress) of(s State) *int {
	switch s {
	case Done:
		return &p.Done
	case NotThere:
		return &p.NotThere
	case Failed:
		return &p.Failed
	}
	return &p.Waiting
}

// Add counts n entities in a state.
func (p *Progress) Add(s State, n int) { *p.of(s) += n }

// Links lead from a listen to what is known of its music. An ID of 0 stands for nothing.
type Links struct {
	Artist, Album, Track int64
	Picture              string // the album's cover, or else the artist's portrait: its name in the cache of pictures
	Portrait             bool   // it is the artist's
}

// Music is what is known of an entity, and how often a person has heard it.
type Music struct {
	ID int64
	library.Entity
	Plays     int
	LastHeard time.Time
	Told      []Told
}

// Told is what one source tells of an entity.
type Told struct {
	Source  string
	State   State
	AskedAt time.Time // zero for never
	Due     time.Time // when it is asked again; zero while it waits for another source
	Reason  string    // of the latest failure
	library.Facts
	Picture string
}

// Store keeps the queue and what comes of it.
type Store interface {
	// FindEntities looks at listens that it has not looked at before, some thousand at a time, for entities that are new.
	// It says whether there may be more.
	FindEntities(context.Context) (more bool, err error)
	// Enqueue puts entities of these kinds that a source has not met into its queue, some thousand at a time: due now, or
	// waiting for the MBID that the source needs finds. It says whether there may be more.
	Enqueue(ctx context.Context, source string, kinds []string, needs string) (more bool, err error)
	// NextTask returns what is due longest at a source, or library.ErrNotFound.
	NextTask(ctx context.Context, source string) (Task, error)
	// SaveOutcome stores an outcome, with what it means for the sources that come after.
	SaveOutcome(context.Context, Outcome) error
	// RetryFailed makes due what is put off at a source.
	RetryFailed(ctx context.Context, source string) error
	// RenewPictures makes due whatever has one of the pictures that are missing, unless it is put off.
	RenewPictures(ctx context.Context, missing func(names []string) []string) error
	// EnrichmentProgress is how far each source has got.
	EnrichmentProgress(context.Context) (map[string]Progress, error)
	// People are those who may be watching.
	People(context.Context) ([]int64, error)
}

// Guard stands before every call on behalf of the installation.
type Guard interface {
	Do(context.Context, providers.Subject, func(context.Context, providers.Adapter) error) error
}

// Pictures gets pictures and keeps them.
type Pictures interface {
	// Fetch gets a picture. One that is not there, or is none, or may not be fetched, is an item failure.
	Fetch(ctx context.Context, url string) ([]byte, error)
	// Keep stores a picture and returns its name.
	Keep(picture []byte) (name string, err error)
	// Missing returns those of these pictures that it has lost and has room for.
	Missing(names []string) []string
}
