package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
)

func editOne(t testing.TB, s *Store, user, id int64, v library.Change) library.Correction {
	t.Helper()
	c, err := s.EditListen(t.Context(), user, id, v)
	require.NoError(t, err)
	return c
}

func TestAnEditHoldsForWhatComesLater(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	wrong := listen(0)
	wrong.Title, wrong.ISRC = "Svefn-g-englar (wrong)", "GBAYE9900001"
	save(t, s, user, "spotify", wrong)
	before, _ := all(t, s, user, 10)
	title, album, later := "Svefn-g-englar", "", at(300)
	c := editOne(t, s, user, before[0].ID, library.Change{Title: &title, Album: &album, PlayedAt: &later})
	require.Equal(t, "Sigur Rós – Svefn-g-englar", c.Becomes)
	require.Equal(t, wrong.Title, c.Title)
	now, _ := all(t, s, user, 10)
	require.Equal(t, []any{title, "Sigur Rós", "", "", later}, []any{now[0].Title, now[0].Artist, now[0].Album,
		now[0].ISRC, now[0].PlayedAt})
	require.Equal(t, before[0].ID, now[0].ID)
	require.Equal(t, []string{title}, foundBy(t, s, library.ListenFilter{User: user, Artist: "sigur rós"}, 9))

	require.Zero(t, save(t, s, user, "spotify", wrong), "the same again")
	again := wrong
	again.SourceID, again.PlayedAt = "lastfm", at(0.1)
	require.Zero(t, save(t, s, user, "lastfm", again), "another service tells of what it was")
	now, _ = all(t, s, user, 10)
	require.Equal(t, title, now[0].Title)
	require.Empty(t, now[0].ISRC)
	require.Len(t, now[0].Sources, 2)

	other := "Another title"
	second := editOne(t, s, user, before[0].ID, library.Change{Title: &other})
	undo(t, s, user, c.ID)
	now, _ = all(t, s, user, 10)
	require.Equal(t, other, now[0].Title, "the second one still holds")
	undo(t, s, user, second.ID)
	now, _ = all(t, s, user, 10)
	before[0].Sources = now[0].Sources
	require.Equal(t, before, now)
	_, told, err := s.OneListen(t.Context(), user, now[0].ID)
	require.NoError(t, err)
	require.Equal(t, []time.Time{at(0), at(0.1)}, []time.Time{told[0].At, told[1].At})
	_, err = s.EditListen(t.Context(), user, now[0].ID, library.Change{Title: &wrong.Title})
	require.ErrorIs(t, err, library.ErrUnchanged)
	_, err = s.EditListen(t.Context(), user, 999, library.Change{})
	require.ErrorIs(t, err, library.ErrNotFound)
}

func TestAListenIsAddedByHand(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "lastfm")
	forward(t, s, user, "lastfm", 10, 0)
	save(t, s, user, "spotify", listen(0))
	gone := deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user}})
	c, id, err := s.AddListen(t.Context(), user, listen(0))
	require.NoError(t, err, "what was deleted may be added")
	known, _ := all(t, s, user, 10)
	require.Equal(t, id, known[0].ID)
	require.Equal(t, library.ByHand, known[0].Sources[0].Connection)
	require.Equal(t, []string{"lastfm scheduled: Svefn-g-englar"}, enqueued(t, s, user))
	undo(t, s, user, c.ID)
	require.Zero(t, count(t, s, user))
	require.Empty(t, enqueued(t, s, user))
	undo(t, s, user, gone.ID)
	_, _, err = s.AddListen(t.Context(), user, listen(0.1))
	require.ErrorIs(t, err, library.ErrUnchanged, "Spotify has told of it")
	require.Equal(t, 2, number(t, s, "SELECT count(*) FROM corrections"))

	c, _, err = s.AddListen(t.Context(), user, track("By hand", 60))
	require.NoError(t, err)
	require.Zero(t, save(t, s, user, "spotify", track("By hand", 60.1)))
	undo(t, s, user, c.ID)
	require.Equal(t, 2, count(t, s, user), "a service has told of it since")
	require.Zero(t, number(t, s, "SELECT count(*) FROM listen_sources WHERE listen_id NOT IN (SELECT id FROM listens)"))
}

func TestBothOfAPairAreKept(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", track("A", 0))
	save(t, s, user, "lastfm", track("A", 0.1))
	before := dump(t, s, user, intake.Kept)
	known, _ := all(t, s, user, 10)
	c, err := s.SplitListen(t.Context(), user, known[0].ID)
	require.NoError(t, err)
	require.Equal(t, 2, c.Listens)
	known, _ = all(t, s, user, 10)
	require.Len(t, known, 2)
	require.Equal(t, []time.Time{at(0.1), at(0)}, []time.Time{known[0].PlayedAt, known[1].PlayedAt})
	_, err = s.SplitListen(t.Context(), user, known[0].ID)
	require.ErrorIs(t, err, library.ErrUnchanged)
	undo(t, s, user, c.ID)
	require.Equal(t, before, dump(t, s, user, intake.Kept))

	c, err = s.SplitListen(t.Context(), user, known[1].ID)
	require.NoError(t, err)
	require.NoError(t, s.Exec(t.Context(), "DELETE FROM listens WHERE played_at = $1", db.Millis(at(0.1))))
	require.Equal(t, 1, save(t, s, user, "lastfm", track("A", 0.1)), "told of once more, it does not join")
	more := track("A", 0.2)
	more.SourceID = "another"
	require.Zero(t, save(t, s, user, "lastfm", more), "another play joins the one that it was kept apart from")
	require.Equal(t, 2, count(t, s, user))
	for _, l := range []string{"navidrome", "listenbrainz"} {
		require.Zero(t, save(t, s, user, library.ConnectionID(l), track("A", 0.1)))
	}
	require.NotZero(t, c.ID)
}
