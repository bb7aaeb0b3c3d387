package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/activity"
	"reprise/internal/library"
)

func TestTheLogIsBoundedAndTurnsPages(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	ctx := activity.WithActor(t.Context(), activity.Actor{ID: 7, Name: "Alice"})
	for i := range 5 {
		require.NoError(t, s.Note(ctx, activity.Entry{User: 1, Action: activity.Paused, Connection: "spotify", Subject: fmt.Sprint(i), Detail: strings.Repeat("å", 600)}))
	}
	require.NoError(t, s.Note(t.Context(), activity.Entry{Action: activity.UplinkLost}))
	require.NoError(t, s.Note(ctx, activity.Entry{User: 2, Action: activity.Paused, Connection: "spotify"}))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Note(ended, activity.Entry{User: 1, Action: activity.Synced, Connection: "lastfm"}), "the request may have ended")

	page, next, err := s.Activity(t.Context(), 1, false, "", "", 4)
	require.NoError(t, err)
	require.Len(t, page, 4)
	require.Equal(t, activity.Synced, page[0].Action)
	require.Equal(t, "4", page[1].Subject)
	require.Equal(t, []any{int64(7), "Alice"}, []any{page[1].ActorID, page[1].Actor})
	require.Equal(t, 501, len([]rune(page[1].Detail)))
	rest, next, err := s.Activity(t.Context(), 1, false, "", next, 4)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, rest, 2)
	all, _, err := s.Activity(t.Context(), 1, true, "", "", 10)
	require.NoError(t, err)
	require.Len(t, all, 7, "with what is about the installation")
	all, _, err = s.Activity(t.Context(), 1, true, "", "99999999999", 10)
	require.NoError(t, err)
	require.Len(t, all, 7, "a cursor beyond the end")
	one, _, err := s.Activity(t.Context(), 1, true, "lastfm", "", 10)
	require.NoError(t, err)
	require.Len(t, one, 1)
	for _, bad := range []string{"x", "-1"} {
		_, _, err = s.Activity(t.Context(), 1, false, "", bad, 4)
		require.ErrorIs(t, err, library.ErrBadCursor)
	}

	// Far more than is kept.
	_, err = s.writer.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 20109)
		INSERT INTO activity (id, at, user_id, actor_id, actor, action) SELECT i, $1, 1, 0, '', 'synced' FROM n`, millis(time.Now()))
	require.NoError(t, err)
	require.NoError(t, s.Tidy(t.Context()))
	var n, first int
	require.NoError(t, s.reader.QueryRowContext(t.Context(), "SELECT count(*), min(id) FROM activity").Scan(&n, &first))
	require.Equal(t, []int{mostActivity, 110}, []int{n, first}, "the newest stay")
}

func TestTheLogForgetsAfter90Days(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openIn(t, dir)
		require.NoError(t, s.Note(t.Context(), activity.Entry{User: 1, Action: activity.Synced}))
		time.Sleep(89 * 24 * time.Hour)
		require.NoError(t, s.Tidy(t.Context()))
		page, _, err := s.Activity(t.Context(), 1, false, "", "", 10)
		require.NoError(t, err)
		require.Len(t, page, 1)
		time.Sleep(24 * time.Hour)
		require.NoError(t, s.Tidy(t.Context()))
		page, _, err = s.Activity(t.Context(), 1, false, "", "", 10)
		require.NoError(t, err)
		require.Empty(t, page)
	})
}
