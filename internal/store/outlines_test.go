package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
)

// A tick goes through everybody's connections: one that nobody can open must not keep the others from being read.
func TestOutlinesOpenNoCredentials(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	c := connect(t, s, alice, "spotify")
	connect(t, s, bob, "listenbrainz")
	require.NoError(t, s.SetPaused(t.Context(), bob, "listenbrainz", true))
	require.NoError(t, s.Exec(t.Context(), `UPDATE connections SET credentials = 'spoilt', expires_at = 0
		WHERE user_id = $1`,
		bob))
	all, err := s.Outlines(t.Context())
	require.NoError(t, err)
	require.Equal(t, []library.Outline{
		{User: alice, ID: "spotify", App: c.App, ExpiresAt: c.ExpiresAt},
		{User: bob, ID: "listenbrainz", App: c.App, Paused: true, ExpiresAt: time.Time{}},
	}, all)
}

func TestLostConnectionsHaveNoCredentials(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	connect(t, s, alice, "spotify")
	lost := connection(alice, "listenbrainz")
	lost.Credentials = library.Credentials{}
	lost, err := s.SaveConnection(t.Context(), lost)
	require.NoError(t, err)
	all, err := s.LostConnections(t.Context())
	require.NoError(t, err)
	require.Equal(t, []library.Connection{lost}, all)
}

// BenchmarkOutlines reads what a tick needs of 10,000 connections; BenchmarkConnections everything of them.
func BenchmarkOutlines(b *testing.B) {
	s := crowded(b)
	for b.Loop() {
		all, err := s.Outlines(b.Context())
		require.NoError(b, err)
		require.Len(b, all, 10_000)
	}
}

func BenchmarkConnections(b *testing.B) {
	s := crowded(b)
	for b.Loop() {
		all, err := s.Connections(b.Context())
		require.NoError(b, err)
		require.Len(b, all, 10_000)
	}
}

// crowded returns a store with 10,000 connections of 5,000 people.
func crowded(b *testing.B) *Store {
	s, _ := setup(b)
	for n := range 5_000 {
		user := addUser(b, s, fmt.Sprint("Person ", n), accounts.Member)
		connect(b, s, user, "spotify")
		connect(b, s, user, "listenbrainz")
	}
	return s
}
