package library

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id, provider string
		n            int
		ok           bool
	}{
		{"navidrome", "navidrome", 1, true},
		{"navidrome-2", "navidrome", 2, true},
		{"s3-99", "s3", 99, true},
		{"s3-100", "s3", 100, false},
		{"navidrome-1", "navidrome-1", 1, true}, // a provider of that name, if there were one
		{"navidrome-02", "navidrome", 2, false},
		{"navidrome-+2", "navidrome", 2, false},
		{"-2", "", 2, false},
		{"", "", 1, false},
	} {
		id, ok := ParseConnectionID(tt.id)
		require.Equal(t, tt.ok, ok, tt.id)
		require.Equal(t, tt.provider, id.Provider(), tt.id)
		require.Equal(t, tt.n, id.Number(), tt.id)
	}
}

func TestNextConnectionID(t *testing.T) {
	t.Parallel()
	taken := map[ConnectionID]bool{}
	for _, want := range []ConnectionID{"lastfm", "lastfm-2", "lastfm-3"} {
		id, ok := NextConnectionID("lastfm", func(id ConnectionID) bool { return taken[id] })
		require.True(t, ok)
		require.Equal(t, want, id)
		taken[id] = true
	}
	delete(taken, "lastfm-2")
	id, _ := NextConnectionID("lastfm", func(id ConnectionID) bool { return taken[id] })
	require.EqualValues(t, "lastfm-2", id, "the lowest free number")
	_, ok := NextConnectionID("lastfm", func(ConnectionID) bool { return true })
	require.False(t, ok)
}
