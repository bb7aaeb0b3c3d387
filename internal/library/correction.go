package library

import (
	"errors"
	"time"
)

// The kinds of corrections.
const (
	Deleted = "delete"
	Edited  = "edit"
	Added   = "add"
	Apart   = "split"
	Checked = "keep" // what looks suspicious is right
)

// ByHand stands for the connection of listens that their person has added.
const ByHand ConnectionID = "hand"

// File stands for the connection of listens from a table, if it isn't known which program wrote it.
const File ConnectionID = "file"

// Recipes takes the place of a connection for playlists that are made from a person's own history.
const Recipes ConnectionID = "recipe"

// Programs are the names of programs and services that nobody connects, but whose files are imported. They stand in the
// place of a provider as the source of listens.
var Programs = map[string]string{"applemusic": "Apple Music", "deezer": "Deezer", "multiscrobbler": "multi-scrobbler",
	"rockbox": "Rockbox", "tidal": "TIDAL"}

// ErrUnchanged says that a correction would change nothing: there is such a listen already, or it has one source.
var ErrUnchanged = errors.New("nothing to correct")

// Correction is what a person has corrected. It is a rule that also holds for what comes later, until it is undone.
type Correction struct {
	ID       int64
	User     int64
	Kind     string
	Listens  int    // how many it has changed
	Title    string // of the only listen it is about, else empty
	Artist   string // of that listen, or that all of its listens are by
	Becomes  string // what it has made of the title and the artist; empty if they have stayed
	MadeAt   time.Time
	UndoneAt time.Time // zero while it holds
	// About is "artist", "album" or "track" if the correction is about one. Then Of is its ID, Title and Artist are its
	// names, Becomes is the result, and By is the member of the household who made the correction, empty if the account
	// is gone.
	About, By string
	Of        int64
	// PlayRule is the name of the rule that ignored the listens, and PlayRuleID its id. The name is empty if the
	// rule was deleted, and both are for corrections by hand.
	PlayRule   string
	PlayRuleID int64
	There      []There // what services are asked to delete, too, by connection
}

// There is how many listens of a correction a service is asked to delete, and how many it has accepted to delete.
type There struct {
	Connection     ConnectionID
	Listens, Asked int
}

// Selection is listens of a person: those that a filter selects, or if there are IDs, those with these.
type Selection struct {
	ListenFilter
	IDs []int64
	// Newest is the highest number of a listen that counts: those that were stored later are left out; 0 for all.
	Newest int64
	There  []ConnectionID // the services that delete them, too, as far as they told of them
}

// Change is what a person changes of a listen; nil leaves a part as it is.
type Change struct {
	Title, Artist, Album *string
	PlayedAt             *time.Time
}

// Told is a source of a stored listen, with what it told.
type Told struct {
	Source
	At      time.Time // of the play, which may be its beginning or its end
	KnownAt time.Time // when it told it, to the second; zero if that was not noted
}
