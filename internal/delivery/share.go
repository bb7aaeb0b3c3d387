package delivery

import (
	"time"

	"github.com/riverqueue/river"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/queue"
)

// Send is the job that asks for a look at what is due to be sent to a person's connection.
type Send struct {
	User       int64                `json:"user"`
	Connection library.ConnectionID `json:"connection"`
}

// Kind implements river.JobArgs.
func (Send) Kind() string { return "send" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (s Send) InsertOpts() river.InsertOpts { return queue.Unique(s) }

// Due is how many deliveries have become due to a connection.
type Due struct {
	Send
	Count int
	App   string // whose limits the connection shares, see library.Connection
	Gone  bool   // there is no such connection, as with channels
}

// Taken is a delivery that is under way.
type Taken struct {
	ID         int64
	User       int64
	Connection library.ConnectionID
	Kind       string
	Ref        string // see Delivery.Ref
	Schema     int    // see [Schema]
	CreatedAt  time.Time
	History    bool
	Items      int // listens, or 1
	Number     int // of the attempt, from 1; the ones before have been used up
	Most       int // attempts that the delivery has in all
}

// used returns the end of an attempt that counts.
func (d Taken) used(s State) End { return End{ID: d.ID, State: s, Attempts: d.Number} }

// unused returns the end of an attempt that does not count.
func (d Taken) unused(s State) End { return End{ID: d.ID, State: s, Attempts: d.Number - 1} }

// waits returns the end of an attempt that does not count, and is made at a time; zero for when it was due.
func (d Taken) waits(due time.Time) End {
	e := d.unused(Scheduled)
	if e.Attempts > 0 {
		e.State = Retrying
	}
	e.Due = due
	return e
}

// fitting returns how many of these deliveries, from the first one on, go out with one call to a provider: listens
// that fit into it, where a call that is repeated doubles nothing and no song is looked up first.
func fitting(all []Taken, p *providers.Provider) int {
	first, items := all[0], 0
	if p == nil || p.Takes.Doubles || p.Takes.Library || p.Takes.Listens != first.Kind {
		return 1
	}
	for n, d := range all {
		items += d.Items
		if d.Kind != first.Kind || d.History != first.History || d.Schema > Schema || n > 0 && items > p.Takes.Batch {
			return n
		}
	}
	return len(all)
}

// End is how an attempt at a delivery ended, and what follows.
type End struct {
	ID       int64
	State    State
	Attempts int       // used up
	Due      time.Time // of the next one; zero: as it was
	Failure  *Failure  // nil: as it was
}

// Share is what became of deliveries to one connection that were taken together.
type Share struct {
	Ends  []End
	Until time.Time // all that waits for the connection waits until then, at least; zero: as it does
	Park  bool      // all that waits for the connection waits for a person
}
