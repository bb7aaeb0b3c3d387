// Package enrich asks sources about the music that was heard: ids, tags, dates and pictures of artists, albums and
// tracks.
//
// The questions are rows of a queue in the database, one per entity and source, each with the time at which it is due.
// The longest due comes first, so that new and repeated questions share one queue and none starves. A failed question
// is postponed, longer every time, and does not block the others. Facts and "not there" are both answers; each is
// asked again after a while. A source that needs the MBID that another source finds is asked within seconds of finding
// it.
//
// The sources work in parallel, each with one call at a time. Every call goes through the guard: a source that is held
// or stopped there is not asked and does not stop the others. Each answer is stored at once, so that a new process
// goes on where the last one ended.
package enrich

import (
	"context"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/queue"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// State is the state of an entity at a source.
type State string

// The states.
const (
	Waiting  State = "waiting" // not asked yet, or waits for the MBID that another source finds
	Done     State = "done"
	NotThere State = "not_there" // the source does not know it
	Failed   State = "failed"    // the source failed for this entity only; it is asked again
)

// Source is a provider of facts, as the Runner asks it.
type Source struct {
	Provider *providers.Provider
	Enricher providers.Enricher // nil while it is not set up: then it is not asked
	Kinds    []string           // of entities that it knows
	Needs    string             // the source whose MBIDs it needs; empty for none
	NotThere time.Duration      // how long to believe a "not there"
	// Missing lists the settings that an Enricher needs, and SettingUp explains them to an administrator, in whole
	// sentences.
	Missing   []string
	SettingUp words.Text
}

// Task is one question to a source.
type Task struct {
	ID       int64 // of the entity
	Source   string
	State    State // before asking
	Failures int   // in a row; 0 after a success, and at least 1 while it is postponed
	library.Entity
}

// Outcome is the result of a task.
type Outcome struct {
	Task           // before asking
	State    State // after asking
	Failures int   // in a row; 0 after a success
	Due      time.Time
	Reason   string   // of a failure, in the source's words
	Then     []string // the sources that need the MBID that this one finds
	// Facts and Picture, a name in package art's cache, replace what the source told before. A failure keeps that.
	Facts   library.Facts
	Picture string
}

// Progress counts the entities of a source by state.
type Progress struct {
	Done, NotThere, Waiting, Failed int
	NextAt                          time.Time // when the next one is due; zero for never
	PutOff                          int       // number of all these that are postponed after a failure
	PutOffUntil                     time.Time // when the first of those is due
}

// Total returns the number of all entities.
func (p Progress) Total() int { return p.Done + p.NotThere + p.Waiting + p.Failed }

// Asked returns the number of entities that the source has answered.
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

// Links lead from a listen to the facts about its music. An id of 0 means that there are none.
type Links struct {
	Artist, Album, Track int64
	Picture              string // the album's cover or the artist's portrait: a name in package art's cache
	Portrait             bool   // Picture is the artist's portrait
	// Names that an administrator has chosen; empty for those that services report.
	ArtistName, AlbumName, TrackName string
	Credits                          []Credit
}

// Credit is one of the artists of a track.
type Credit struct {
	ID   int64
	Name string
}

// Music is an entity with all that sources tell of it, and how often a person has heard it.
type Music struct {
	ID int64
	library.Entity
	Plays     int
	LastHeard time.Time // in whole seconds
	Chosen    string    // the picture that an administrator has chosen; empty for none
	Told      []Told
}

// Told is what one source tells about an entity.
type Told struct {
	Source  string
	State   State
	AskedAt time.Time // zero for never
	Due     time.Time // when it is asked again; zero while it waits for another source
	Reason  string    // of the latest failure
	library.Facts
	Picture string
}

// Store keeps the queue and the answers.
type Store interface {
	Queue() *queue.Queue
	// Enqueue adds entities of these kinds that are new to a source to its queue, some thousand at a time: due now, or
	// waiting for the MBID that the source in needs finds. It returns whether there may be more.
	Enqueue(ctx context.Context, source string, kinds []string, needs string) (more bool, err error)
	// NextTask returns the longest due task of a source, or library.ErrNotFound.
	NextTask(ctx context.Context, source string) (Task, error)
	// SaveOutcome stores an outcome, and makes due the tasks that waited for its MBID.
	SaveOutcome(context.Context, Outcome) error
	// RetryFailed makes the postponed tasks of a source due.
	RetryFailed(ctx context.Context, source string) error
	// RenewPictures makes due the tasks whose pictures are missing, unless they are postponed.
	RenewPictures(ctx context.Context, missing func(names []string) []string) error
	// EnrichmentProgress returns the progress of each source.
	EnrichmentProgress(context.Context) (map[string]Progress, error)
	// People returns the ids of all people.
	People(context.Context) ([]int64, error)
}

// Guard decides whether a source may be called for the installation. It is implemented by sync.Guard.
type Guard interface {
	Do(context.Context, providers.Subject, func(context.Context, resilience.Call, providers.Adapter) error) error
}

// Pictures fetches pictures and keeps them. It is implemented by art.Cache.
type Pictures interface {
	// Keeps reports whether any are kept; the settings may say otherwise.
	Keeps() bool
	// Fetch gets a picture. If there is no usable one, the failure is about this picture only.
	Fetch(ctx context.Context, call resilience.Call, url string) ([]byte, error)
	// Keep stores a picture and returns its name.
	Keep(picture []byte) (name string, err error)
	// Missing returns which of these pictures it has lost and has room for.
	Missing(names []string) []string
}
