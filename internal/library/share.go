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
)

// Share makes something of a person's visible to anybody who has its code. A person has at most one share of each
// subject.
type Share struct {
	User    int64
	Kind    string
	Subject string
	Hash    string   // of the code; see accounts.HashToken
	Code    string   // empty if the key that it was sealed with is lost
	Key     []byte   // for marks that the code alone can't forge; the same on all servers of a database
	Parts   []string // what it shows, if that can be chosen
	Name    string   // the person's name on a profile; empty for none
	Span    string   // of a profile's numbers, one of ProfileSpans
	Zone    string   // name of the time zone of its days and hours, if it shows any
	MadeAt  time.Time
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
