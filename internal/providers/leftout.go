package providers

import "reprise/internal/words"

// LeftOut is a track that a playlist lists and the provider does not give.
type LeftOut struct {
	SourceID string // the provider's id, or the place in the playlist where it has none
	Name     string
	Reason   words.Text // a sentence for people
	// Blank says that SourceID is a place: nothing tells which track was there.
	Blank bool
}

// LeaveOut is called for every track that is left out of the sequence of [PlaylistSource].Tracks, by the goroutine that
// reads it. Nil if nobody asks.
type LeaveOut func(LeftOut)

// Say tells of a track.
func (f LeaveOut) Say(t LeftOut) {
	if f != nil {
		f(t)
	}
}
