package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/copies"
)

func TestQuestionsAreKeptPerSong(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	at := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	q := delivery.Question{User: user, Connection: "navidrome", Song: "a",
		Track: library.Track{Title: "Angel", Artist: "Massive Attack", Duration: 379 * time.Second},
		Offered: []library.Track{{SourceID: "1", Title: "Angel", Artist: "Massive Attack", Album: "Mezzanine",
			Duration: 290 * time.Second}}, Refused: []string{"9"}, AskedAt: at}
	id, err := s.Ask(t.Context(), q)
	require.NoError(t, err)
	q.ID = id
	got, err := s.Question(t.Context(), user, "navidrome", id)
	require.NoError(t, err)
	require.Equal(t, q, got)
	for conn, owner := range map[library.ConnectionID]int64{"navidrome": user + 1, "navidrome-2": user} {
		_, err = s.Question(t.Context(), owner, conn, id)
		require.ErrorIs(t, err, library.ErrNotFound)
	}

	q.Answer, q.Chosen, q.AnsweredAt = delivery.Chose, "1", at.Add(time.Hour)
	require.NoError(t, s.Answer(t.Context(), q))
	known, err := s.Questions(t.Context(), user, "navidrome", []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, map[string]delivery.Question{"a": q}, known)
	late := delivery.Question{User: user, Connection: "navidrome", Song: "a", AskedAt: at}
	none, err := s.Ask(t.Context(), late)
	require.NoError(t, err)
	require.Zero(t, none, "it was answered meanwhile")
	late.AnsweredAt = q.AnsweredAt
	again, err := s.Ask(t.Context(), late)
	require.NoError(t, err)
	require.Equal(t, id, again, "in its place")
	got, err = s.Question(t.Context(), user, "navidrome", id)
	require.NoError(t, err)
	require.Equal(t, delivery.Unanswered, got.Answer)

	for i := range copies.MostQuestions {
		_, err := s.Ask(t.Context(), delivery.Question{User: user, Connection: "navidrome", Song: fmt.Sprint(i),
			AskedAt: at})
		require.NoError(t, err)
	}
	all, err := s.AllQuestions(t.Context(), user, "navidrome")
	require.NoError(t, err)
	require.Len(t, all, copies.MostQuestions, "no more are kept")
	require.NoError(t, s.DropQuestion(t.Context(), user, "navidrome", id))
	_, err = s.Question(t.Context(), user, "navidrome", id)
	require.ErrorIs(t, err, library.ErrNotFound)
}
