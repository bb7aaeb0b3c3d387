package server_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server"
	"reprise/internal/server/servertest"
)

// What needs no leader are pages and calls that exist, and have nothing to do with what only the leader knows.
func TestWhatNeedsNoLeaderExists(t *testing.T) {
	t.Parallel()
	routes, err := os.ReadFile("testdata/routes.txt")
	require.NoError(t, err)
	leads := []string{"/settings/server", "/settings/notifications", "/settings/account/remove", "/health", "/connect/",
		"/admin/settings", "/admin/backups", "/admin/breakers", "/admin/keys", "/admin/servers", "/digest",
		"/channels", "/asks", "/ask/"}
	asking := []string{"/connections", "/deliveries", "/playlists"} // a service, unless they are only shown
	for method, paths := range server.Leaderless {
		leads := leads
		if method != http.MethodGet {
			leads = slices.Concat(leads, asking)
		}
		for path := range paths {
			require.Contains(t, string(routes), method+" "+path+"\n")
			for _, of := range leads {
				require.False(t, strings.HasPrefix(strings.TrimPrefix(path, "/api/v1"), of), "%s is the leader's", path)
			}
		}
	}
}

// Promise: What people change that asks no service, every server does by itself; what may be repeated with a key, the
// leader does once.
func TestChangesNeedNoLeader(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	for _, c := range []struct {
		method, target, key string
		want                bool
	}{
		{"POST", "/login", "", true}, {"POST", "/api/v1/session", "", true}, {"DELETE", "/api/v1/session", "", true},
		{"HEAD", "/listens", "", true}, {"GET", "/listens", "again", true}, {"PATCH", "/api/v1/listens/7", "", true},
		{"POST", "/api/v1/tokens", "", true}, {"POST", "/api/v1/tokens", "again", false},
		{"POST", "/listens", "", false}, {"DELETE", "/login", "", false}, {"PUT", "/api/v1/session", "", false},
		{"POST", "/api/v1/connections/lastfm/sync", "", false}, {"DELETE", "/api/v1/account", "", false},
		{"PATCH", "/api/v1/admin/users/1", "", false}, {"POST", "/nowhere", "", false}, {"BREW", "/login", "", false},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		r.Header.Set("Idempotency-Key", c.key)
		require.Equal(t, c.want, h.Server.NeedsNoLeader(r), "%s %s", c.method, c.target)
	}
}
