package library

import "errors"

// The kinds of corrections of artists, albums and tracks. They apply to the whole household.
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

// Division describes how an artist, an album or a track is split. Only one of its forms is filled in.
type Division struct {
	// Names are the artists that one artist's name means: at least two.
	Names []string
	// Albums and Tracks move from an artist to the artist called Name, who may be new.
	Albums, Tracks []int64
	Name           string
	// Titles are the spellings that become an album or a track of their own.
	Titles []string
}

// Effect is what a merge changes for the person who asks.
type Effect struct {
	From, Into     Heard
	Albums, Tracks int // of the artist that is merged
}

// Writing is one way in which services spell the title of an album or a track, and how often a person has heard it.
type Writing struct {
	Title string
	Plays int
}
