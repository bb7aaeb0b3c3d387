package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// What one more listen costs doesn't depend on how many are stored, not even on how many were played just before.
func TestAddingOneListenDoesNotSlowDown(t *testing.T) {
	cost := func(plays int) float64 {
		s, user := setup(t)
		all := make([]library.Listen, plays)
		for i := range all {
			at := at(float64(-i))
			all[i] = library.Listen{SourceID: fmt.Sprint(at.Unix()), PlayedAt: at,
				Track: library.Track{Title: fmt.Sprint("Song ", i%1000), Artist: "Somebody"}}
		}
		for page := range slices.Chunk(all, 1000) {
			save(t, s, user, "spotify", page...)
		}
		next := at(-float64(min(plays, 1000)) / 2)
		return testing.AllocsPerRun(50, func() {
			next = next.Add(time.Second)
			_, _, err := s.AddListen(t.Context(), user, library.Listen{PlayedAt: next,
				Track: library.Track{Title: "At " + next.String(), Artist: "Somebody"}})
			require.NoError(t, err)
		})
	}
	require.Less(t, cost(10_000), 1.2*cost(0))
}
