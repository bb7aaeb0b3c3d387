package library

import "time"

// Span is a time whose listens have not been read: After < played at < Before. A zero bound is open.
type Span struct {
	After, Before time.Time
}

// Gap is a time during which a connection was not read.
type Gap struct {
	From time.Time `json:"from"` // everything before has been read
	To   time.Time `json:"to"`   // from here on it was read again
	// LostTo is where the provider's memory begins: listens before it are lost. Zero when nothing is lost.
	LostTo    time.Time `json:"lost_to,omitzero"`
	Recovered int       `json:"-"` // listens of the gap that the provider still had
	Filled    int       `json:"-"` // lost listens that an import has brought since
	FilledAt  time.Time `json:"-"` // when the latest import did so
}
