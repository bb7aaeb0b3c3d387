package server

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What needs no leader are pages and calls that exist, and change nothing.
func TestWhatNeedsNoLeaderExists(t *testing.T) {
	t.Parallel()
	routes, err := os.ReadFile("testdata/routes.txt")
	require.NoError(t, err)
	for path := range leaderless {
		require.Contains(t, string(routes), "GET "+path+"\n")
		for _, of := range []string{"/settings/server", "/health", "/connect/", "/admin/"} {
			require.False(t, strings.HasPrefix(strings.TrimPrefix(path, "/api/v1"), of), "%s is the leader's", path)
		}
	}
}
