package library

import (
	"time"

	"reprise/internal/words"
)

// Run is one finished reading of a stream of a connection, as the history keeps it.
type Run struct {
	User       int64
	Connection ConnectionID
	Stream     string

	Started  time.Time
	Took     time.Duration
	Rows     int        // new listens, or playlists read
	Result   string     // "ok", "retriable", "fatal" or "canceled"; empty when no call was allowed
	Category string     // of the failure; empty without one
	Words    words.Text // the failure, for a person; empty without one
	Detail   string     // the failure in the upstream's words
}

// Crash says that the process ended in the latest runs of a stream.
type Crash struct {
	User       int64
	Connection ConnectionID
	Stream     string
	Times      int // in a row
}

// RunQuarter sums up the runs of a stream that began within one quarter of an hour.
type RunQuarter struct {
	Stream string
	Start  time.Time // a full quarter of an hour

	Runs, Rows       int
	Full             int // runs that brought rows
	Retriable, Fatal int // runs that failed
}
