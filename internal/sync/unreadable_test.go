package sync

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// closedLists lists two playlists and gives none.
type closedLists struct{}

func (closedLists) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		yield([]library.Playlist{{SourceID: "1", Name: "One"}, {SourceID: "2", Name: "Two"}}, nil)
	}
}

func (closedLists) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		yield(nil, &resilience.AnswerError{Status: 500})
	}
}

func TestAServiceThatGivesNothingStaysFailed(t *testing.T) {
	_, rd, c, _ := reading(t)
	for run := range 6 {
		_, err := rd.readPlaylists(t.Context(), c, closedLists{})
		require.Error(t, err, "run %d", run)
	}
}
