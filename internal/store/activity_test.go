package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/people"
	"reprise/internal/words"
)

func TestActivityIsBoundedAndPaged(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	addUser(t, s, "Bob", accounts.Member)
	ctx := activity.WithActor(t.Context(), activity.Actor{ID: 7, Name: "Alice"})
	for i := range 5 {
		require.NoError(t, s.Note(ctx, activity.Entry{User: 1, Action: activity.Paused, Connection: "spotify",
			Subject: fmt.Sprint(i), Detail: words.Plain(strings.Repeat("å", 600))}))
	}
	require.NoError(t, s.Note(t.Context(), activity.Entry{Action: activity.UplinkLost}))
	require.NoError(t, s.Note(ctx, activity.Entry{User: 2, Action: activity.Paused, Connection: "spotify"}))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Note(ended, activity.Entry{User: 1, Action: activity.Synced, Connection: "lastfm"}),
		"the request may have ended")

	page, next, err := s.Activity(t.Context(), activity.Filter{User: 1}, "", 4)
	require.NoError(t, err)
	require.Len(t, page, 4)
	require.Equal(t, activity.Synced, page[0].Action)
	require.Equal(t, "4", page[1].Subject)
	require.Equal(t, []any{int64(7), "Alice"}, []any{page[1].ActorID, page[1].Actor})
	require.Equal(t, 501, len([]rune(page[1].Detail.String())))
	rest, next, err := s.Activity(t.Context(), activity.Filter{User: 1}, next, 4)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, rest, 2)
	all, _, err := s.Activity(t.Context(), activity.Filter{User: 1, Installation: true}, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 7, "includes the entries about the installation")
	all, _, err = s.Activity(t.Context(), activity.Filter{User: 1, Installation: true}, "99999999999", 10)
	require.NoError(t, err)
	require.Len(t, all, 7, "a cursor beyond the end")
	one, _, err := s.Activity(t.Context(), activity.Filter{User: 1, Installation: true, Connection: "lastfm"}, "", 10)
	require.NoError(t, err)
	require.Len(t, one, 1)
	for _, bad := range []string{"x", "-1"} {
		_, _, err = s.Activity(t.Context(), activity.Filter{User: 1}, bad, 4)
		require.ErrorIs(t, err, library.ErrBadCursor)
	}

	// Insert far more entries than are kept.
	_, err = s.Writer.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n
		WHERE i < 20109)
		INSERT INTO activity (id, at, user_id, actor_id, actor, action) SELECT i, $1, 1, 0, '', 'synced' FROM n`,
		db.Millis(time.Now()))
	require.NoError(t, err)
	require.NoError(t, s.Tidy(t.Context()))
	var n, first int
	require.NoError(t, s.Reader.QueryRowContext(t.Context(),
		"SELECT count(*), min(id) FROM activity WHERE user_id = 1").Scan(&n, &first))
	require.Equal(t, []int{people.MostActivity, 110}, []int{n, first}, "the newest stay")
}

// A member who does a thing over and over pushes nothing of others out of the log.
func TestNobodyCrowdsOutTheLogOfOthers(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	require.NoError(t, s.Note(t.Context(), activity.Entry{Action: activity.UserAdded, Subject: "Mallory"}))
	require.NoError(t, s.Note(t.Context(), activity.Entry{User: 1, Action: activity.TokenMade, Subject: "x"}))
	_, err := s.Writer.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n
		WHERE i < 40099)
		INSERT INTO activity (id, at, user_id, actor_id, actor, action) SELECT i, $1, $2, $2, 'Bob', 'paused' FROM n`,
		db.Millis(time.Now()), bob)
	require.NoError(t, err)
	require.NoError(t, s.Tidy(t.Context()))
	all, _, err := s.Activity(t.Context(), activity.Filter{User: 1, Installation: true}, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 2)
	var left int
	require.NoError(t, s.Reader.QueryRow("SELECT count(*) FROM activity WHERE user_id = $1", bob).Scan(&left))
	require.Equal(t, people.MostActivity, left)
}

