package welcome

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func TestNobodyWaitsForListensThatNoServiceTellsOf(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	v := doneView{Services: make([]serviceView, 1)}
	title, lead := titleOf(ctx, v, true, 0)
	require.Equal(t, "All good", title)
	require.Contains(t, lead, "your playlists")
	require.NotContains(t, lead, "No listens yet")
	v.Plays = true
	_, lead = titleOf(ctx, v, true, 0)
	require.Contains(t, lead, "No listens yet")
}
