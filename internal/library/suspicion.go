package library

import "time"

// Suspicion are listens of a person that can hardly be what happened: one track twice before it can have ended, or ten
// listens and more within a minute.
type Suspicion struct {
	ID string // stays the same as long as these listens are suspicious
	// From and To are the second of the first listen, and the one after that of the last.
	From, To time.Time
	Count    int            // of the listens
	Listens  []StoredListen // the earliest first: both of a pair, or the first few
	Length   time.Duration  // of the track of a pair; 0 for unknown
}

// Pair reports whether it is one track twice.
func (s Suspicion) Pair() bool { return s.Count == 2 }
