package library

import "time"

// Run is one run that has ended: the reading of one stream of a connection, as the history keeps it.
type Run struct {
	User             int64
	Provider, Stream string

	Started  time.Time
	Took     time.Duration
	Rows     int    // new listens, or playlists read
	Result   string // "ok", "retriable", "fatal" or "canceled"; empty for one that was not let in
	Category string
	Words    string // what was wrong, for a person; empty when nothing was
	Detail   string // what the upstream said
}

// RunQuarter is what the runs of a stream came to that began within 15 minutes.
type RunQuarter struct {
	Stream string
	Start  time.Time // a full quarter of an hour

	Runs, Rows       int
	Full             int // runs that brought rows
	Retriable, Fatal int // runs that failed
}
