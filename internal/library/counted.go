package library

import "time"

// Counted is what a provider that only counts plays told of a song when it was read last.
type Counted struct {
	Plays    int
	PlayedAt time.Time // the last play
	Looked   int64     // the last number of a Sending before that reading began
}

// Grown is a song whose count has grown. Its plays between the two readings lie between two times.
type Grown struct {
	Track    // with its SourceID
	From, To time.Time
}

// Evidence is what explains a grown count: plays that were sent to the account, and listens that are stored anyway.
type Evidence struct {
	Sent []Sending
	Held []Held
}

// Sending is an attempt to send a listen to an account as a play of a song. Sendings and their ends are numbered in one
// order, from 1 on.
type Sending struct {
	ID       int64
	Track    string // the song's SourceID there
	Listen   int64
	PlayedAt time.Time
	Ended    int64 // 0 while it is under way, or if it isn't known whether it has arrived
}

// Held is a stored listen of a song that lies between the times of a Grown.
type Held struct {
	Listen   int64
	PlayedAt time.Time
	There    bool // the account has reported it, or it was sent there
	Waiting  bool // it is still to be sent there
}

// The limits of Window.
const (
	unknownLength = 4 * time.Minute // when neither service reports the length
	clockSlack    = 30 * time.Second
	MaxWindow     = time.Hour
)

// Window returns how far apart plays of a track at two services may be to count as one play, by the lengths that both
// tell; 0 for unknown. A service may report the start or the end of a play, so it is the length of the track, with some
// slack for clocks, and an hour at most.
func Window(a, b time.Duration) time.Duration {
	length := max(a, b)
	if length == 0 {
		length = unknownLength
	}
	return min(length+clockSlack, MaxWindow)
}
