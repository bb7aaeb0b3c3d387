package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
)

// suspicious returns all that is suspicious of a person as lines, read in pages.
func suspicious(t testing.TB, s *Store, user int64, limit int) (lines, ids []string) {
	t.Helper()
	for before := ""; ; {
		page, next, err := s.Suspicious(t.Context(), user, before, limit)
		require.NoError(t, err)
		for _, v := range page {
			lines = append(lines, fmt.Sprint(v.Count, " ", v.Listens[0].Title, " in ", v.To.Sub(v.From),
				" of ", v.Length))
			ids = append(ids, v.ID)
		}
		if before = next; before == "" {
			return lines, ids
		}
		require.Len(t, page, limit)
	}
}

// seconds returns a play of a track of three minutes so many seconds after a minute.
func seconds(minute, after float64, title string) library.Listen {
	l := listen(minute)
	l.SourceID, l.Title = fmt.Sprint(minute, after, title), title
	l.PlayedAt = l.PlayedAt.Add(time.Duration(after * float64(time.Second)))
	return l
}

func TestWhatLooksWrongIsListedUntilKept(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	plays := []library.Listen{seconds(0, 0, "Twice"), seconds(0, 41, "Twice"), seconds(20, 0, "Whole"),
		seconds(23, 0, "Whole")}
	for i := range 12 {
		plays = append(plays, seconds(-60*24*40, 3.5*float64(i), fmt.Sprint("Track ", i)))
	}
	save(t, s, user, "spotify", plays...)
	for limit := range 3 {
		lines, _ := suspicious(t, s, user, limit+1)
		require.Equal(t, []string{"2 Twice in 42s of 3m0s", "12 Track 0 in 39s of 0s"}, lines)
	}
	lines, ids := suspicious(t, s, user, 50)
	_, err := s.KeepSuspicious(t.Context(), bob, ids[0])
	require.ErrorIs(t, err, library.ErrNotFound)
	_, err = s.KeepSuspicious(t.Context(), user, "1-2-3")
	require.ErrorIs(t, err, library.ErrNotFound)
	_, _, err = s.Suspicious(t.Context(), user, "x", 1)
	require.ErrorIs(t, err, library.ErrBadCursor)

	kept := map[int]library.Correction{}
	for i, id := range ids {
		c, err := s.KeepSuspicious(t.Context(), user, id)
		require.NoError(t, err)
		again, err := s.KeepSuspicious(t.Context(), user, id)
		require.NoError(t, err)
		require.Equal(t, c, again, "a second click")
		kept[i] = c
	}
	require.Equal(t, []any{"Twice", 2, 12}, []any{kept[0].Title, kept[0].Listens, kept[1].Listens})
	left, _ := suspicious(t, s, user, 50)
	require.Empty(t, left)
	require.Zero(t, save(t, s, user, "spotify", plays...), "the next sync")
	left, _ = suspicious(t, s, user, 50)
	require.Empty(t, left)
	require.Equal(t, 16, count(t, s, user))

	save(t, s, user, "spotify", seconds(-60*24*40, 50, "One more"))
	left, _ = suspicious(t, s, user, 50)
	require.Equal(t, []string{"13 Track 0 in 51s of 0s"}, left, "nobody has looked at that")
	for _, c := range kept {
		undo(t, s, user, c.ID)
	}
	left, _ = suspicious(t, s, user, 50)
	require.Equal(t, append(lines[:1:1], "13 Track 0 in 51s of 0s"), left)
}

func TestWhatIsDecidedIsNotSuspicious(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "lastfm")
	save(t, s, user, "spotify", seconds(0, 0, "Told by both"))
	save(t, s, user, "lastfm", seconds(0, 41, "Told by both"))
	page, _, err := s.Listens(t.Context(), user, "", 9)
	require.NoError(t, err)
	require.Len(t, page, 1)
	_, err = s.SplitListen(t.Context(), user, page[0].ID)
	require.NoError(t, err)
	require.Equal(t, 2, count(t, s, user))
	lines, _ := suspicious(t, s, user, 50)
	require.Empty(t, lines, "both were kept on purpose")

	guess := seconds(30, 20, "Only counted")
	guess.Approximate = true
	save(t, s, user, "spotify", seconds(30, 0, "Only counted"), guess)
	for i := range 11 {
		l := seconds(-300, float64(i), fmt.Sprint("Track ", i))
		l.Approximate = i%2 == 0
		save(t, s, user, "spotify", l)
	}
	lines, _ = suspicious(t, s, user, 50)
	require.Empty(t, lines, "nobody knows when these were played")
	require.Equal(t, 15, count(t, s, user))
}

// Two imports of one file that differ by some seconds, and a track three times in one second.
func TestEachRepeatIsSuspiciousByItself(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	var plays []library.Listen
	for i := range 120 {
		title := fmt.Sprint("Track ", i)
		plays = append(plays, seconds(float64(-5*i), 0, title), seconds(float64(-5*i), 7, title))
	}
	for i := range 3 {
		l := seconds(60, 0, "At once")
		l.SourceID = fmt.Sprint("at once ", i)
		plays = append(plays, l)
	}
	save(t, s, user, "spotify", plays...)
	lines, ids := suspicious(t, s, user, 50)
	require.Len(t, lines, 121)
	require.Equal(t, "2 At once in 1s of 3m0s", lines[0])
	for _, id := range ids[1:100] {
		_, err := s.KeepSuspicious(t.Context(), user, id)
		require.NoError(t, err)
	}
	for left := 2; left > 0; left-- {
		page, _, err := s.Suspicious(t.Context(), user, "", 1)
		require.NoError(t, err)
		require.NotEqual(t, page[0].Listens[0].ID, page[0].Listens[1].ID)
		deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user},
			IDs: []int64{page[0].Listens[1].ID}})
	}
	lines, _ = suspicious(t, s, user, 7)
	require.Len(t, lines, 21)
}
