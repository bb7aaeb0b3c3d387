package store

import (
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/players"
)

// What was stored before players were learns them from the same file, wherever it is by now.
func TestAnImportAddsPlayers(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	page := repeat(4, 50_000) // in different spans
	save(t, s, user, "spotify", page...)
	known, _ := all(t, s, user, 10)
	c := deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user}, IDs: []int64{known[3].ID}})
	for i := range page {
		page[i].Player = "Spotify (iOS)"
	}
	page[0].Player = ""
	filter := library.ListenFilter{User: user, Player: "Spotify (iOS)"}
	found := func() int {
		n, err := s.CountFound(t.Context(), filter)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, found())
	v, err := s.AddImport(t.Context(), imports.Import{User: user, Connection: "spotify", State: imports.Running}, 9)
	require.NoError(t, err)
	for range 2 {
		v, err = s.SaveImported(t.Context(), v, page)
		require.NoError(t, err)
		require.Zero(t, v.Added)
		require.Equal(t, 2, found())
		page[1].Player = "Another" // the first one stays
	}
	undo(t, s, user, c.ID)
	require.Equal(t, 3, found())
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM listen_sources WHERE player = 0"))
}

// Promise: Plays that are sent at once share a commit, and one that fails takes none of the others with it.
func TestPlaysSentAtOnceAreStoredEach(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	add := func(name string) players.Player {
		p, err := s.AddPlayer(t.Context(), players.Player{User: user, Name: name, Kind: players.ListenBrainz,
			CreatedAt: at(0)}, players.NewSecret(), players.Most)
		require.NoError(t, err)
		return p
	}
	here, gone := add("Kitchen"), add("Removed")
	require.NoError(t, s.DeletePlayer(t.Context(), user, gone.ID, false))
	plays := repeat(90, 10)
	release := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { // so that the others wait together
		assert.NoError(t, s.Write(t.Context(), func(*sql.Tx) error {
			<-release
			return nil
		}))
	})
	for i, l := range plays {
		sending.Go(func() {
			p := here
			if i%3 == 0 {
				p = gone
			}
			added, err := s.TakePlays(t.Context(), p, []library.Listen{l})
			if i%3 == 0 {
				assert.ErrorIs(t, err, library.ErrNotFound)
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, 1, added)
		})
	}
	close(release)
	sending.Wait()
	require.Equal(t, 60, count(t, s, user))
}
