package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/store/corrections"
	"reprise/internal/store/listens"
)

// TestInventedListensAreFoundAndComeBack: a song was forwarded five times, and played once more at the server, between
// two readings that know its last play only; five of the six were taken for plays that were missed.
func TestInventedListensAreFoundAndComeBack(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "navidrome")
	play := func(minute float64, source string, plays int) library.Listen {
		l := listen(minute)
		l.Title, l.Track.SourceID, l.SourceID, l.PlayCount = "one", "song", source, plays
		return l
	}
	told := func(minute float64, plays int) library.Listen {
		return play(minute, fmt.Sprintf("song@%d", at(minute).Unix()), plays)
	}
	save(t, s, user, "navidrome", told(0, 1))
	var heard []library.Listen
	for i := range 5 {
		heard = append(heard, play(float64(10*i+10), fmt.Sprint("s", i), 0))
	}
	save(t, s, user, "spotify", heard...)
	page := []library.Listen{told(50, 7)}
	for i := range 5 {
		guess := play(float64(8*i+8), fmt.Sprintf("song#%d", i+2), 7)
		guess.Approximate = true
		page = append(page, guess)
	}
	require.Equal(t, 5, save(t, s, user, "navidrome", page...))
	none, err := s.Invented(t.Context(), user)
	require.NoError(t, err)
	require.Empty(t, none, "nothing was sent")

	_, err = s.Writer.ExecContext(t.Context(), `INSERT INTO forwards (listen_id, connection, user_id, delivery_id)
		SELECT l.id, 'navidrome', l.user_id, 0 FROM listens l JOIN listen_sources s ON s.listen_id = l.id
		WHERE `+listens.IdOf("s")+" LIKE 's_'")
	require.NoError(t, err)
	ids, err := s.Invented(t.Context(), user)
	require.NoError(t, err)
	require.Len(t, ids, 4, "the last one that was sent was told of, and one was played there")
	made, err := s.DeleteListens(t.Context(),
		library.Selection{ListenFilter: library.ListenFilter{User: user}, IDs: ids})
	require.NoError(t, err)
	require.Equal(t, 4, made.Listens)
	left, err := s.Invented(t.Context(), user)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, 7, number(t, s, "SELECT count(*) FROM listens"), "all that were really played")
	require.Zero(t, save(t, s, user, "navidrome", page...), "they stay away when they are told again")
	_, err = s.UndoCorrection(t.Context(), user, made.ID)
	require.NoError(t, err)
	again, err := s.Invented(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, ids, again)
}

func TestWhichGuessesWereSent(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	minutes := func(all ...float64) (times []time.Time) {
		for _, m := range all {
			times = append(times, start.Add(time.Duration(m*float64(time.Minute))))
		}
		return times
	}
	told := map[string][]time.Time{"a": minutes(60, 0, 120), "b": minutes(0, 60)}
	for name, c := range map[string]struct {
		guesses, sent []time.Time
		song          string
		want          int
	}{
		"as many as were sent":          {minutes(20, 40), minutes(10, 50), "a", 2},
		"more than were sent":           {minutes(15, 30, 45), minutes(10), "a", 1},
		"fewer than were sent":          {minutes(30), minutes(10, 20, 40), "a", 1},
		"sent in another gap":           {minutes(30), minutes(70, 80), "a", 0},
		"one in each gap":               {minutes(30, 90), minutes(10, 80), "a", 2},
		"what was sent was told":        {minutes(30), minutes(0.01, 60.01), "a", 0},
		"before the first that is told": {minutes(-10), minutes(-20), "a", 0},
		"after the last that is told":   {minutes(90), minutes(90), "b", 0},
		"another song":                  {minutes(30), nil, "b", 0},
	} {
		var guesses []corrections.Guess
		for i, at := range c.guesses {
			guesses = append(guesses, corrections.Guess{ID: int64(i + 1), At: at, Song: c.song, As: 7})
		}
		require.Len(t, corrections.Invented(guesses, told, map[int64][]time.Time{7: c.sent}), c.want, name)
	}
}
