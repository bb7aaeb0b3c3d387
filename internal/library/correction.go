package library

import "time"

// The kinds of corrections.
const (
	Deleted = "delete"
)

// Correction is what a person has corrected. It is a rule that also holds for what comes later, until it is undone.
type Correction struct {
	ID       int64
	User     int64
	Kind     string
	Listens  int    // how many it has changed
	Title    string // of the only listen it is about, else empty
	Artist   string // of that listen, or that all of its listens are by
	MadeAt   time.Time
	UndoneAt time.Time // zero while it holds
}

// Selection is listens of a person: those that a filter selects, or if there are IDs, those with these.
type Selection struct {
	ListenFilter
	IDs []int64
	// Newest is the highest number of a listen that counts: those that were stored later are left out; 0 for all.
	Newest int64
}
