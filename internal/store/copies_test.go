package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/match"
)

// copyOf returns the copy of playlist 7.
func copyOf(t testing.TB, s *Store, user int64) delivery.Copy {
	t.Helper()
	c, err := s.Copy(t.Context(), user, "navidrome", delivery.WritePlaylist, "7")
	require.NoError(t, err)
	return c
}

func TestACopyIsWrittenUntilItIsUpToDate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		change := func() {
			require.NoError(t, s.WantCopy(t.Context(),
				delivery.Draft{User: user, Connection: "navidrome", Kind: delivery.WritePlaylist, Ref: "7"}, ""))
		}
		change()
		change()
		want := delivery.Copy{User: user, Connection: "navidrome", Kind: delivery.WritePlaylist, Ref: "7", Wanted: 2}
		require.Equal(t, want, copyOf(t, s, user))
		id := only(t, s, user).ID
		become(t, s, delivery.Running, id)
		seen := copyOf(t, s, user)
		seen.RemoteID = "remote"
		require.NoError(t, s.SaveRemote(t.Context(), seen))
		want.RemoteID = "remote"
		require.Equal(t, want, copyOf(t, s, user), "the id is stored at once")

		change() // during the write
		seen.Report = "{1}"
		ended, err := s.EndCopy(t.Context(), id, seen, true)
		require.NoError(t, err)
		require.False(t, ended, "it must go on")
		want.Wanted, want.Written, want.Report, want.WrittenAt = 3, 2, "{1}", time.Now().UTC()
		require.Equal(t, want, copyOf(t, s, user))
		require.Equal(t, []string{"navidrome running: 7"}, enqueued(t, s, user))

		seen = copyOf(t, s, user)
		ended, err = s.EndCopy(t.Context(), id, seen, true)
		require.NoError(t, err)
		require.True(t, ended)
		want.Written = 3
		require.Equal(t, want, copyOf(t, s, user))
		require.Equal(t, []string{"navidrome done: 7"}, enqueued(t, s, user),
			"in the same transaction, so that the next change finds it done")
		change()
		require.Equal(t, []string{"navidrome done: 7", "navidrome scheduled: 7"}, enqueued(t, s, user))
		require.EqualValues(t, 4, copyOf(t, s, user).Wanted)
	})
}

// A change may happen between the worker's last check and the end of its delivery, or before the queue stores that end.
func TestNoChangeIsLostAtTheEndOfACopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		change := func() {
			require.NoError(t, s.WantCopy(t.Context(),
				delivery.Draft{User: user, Connection: "navidrome", Kind: delivery.WritePlaylist, Ref: "7"}, ""))
		}
		change()
		var wrote []int64
		stop := startQueue(t, s, func(id int64) delivery.State {
			for ended := false; !ended; {
				c, err := s.Copy(t.Context(), user, "navidrome", delivery.WritePlaylist, "7")
				assert.NoError(t, err)
				if len(wrote) < 3 {
					change() // after the check
				}
				wrote = append(wrote, c.Wanted)
				ended, err = s.EndCopy(t.Context(), id, c, true)
				assert.NoError(t, err)
			}
			if len(wrote) == 4 {
				change() // after the end, before the queue stores it
			}
			return delivery.Done
		})
		time.Sleep(time.Minute)
		stop()
		require.Equal(t, []int64{1, 2, 3, 4, 5}, wrote)
		c := copyOf(t, s, user)
		require.Equal(t, c.Wanted, c.Written)
		require.Equal(t, []string{"navidrome done: 7", "navidrome done: 7"}, enqueued(t, s, user))
	})
}

func TestAnUnwantedCopyEndsItsDelivery(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	require.NoError(t, s.WantCopy(t.Context(), delivery.Draft{User: user, Connection: "navidrome",
		Kind: delivery.WritePlaylist, Ref: "7"}, ""))
	id := only(t, s, user).ID
	c := copyOf(t, s, user)
	become(t, s, delivery.Running, id)
	require.NoError(t, s.DropCopy(t.Context(), user, "navidrome", delivery.WritePlaylist, "7"))
	ended, err := s.EndCopy(t.Context(), id, c, true)
	require.NoError(t, err)
	require.True(t, ended)
	require.Equal(t, delivery.Done, only(t, s, user).State)
	_, err = s.Copy(t.Context(), user, "navidrome", delivery.WritePlaylist, "7")
	require.ErrorIs(t, err, library.ErrNotFound)
}

func TestMatchesAreKeptAndMissesForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		found := map[string]match.Result{
			"a": {Found: library.Track{SourceID: "1", Title: "Title", Artist: "Artist"}, How: match.ByScore,
				Score: 0.75},
			"b": {How: match.ByNothing},
		}
		require.NoError(t, s.SaveMatches(t.Context(), user, "navidrome", nil))
		require.NoError(t, s.SaveMatches(t.Context(), user, "navidrome", found))
		matches := func(user int64, conn library.ConnectionID, tracks ...string) map[string]match.Result {
			known, err := s.Matches(t.Context(), user, conn, tracks)
			require.NoError(t, err)
			return known
		}
		require.Equal(t, found, matches(user, "navidrome", "a", "b", "c"))
		require.Empty(t, matches(user, "navidrome"))
		require.Empty(t, matches(user, "other", "a", "b"))
		require.Empty(t, matches(user+1, "navidrome", "a", "b"))
		time.Sleep(24*time.Hour - time.Millisecond)
		require.Len(t, matches(user, "navidrome", "a", "b"), 2)
		time.Sleep(time.Millisecond)
		require.Equal(t, map[string]match.Result{"a": found["a"]}, matches(user, "navidrome", "a", "b"),
			"it may be there by now")
		found["b"] = match.Result{Found: library.Track{SourceID: "2"}, How: match.ByISRC}
		require.NoError(t, s.SaveMatches(t.Context(), user, "navidrome", found))
		require.Equal(t, found, matches(user, "navidrome", "a", "b"))

		many := map[string]match.Result{}
		var tracks []string
		for i := range 250 {
			tracks = append(tracks, fmt.Sprint("track ", i))
			many[tracks[i]] = match.Result{Found: library.Track{SourceID: fmt.Sprint(i)}, How: match.ByISRC, Score: 1}
		}
		require.NoError(t, s.SaveMatches(t.Context(), user, "navidrome", many))
		require.Equal(t, many, matches(user, "navidrome", tracks...))
	})
}

// A delivery that dies after the original changed goes on instead.
func TestAChangeRevivesAFailingCopy(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	want := func() {
		require.NoError(t, s.WantCopy(t.Context(), delivery.Draft{User: user, Connection: "navidrome",
			Kind: delivery.WritePlaylist, Ref: "7"}, ""))
	}
	want()
	id, seen := only(t, s, user).ID, copyOf(t, s, user)
	become(t, s, delivery.Running, id)
	want()
	ended, err := s.EndCopy(t.Context(), id, seen, false)
	require.NoError(t, err)
	require.False(t, ended)
	require.Equal(t, delivery.Running, only(t, s, user).State)
	ended, err = s.EndCopy(t.Context(), id, copyOf(t, s, user), false)
	require.NoError(t, err)
	require.True(t, ended)
	require.Equal(t, delivery.Dead, only(t, s, user).State)
	require.Zero(t, copyOf(t, s, user).Written)
	want()
	require.Equal(t, delivery.Scheduled, only(t, s, user).State, "a later change revives it")
}
