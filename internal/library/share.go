package library

import (
	"strconv"
	"time"
)

// The kinds of a Share, with what its Subject is.
const (
	ShareYear     = "year"     // a year in review; the year
	SharePlaylist = "playlist" // a playlist as a file, as it is now; its id
	ShareProfile  = "profile"  // what somebody hears, as it is now; empty
	ShareCompare  = "compare"  // how often somebody heard each artist, for one other server; the hash of its code
)

// Share makes something of a person's visible to anybody who has its code. A person has at most one share of each
// subject.
type Share struct {
	ID      int64
	User    int64
	Kind    string
	Subject string
	Hash    string // of the code; see accounts.HashToken
	// Code is empty if the key that it was sealed with is lost. That of a link to compare is followed by "#" and the
	// key that signs what it shows; that key is never sent to a server.
	Code   string
	Key    []byte   // for marks that the code alone can't forge; the same on all servers of a database
	Parts  []string // what it shows, if that can be chosen
	Name   string   // the person's name on a profile, empty for none; for whom a link to compare is
	Span   string   // of a profile's numbers, one of ProfileSpans
	Zone   string   // name of the time zone of its days and hours, if it shows any
	MadeAt time.Time

	ExpiresAt time.Time // of a link to compare
	UsedAt    time.Time // when a link to compare was last used; zero for never
}

// Expired reports whether a link to compare has expired.
func (s Share) Expired(now time.Time) bool { return !s.ExpiresAt.IsZero() && !s.ExpiresAt.After(now) }

// MostComparisons is how many links to compare a person can have made, and how many of others they can keep.
const MostComparisons = 50

// Comparison is what a person keeps of the link of somebody with another server.
type Comparison struct {
	ID, User  int64
	Link      string // the whole link; secret, and empty if the key that it was sealed with is lost
	Host      string // of the other server, with its port if it names one
	Name      string // of the other person, as their server says
	Document  []byte // what the other server last answered; empty for nothing
	ReadAt    time.Time
	TriedAt   time.Time // the last time the other server was asked
	ExpiresAt time.Time // of the link
	Problem   string    // why the last attempt failed; empty if it didn't
}

// ProfileSpans are the spans, up to now, that the numbers of a profile can cover.
var ProfileSpans = []string{"30-days", "12-months"}

// Playlist returns the id of the playlist that is shared; 0 for none.
func (s Share) Playlist() int64 {
	id, err := strconv.ParseInt(s.Subject, 10, 64)
	if s.Kind != SharePlaylist || err != nil {
		return 0
	}
	return id
}
