package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// What a person changes about a connection holds at once.
func TestAChangeOfAConnectionHoldsAtOnce(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	ctx := t.Context()
	saved, err := s.SaveConnection(ctx, library.Connection{User: user, ID: "lastfm", AccountID: "ada", Account: "Ada",
		Credentials: library.Credentials{"key": "1"}, CreatedAt: time.Now()})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func() error
		shows  func(library.Connection) bool
	}{
		"renewed": {func() error {
			saved.Credentials = library.Credentials{"key": "2"}
			return renewed(ctx, s, saved)
		}, func(c library.Connection) bool { return c.Credentials["key"] == "2" }},
		"named": {func() error { return s.RenameConnection(ctx, user, "lastfm", "mine") },
			func(c library.Connection) bool { return c.Name == "mine" }},
		"paused": {func() error { return s.SetPaused(ctx, user, "lastfm", true) },
			func(c library.Connection) bool { return c.Paused }},
		"app": {func() error { return s.SetApp(ctx, user, "lastfm", "own") },
			func(c library.Connection) bool { return c.App == "own" }},
		"account": {func() error { return s.SetAccountID(ctx, user, "lastfm", "ADA") },
			func(c library.Connection) bool { return c.AccountID == "ADA" }},
		"aged": {func() error { return s.Age(ctx, 24*time.Hour) },
			func(c library.Connection) bool { return time.Since(c.CreatedAt) > 23*time.Hour }},
	} {
		before, err := s.Connection(ctx, user, "lastfm")
		require.NoError(t, err)
		require.False(t, c.shows(before), name)
		require.NoError(t, c.change())
		after, err := s.Connection(ctx, user, "lastfm")
		require.NoError(t, err)
		require.True(t, c.shows(after), name)
	}
	again, err := s.SaveConnection(ctx, library.Connection{User: user, ID: "lastfm", AccountID: "ada",
		Credentials: library.Credentials{"key": "3"}})
	require.NoError(t, err)
	renewed, err := s.Connection(ctx, user, "lastfm")
	require.NoError(t, err)
	require.Equal(t, again.Generation, renewed.Generation)
	require.NoError(t, s.DeleteConnection(ctx, user, "lastfm", false))
	_, err = s.Connection(ctx, user, "lastfm")
	require.ErrorIs(t, err, library.ErrNotFound)
}

// The connections of somebody who leaves are paused at once, and then removed.
func TestWhoLeavesLeavesNoConnection(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	ctx := t.Context()
	user := addUser(t, s, "Bob", "member")
	connectTo(t, s, user, "lastfm", "bob")
	c, err := s.Connection(ctx, user, "lastfm")
	require.NoError(t, err)
	require.False(t, c.Paused)
	_, err = s.BeginRemoval(ctx, user)
	require.NoError(t, err)
	c, err = s.Connection(ctx, user, "lastfm")
	require.NoError(t, err)
	require.True(t, c.Paused)
	for range 10 {
		_, err = s.RemoveSome(ctx, user)
		require.NoError(t, err)
	}
	_, err = s.Connection(ctx, user, "lastfm")
	require.ErrorIs(t, err, library.ErrNotFound)
}

// Each delivery has its own listens, the oldest first, with all their sources.
func TestADeliveryHasItsOwnListens(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	forward(t, s, user, "lastfm", 2, 0)
	const n = 5
	var page []library.Listen
	for i := range 2 * n {
		page = append(page, track(fmt.Sprint(i), float64(10+10*i)))
	}
	save(t, s, user, "spotify", page...)
	save(t, s, user, "listenbrainz", page[0])
	all := deliveries(t, s, user)
	require.Len(t, all, n)
	for i := range n {
		plays, err := s.ListensOf(t.Context(), all[i].ID)
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprint(2 * i), fmt.Sprint(2*i + 1)}, titlesOf(plays))
		if i == 0 {
			require.Equal(t, []library.ConnectionID{"listenbrainz", "spotify"}, connectionsOf(plays[0]))
		}
	}
	plays, err := s.ListensOf(t.Context(), all[0].ID+1_000_000)
	require.NoError(t, err)
	require.Empty(t, plays, "there is no such delivery")
}
