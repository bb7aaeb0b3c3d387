package listening

import (
	"time"

	"reprise/internal/library"
)

// Filter selects listens. The zero value selects all of them.
type Filter struct {
	Artist, Album, Track uint32
	Tagged               map[uint32]bool // a listen must have one of these artists, albums or tracks; nil for all
	Spellings            []uint32        // a listen must have one of these; nil for all
	Hours                uint32          // a bit for each hour of the day; 0 for all
	Weekdays             uint8           // a bit for each day from Monday on; 0 for all
	Source               library.ConnectionID
	Player               string // with Source, the source must have named it
}

// Question asks for the listens of a person in a span that a filter selects.
type Question struct {
	Span   Span
	Filter Filter
	Now    time.Time // in the zone that days and hours belong to
	Most   int       // rows of a list; 0 for 10
	Bare   bool      // leave out what was new or came back
	Lead   bool      // find each piece's top artist, and which new artists stayed

	Highlight uint32 // an artist that Piece.By counts, however little was heard; 0 for none
}

// Totals count listens, and of how many artists, albums and tracks they are.
type Totals struct {
	Listens                 int
	Time                    time.Duration // tracks of unknown length count as long as the others do on average
	Guessed                 int           // listens to tracks of unknown length
	Artists, Albums, Tracks int
	// New ones had never been heard before.
	NewArtists, NewAlbums, NewTracks int
}

// Row is an artist, an album or a track in a list.
type Row struct {
	ID      uint32
	Listens int
	Before  int           // listens in the span before
	Time    time.Duration // of what is known
	Away    time.Duration // since it had been heard before; only in Answer.Back
	Pieces  int           // of the span in which it was heard; only in Answer.Stayed
}

// DayCount is how much was heard on a day, numbered as Date takes it.
type DayCount struct {
	Day     int64
	Listens int
}

// Piece is a part of a span.
type Piece struct {
	From    time.Time // the date on which it begins, in UTC
	Listens int
	By      []int // listens to each artist of Answer.Stacked
	Lead    Row   // the artist heard most, if the question asks for it; empty if no artist was heard
}

// Run is a number of days in a row.
type Run struct{ First, Days int64 }

// Source counts the listens that a connection reported, and those that only it did.
type Source struct {
	Connection    library.ConnectionID
	Listens, Only int
}

// Player counts the listens played with a player.
type Player struct {
	Name    string
	Listens int
}

// Anniversary is what was heard on this day of an earlier year.
type Anniversary struct {
	Day     int64
	Listens int
	Track   uint32 // the one heard most
}

// mostStacked is how many of the top artists Piece.By counts separately.
const mostStacked = 5

// Answer is what a person has heard in a span.
type Answer struct {
	Totals                  Totals
	Before                  Totals     // of the span before; while the span lasts, of as much of it
	Artists, Albums, Tracks []Row      // those heard most
	New                     []Row      // artists first heard in the span, those heard most first
	Stacked                 []uint32   // the artists that Piece.By counts
	Back                    []Row      // artists heard again after a year or longer
	Stayed                  []Row      // new artists that were heard in the most pieces, if the question asks for them
	Days                    []DayCount // those with listens
	Hours                   [7][24]int // by weekday, from Monday
	Over                    []Piece
	Unit                    string // how long the pieces are
	Streak, Longest         Run    // days in a row up to today, and the longest of the span
	Sources                 []Source
	Players                 []Player      // at most 100, or as many as the question asks for; the most used first
	Earlier                 []Anniversary // the latest year first
	First, Last             time.Time     // of all listens that the filter selects, in the span or not; zero for none
}