func TestActivityIsKeptFor90Days(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openIn(t, dir)
		addUser(t, s, "Alice", accounts.Admin)
		require.NoError(t, s.Note(t.Context(), activity.Entry{User: 1, Action: activity.Synced}))
		time.Sleep(89 * 24 * time.Hour)
		require.NoError(t, s.Tidy(t.Context()))
		page, _, err := s.Activity(t.Context(), activity.Filter{User: 1}, "", 10)
		require.NoError(t, err)
		require.Len(t, page, 1)
		time.Sleep(24 * time.Hour)
		require.NoError(t, s.Tidy(t.Context()))
		page, _, err = s.Activity(t.Context(), activity.Filter{User: 1}, "", 10)
		require.NoError(t, err)
		require.Empty(t, page)
	})
}

func TestActivityOfOneProviderOrConnection(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for _, id := range []library.ConnectionID{"lastfm", "lastfm-2", "listenbrainz", "lastfm-2"} {
		require.NoError(t, s.Note(t.Context(), activity.Entry{User: 1, Connection: id, Action: activity.Paused}))
	}
	about := func(f activity.Filter) int {
		f.User = 1
		page, _, err := s.Activity(t.Context(), f, "", 10)
		require.NoError(t, err)
		return len(page)
	}
	require.Equal(t, 4, about(activity.Filter{}))
	require.Equal(t, 3, about(activity.Filter{Provider: "lastfm"}), "all connections to it")
	require.Equal(t, 2, about(activity.Filter{Connection: "lastfm-2"}))
	require.Equal(t, 1, about(activity.Filter{Connection: "lastfm"}))
}

func TestDeliveriesOfAProviderOrConnection(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	forward(t, s, user, "lastfm", 10, 0)
	forward(t, s, user, "lastfm-2", 10, 0)
	save(t, s, user, "spotify", track("A", 10))
	for want, f := range map[int]delivery.Filter{2: {Provider: "lastfm"}, 1: {Connection: "lastfm-2"},
		0: {Provider: "spotify"}} {
		f.User = user
		page, _, err := s.Deliveries(t.Context(), f, "", 10)
		require.NoError(t, err)
		require.Len(t, page, want)
	}
}

func TestFloodIsAFewEntriesOfTheLog(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	fails := func(address string) {
		require.NoError(t, s.NoteOften(t.Context(), activity.Entry{User: 1, Action: activity.SignInFailed,
			Subject: address}, time.Hour))
	}
	var all sync.WaitGroup
	for range 25 {
		all.Go(func() { fails("203.0.113.7") })
	}
	all.Wait()
	for i := range 40 {
		fails(fmt.Sprintf("10.0.%d.1", i))
	}
	fails("203.0.113.7")
	require.NoError(t, s.NoteOften(t.Context(), activity.Entry{User: 1, Action: activity.SignedIn, Subject: "curl"},
		time.Hour), "another action counts for itself")
	page, _, err := s.Activity(t.Context(), activity.Filter{User: 1}, "", 100)
	require.NoError(t, err)
	times := map[string]int{}
	for _, e := range page {
		times[e.Subject] = e.Times
	}
	require.Equal(t, map[string]int{"203.0.113.7": 26, "10.0.0.1": 1, "10.0.1.1": 1, "10.0.2.1": 1, "10.0.3.1": 1,
		"other addresses": 36, "curl": 1}, times)
	require.Len(t, page, 7)

	require.NoError(t, s.Exec(t.Context(), "UPDATE activity SET at = at - 3600001"))
	fails("203.0.113.7")
	page, _, err = s.Activity(t.Context(), activity.Filter{User: 1}, "", 1)
	require.NoError(t, err)
	require.Equal(t, 1, page[0].Times, "after an hour there is a new entry")
}
