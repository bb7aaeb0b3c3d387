package library

import (
	"strconv"
	"time"
)

// What a Share can show; with its Subject.
const (
	ShareYear     = "year"     // a year in review; the year
	SharePlaylist = "playlist" // a playlist as a file, as it is now; its id
	ShareProfile  = "profile"  // what somebody hears, as it is now; empty
)

// Share shows something of a person's to anyone who has its code. A person has at most one of each subject.
type Share struct {
	User    int64
	Kind    string
	Subject string
	Hash    string   // of the code; see accounts.HashToken
	Code    string   // empty where the key that it was sealed with is lost
	Key     []byte   // for marks that nobody can forge who has the code; all servers of a database have the same
	Parts   []string // what it shows, where one can choose
	Name    string   // what a profile calls its person; empty for nothing
	Span    string   // of the numbers of a profile, one of ProfileSpans
	Zone    string   // name of the time zone of its days and hours, if it shows any
	MadeAt  time.Time
}

// ProfileSpans are the spans of the numbers of a profile, up to now.
var ProfileSpans = []string{"30-days", "12-months"}

// Playlist returns the id of the playlist that is shared; 0 for none.
func (s Share) Playlist() int64 {
	id, err := strconv.ParseInt(s.Subject, 10, 64)
	if s.Kind != SharePlaylist || err != nil {
		return 0
	}
	return id
}
