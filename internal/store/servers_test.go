package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/cluster"
	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
	"reprise/internal/store/servers"
)

func TestServersOfPostgresTakeTurns(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		_, err := servers.Open(t.Context(), db.Place{Dir: t.TempDir()}, nil)
		require.ErrorContains(t, err, "can only share a Postgres database")
		return
	}
	dir := t.TempDir()
	s, at := openIn(t, dir), in(t, dir)
	book, err := servers.Open(t.Context(), at, s.Key)
	require.NoError(t, err)
	defer book.Close()
	other, err := db.NewKey(db.NewSecret())
	require.NoError(t, err)
	_, err = servers.Open(t.Context(), at, other)
	require.ErrorIs(t, err, db.ErrWrongKey)

	one := cluster.Server{ID: "1", Name: "music", Address: "10.0.0.1:8421", Version: "1", Started: time.Now()}
	leader, err := book.Beat(t.Context(), one)
	require.NoError(t, err)
	require.True(t, leader.Released, "nobody has led yet")
	before, lease, err := book.Claim(t.Context(), one, 0)
	require.NoError(t, err)
	require.Zero(t, before.Lease)
	require.EqualValues(t, 1, lease)
	leader, err = book.Beat(t.Context(), cluster.Server{ID: "2", Name: "music-2", Started: time.Now()})
	require.NoError(t, err)
	require.Equal(t, cluster.Leader{ID: "1", Address: "10.0.0.1:8421", Lease: 1}, without(leader))
	all, err := s.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []any{"music", true, "music-2", false},
		[]any{all[0].Name, all[0].Leads, all[1].Name, all[1].Leads})

	_, lease, err = book.Claim(t.Context(), cluster.Server{ID: "2"}, 0)
	require.NoError(t, err)
	require.EqualValues(t, 2, lease)
	still, err := book.Confirm(t.Context(), 1, 0)
	require.NoError(t, err)
	require.False(t, still, "the first lease has ended")
	require.NoError(t, book.Resign(t.Context(), 1)) // which ends nobody else's
	still, err = book.Confirm(t.Context(), 2, 0)
	require.NoError(t, err)
	require.True(t, still)

	// The connection of a leader that says nothing is ended, and not before.
	var backend uint32
	require.NoError(t, s.Writer.QueryRow("SELECT pg_backend_pid()").Scan(&backend))
	_, err = book.Confirm(t.Context(), 2, backend)
	require.NoError(t, err)
	require.NoError(t, book.Depose(t.Context(), 2, time.Hour))
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, book.Depose(t.Context(), 2, -time.Hour))
	var now uint32
	for now == 0 || now == backend { // the pool makes another connection
		if err := s.Writer.QueryRow("SELECT pg_backend_pid()").Scan(&now); err != nil {
			now = 0
		}
	}
	require.NoError(t, book.Resign(t.Context(), 2))
	require.NoError(t, book.Leave(t.Context(), "1"))
	all, err = s.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.False(t, all[0].Leads)
}

// without returns a leader without what depends on the time.
func without(l cluster.Leader) cluster.Leader { l.Age = 0; return l }

// A second store waits for the lock, and gives it back if it may not lead.
func TestAStoreOnPostgresWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	dir := t.TempDir()
	s, at := openIn(t, dir), in(t, dir)
	elected := make(chan uint32, 1)
	opened := make(chan *Store, 1)
	go func() {
		var opt Options
		opt.Elected = func(_ context.Context, backend uint32) error {
			elected <- backend
			return nil
		}
		again, err := Open(t.Context(), at, s.Key, opt)
		require.NoError(t, err)
		opened <- again
	}()
	_, err := Open(t.Context(), at, s.Key, Options{})
	require.ErrorContains(t, err, "lock timeout", "who does not wait is refused")
	require.Empty(t, elected)
	require.NoError(t, s.Close())
	require.NotZero(t, <-elected)
	again := <-opened
	require.NoError(t, again.Close())

	refused := errors.New("not your turn")
	var opt Options
	opt.Elected = func(context.Context, uint32) error { return refused }
	_, err = Open(t.Context(), at, s.Key, opt)
	require.ErrorIs(t, err, refused)
	last, err := Open(t.Context(), at, s.Key, Options{})
	require.NoError(t, err)
	require.NoError(t, last.Close())
}
