package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/words"
)

// Promise: 1,000: items kept per stream; a bound for the page and the database.
func TestSkippedItems(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	user := addUser(t, s, "Ann", accounts.Member)
	at := time.Now().Truncate(time.Millisecond).UTC()
	one := library.Skipped{Connection: "spotify", Stream: library.Playlists, Kind: library.SkippedPlaylist,
		SourceID: "p", Name: "Private", Category: "item", Reason: words.Plain("It is private."),
		Answer: "404", Snapshot: "s",
		Since: at, TriedAt: at, RetryAt: at.Add(time.Hour), Failures: 2}
	save := func(items ...library.Skipped) []library.Skipped {
		t.Helper()
		require.NoError(t, s.SaveSkipped(t.Context(), user, "spotify", library.Playlists, items))
		all, err := s.Skipped(t.Context(), user, "spotify")
		require.NoError(t, err)
		return all
	}
	require.Empty(t, save(one), "of a connection that is gone nothing is kept")
	_, err := s.SaveConnection(t.Context(), library.Connection{User: user, ID: "spotify", CreatedAt: at})
	require.NoError(t, err)
	require.Equal(t, []library.Skipped{one}, save(one))
	n, err := s.RetrySkipped(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	all, err := s.AllSkipped(t.Context(), user)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), all[0].RetryAt, time.Minute)
	var many []library.Skipped
	for i := range library.MaxSkipped + 10 {
		one.SourceID = fmt.Sprint(i)
		many = append(many, one)
	}
	require.Len(t, save(many...), library.MaxSkipped)
	require.Empty(t, save())
}
