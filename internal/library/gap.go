package library

import "time"

// Span is a stretch of time whose plays have not been read: After < played at < Before. A zero bound is open.
type Span struct {
	After, Before time.Time
}

// Gap is a stretch of time in which a connection was not read.
type Gap struct {
	From      time.Time `json:"from"`             // everything earlier had been read
	To        time.Time `json:"to"`               // from here on it was read again
	LostTo    time.Time `json:"lost_to,omitzero"` // what was played before is no longer offered; zero when nothing is lost
	Recovered int       `json:"-"`                // plays of that time that the provider told of when it was read again
	Filled    int       `json:"-"`                // plays of the lost part that an import has brought since
	FilledAt  time.Time `json:"-"`
}
