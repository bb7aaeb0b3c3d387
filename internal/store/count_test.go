package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// The start page shows how many listens there are. Only those of the month that has changed are counted for it.
func TestOnlyWhatHasChangedIsCounted(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	counts := func(want, statements int) {
		t.Helper()
		before := s.Traffic().Statements()
		n, err := s.CountListens(t.Context(), user)
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.EqualValues(t, statements, s.Traffic().Statements()-before)
	}
	const month = 30 * 24 * 60
	counts(0, 1)
	for i := range 100 {
		save(t, s, user, "spotify", listen(-float64(i)*month))
	}
	counts(100, 1+100)
	counts(100, 1)
	save(t, s, user, "spotify", listen(0.1*month), listen(0.2*month))
	counts(102, 1+1)
	made, _, err := s.AddListen(t.Context(), user, library.Listen{PlayedAt: at(-50.5 * month),
		Track: library.Track{Title: "By hand", Artist: "Björk"}})
	require.NoError(t, err)
	counts(103, 1+1)
	_, err = s.UndoCorrection(t.Context(), user, made.ID)
	require.NoError(t, err)
	counts(102, 1+1)
}
