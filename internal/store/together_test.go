package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/words"
)

// A tick ends many runs at once. Whichever ends first while a transaction is under way stores what the others hold.
func TestRunsThatEndTogetherShareATransaction(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	s.ends.turn.Lock() // a transaction is under way
	var ended sync.WaitGroup
	const runs = 5
	for n := range runs {
		run, end := s.Together(t.Context())
		require.NoError(t, s.SaveSuccess(run, user, library.ConnectionID(fmt.Sprint("spotify-", n)), library.Listens,
			at(float64(n))))
		if n == 2 { // its fault is its own
			fail := func(context.Context, *sql.Tx) error { return errors.New("broken") }
			require.NoError(t, s.soon(run, "fault", fail))
		}
		ended.Go(func() {
			if err := end(run); n == 2 {
				assert.ErrorContains(t, err, "broken")
			} else {
				assert.NoError(t, err)
			}
		})
	}
	for waiting := 0; waiting < runs; runtime.Gosched() {
		s.ends.mu.Lock()
		waiting = len(s.ends.waiting)
		s.ends.mu.Unlock()
	}
	s.ends.turn.Unlock()
	ended.Wait()
	all, err := s.Streams(t.Context(), user)
	require.NoError(t, err)
	require.Len(t, all, runs-1)
}

// What a run holds back is stored with the next listens, before their own position.
func TestSmallWritesOfARunComeTogether(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	run, end := s.Together(t.Context())
	position := func(want string) {
		t.Helper()
		got, err := s.Position(t.Context(), user, "spotify", library.Listens)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	reach := func(where string, generation int64, plays ...library.Listen) error {
		_, err := s.SaveListens(run, library.Intake{User: user, Connection: "spotify", Generation: generation,
			Listens: plays, Position: where})
		return err
	}
	play := listen(0)
	play.PlayCount = 3
	require.NoError(t, reach("1", 0))
	position("")
	require.NoError(t, reach("2", 0, play))
	position("2")
	require.NoError(t, reach("3", 0, play))
	position("2")
	play.PlayCount = 4
	require.NoError(t, reach("4", 0, play))
	position("4")
	require.ErrorIs(t, reach("5", 77), library.ErrReplaced)
	require.ErrorIs(t, reach("5", 77, listen(10)), library.ErrReplaced)
	require.NoError(t, s.SavePosition(run, user, "spotify", library.Listens, "6", words.Text{}))
	require.NoError(t, s.SaveSuccess(run, user, "spotify", library.Listens, at(7)))
	require.NoError(t, s.SaveRun(run, library.Run{User: user, Connection: "spotify", Stream: library.Listens,
		Started: at(7)}))
	position("4")
	require.NoError(t, end(t.Context()))
	position("6")
	require.NoError(t, end(t.Context()))
	all, err := s.Streams(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, at(7), all[0].LastSuccessAt)
	runs, _, err := s.Runs(t.Context(), user, "spotify", at(0), "", 10)
	require.NoError(t, err)
	require.Len(t, runs, 1)
}
