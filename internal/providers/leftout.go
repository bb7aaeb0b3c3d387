package providers

import (
	"context"

	"reprise/internal/words"
)

// LeftOut is a track that a playlist lists and the provider does not give.
type LeftOut struct {
	SourceID string // the provider's id, or the place in the playlist where it has none
	Name     string
	Reason   words.Text // a sentence for people
}

type leftOutKey struct{}

// WithLeftOut returns a context for [PlaylistSource].Tracks. take is called for every track that is left out of the
// sequence, by the goroutine that reads it.
func WithLeftOut(ctx context.Context, take func(LeftOut)) context.Context {
	return context.WithValue(ctx, leftOutKey{}, take)
}

// LeaveOut reports a track that an adapter leaves out of the sequence of [PlaylistSource].Tracks.
func LeaveOut(ctx context.Context, t LeftOut) {
	if take, ok := ctx.Value(leftOutKey{}).(func(LeftOut)); ok {
		take(t)
	}
}
