package library

import "errors"

// The kinds of corrections that are about artists, albums and tracks. They hold for the whole household.
const (
	Merged   = "merge"
	Divided  = "divide"
	Renamed  = "rename"
	Pictured = "picture"
)

// Errors of corrections of artists, albums and tracks.
var (
	ErrNameTaken = errors.New("another artist has this name")
	ErrNotHere   = errors.New("not of this artist, album or track")
)

// Division says what leaves an artist, an album or a track. One of its forms is filled in.
type Division struct {
	// Names are those of the artists that one artist's name stands for: two at least.
	Names []string
	// Albums and Tracks leave an artist, and are of the artist Name from now on, who may be new.
	Albums, Tracks []int64
	Name           string
	// Titles are how services write what leaves an album or a track, and becomes one of its own.
	Titles []string
}

// Effect says what a merge changes for the person who asks.
type Effect struct {
	From, Into     Heard
	Albums, Tracks int // of the artist that goes
}

// Writing is how services write the title of an album or a track, and how often a person has heard it so.
type Writing struct {
	Title string
	Plays int
}
