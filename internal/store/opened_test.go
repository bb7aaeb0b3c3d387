package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// A connection is kept in memory between deliveries. What a person changes holds from then on all the same.
func TestAChangedConnectionIsReadAgain(t *testing.T) {
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
			return s.SaveCredentials(ctx, saved)
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
		statements := s.Traffic().Statements()
		_, err = s.Connection(ctx, user, "lastfm")
		require.NoError(t, err)
		require.Equal(t, statements, s.Traffic().Statements(), "it is in memory")
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
	renewed.Credentials["key"] = "of the caller"
	kept, err := s.Connection(ctx, user, "lastfm")
	require.NoError(t, err)
	require.Equal(t, "3", kept.Credentials["key"])
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

// A connection that was read while it changed is not kept as it was before.
func TestAConnectionIsNeverKeptOld(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connectTo(t, s, user, "lastfm", "ada")
	_, version, ok := s.opened.get(user, "lastfm")
	require.False(t, ok)
	c, err := s.Connection(t.Context(), user, "lastfm")
	require.NoError(t, err)
	require.NoError(t, s.SetPaused(t.Context(), user, "lastfm", true))
	s.opened.keep(c, version) // by a slow reader
	c, err = s.Connection(t.Context(), user, "lastfm")
	require.NoError(t, err)
	require.True(t, c.Paused)
}

// Deliveries that begin at the same time are read together, and each gets its own listens.
func TestDeliveriesReadAtOnceGetTheirOwn(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	forward(t, s, user, "lastfm", 2, 0)
	const n = 3 * readTogether
	var page []library.Listen
	for i := range 2 * n {
		page = append(page, track(fmt.Sprint(i), float64(10+10*i)))
	}
	save(t, s, user, "spotify", page...)
	save(t, s, user, "listenbrainz", page[0])
	all := deliveries(t, s, user)
	require.Len(t, all, n)
	var readers sync.WaitGroup
	for i := range 2 * n { // each is read twice
		i %= n
		readers.Go(func() {
			plays, err := s.ListensOf(t.Context(), all[i].ID)
			assert.NoError(t, err)
			assert.Equal(t, []string{fmt.Sprint(2 * i), fmt.Sprint(2*i + 1)}, titlesOf(plays))
			if i == 0 && assert.NotEmpty(t, plays) {
				assert.Equal(t, []library.ConnectionID{"listenbrainz", "spotify"}, connectionsOf(plays[0]))
			}
		})
	}
	readers.Wait()
	require.Empty(t, s.readings.waiting)
	plays, err := s.ListensOf(t.Context(), all[0].ID+1_000_000)
	require.NoError(t, err)
	require.Empty(t, plays, "there is no such delivery")
}

// A delivery whose time is over while it waits to be read fails alone.
func TestADeliveryOutOfTimeFailsAlone(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	forward(t, s, user, "lastfm", 1, 0)
	save(t, s, user, "spotify", track("A", 10), track("B", 20))
	all := deliveries(t, s, user)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.ListensOf(late, all[0].ID)
	require.ErrorIs(t, err, context.Canceled)
	s.readings.turn.Lock() // as during the query of others
	var readers sync.WaitGroup
	for range 8 { // the first one reads for all of them
		readers.Go(func() { _, _ = s.ListensOf(late, all[0].ID) })
		readers.Go(func() {
			plays, err := s.ListensOf(t.Context(), all[1].ID)
			assert.NoError(t, err)
			assert.Equal(t, []string{"B"}, titlesOf(plays))
		})
	}
	require.Eventually(t, func() bool {
		s.readings.mu.Lock()
		defer s.readings.mu.Unlock()
		return len(s.readings.waiting) == 16
	}, 10*time.Second, time.Millisecond)
	s.readings.turn.Unlock()
	readers.Wait()
}
