package imports_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/imports"
	"reprise/internal/library"
)

// Promise: A file is read as what it is, whatever service somebody takes it for.
func TestAFileUnderTheWrongServiceIsReadAsWhatItIs(t *testing.T) {
	t.Parallel()
	spotify := `[{"ts":"2024-03-05T18:04:30Z","ms_played":270000,` +
		`"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"}]`
	for _, c := range []struct{ taken, is library.ConnectionID }{{"lastfm", "spotify"}, {"listenbrainz", "spotify"},
		{"koito", "spotify"}, {"spotify", "spotify"}} {
		b := setup(t)
		v, err := b.Receive(t.Context(), b.user, sent(c.taken, "file.json", strings.NewReader(spotify)))
		require.NoError(t, err)
		require.Equal(t, c.is, v.Connection)
		v = b.finish(b.Runner)
		require.Equal(t, []any{imports.Done, 1}, []any{v.State, v.Added})
	}
}

// TestATableThatIsCutOffIsNotDone: its last line has fewer columns than the others, and no end. A repeat of the whole
// file adds the rest alone. Rows are numbered as a spreadsheet shows them, with the heading and empty lines.
func TestATableThatIsCutOffIsNotDone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const whole = "uts,artist,album,track\n1700000000,A,\"B\nC\",T\n\nsoon,A,B,U\n1700001000,A,B,V\n1700002000,A,B,W\n"
	_, err := b.Receive(t.Context(), b.user, sent("lastfm", "a.csv", strings.NewReader(whole[:len(whole)-5])))
	require.NoError(t, err)
	v := b.finish(b.Runner)
	require.Equal(t, imports.Failed, v.State)
	require.Contains(t, v.Reason.String(), "This file can only be read up to row 5: it ends in the middle of a row.")
	require.Equal(t, []int{3, 2, 2}, []int{v.Rows, v.Added, v.Bad})
	require.Equal(t, "a.csv, row 4: “soon” isn't a time that Reprise can read; 2026-11-28 20:15:00 would be one",
		v.BadRows()[0].String())
	_, err = b.Receive(t.Context(), b.user, sent("lastfm", "a.csv", strings.NewReader(whole)))
	require.NoError(t, err)
	v = b.finish(b.Runner)
	require.Equal(t, []any{imports.Done, 1, 2}, []any{v.State, v.Added, v.Known})
}
