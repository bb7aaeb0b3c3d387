package sync

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// counted is a store that knows one play of each track, an hour ago.
type counted struct {
	Store
	before time.Time
}

func (s counted) PlayCounts(
	_ context.Context, _ int64, _ library.ConnectionID, tracks []string,
) (map[string]library.Listen, error) {
	known := map[string]library.Listen{}
	for _, id := range tracks {
		known[id] = library.Listen{PlayedAt: s.before, PlayCount: 1}
	}
	return known, nil
}

// TestABillionPlaysAreNotBelieved: a server may say any number, and each hidden play would be a listen.
func TestABillionPlaysAreNotBelieved(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct{ plays, tracks, want int }{
		{3, 1, 1}, {1_000_000_000, 1, 360}, {1_000_000_000, 1000, maxHidden}, {1, 1, 0}, {0, 1, 0},
	} {
		var page []library.Listen
		for range c.tracks {
			page = append(page, library.Listen{Track: library.Track{SourceID: "1"}, PlayedAt: now, PlayCount: c.plays})
		}
		r := listenRun{rd: &reader{store: counted{before: now.Add(-time.Hour)}}}
		hidden, err := r.hidden(t.Context(), page)
		require.NoError(t, err)
		require.Len(t, hidden, c.want, "%+v", c)
	}
}
