package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// An operator sees in the log that somebody tries doors, and which.
func TestRefusedAccessIsLogged(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		var log bytes.Buffer
		h.Log = slog.New(slog.NewJSONHandler(&log, nil))
		h.As(h.Other("Ben"))
		said := func(parts ...string) {
			t.Helper()
			require.Equal(t, 1, strings.Count(log.String(), "access refused"), log.String())
			for _, part := range append(parts, `"level":"WARN"`, `"address":"192.0.2.1"`) {
				require.Contains(t, log.String(), part)
			}
			log.Reset()
			time.Sleep(time.Minute)
		}
		for range 5 { // of one address one line a minute
			h.Call(http.MethodGet, "/admin/users?token=not-for-the-log", "", http.StatusForbidden)
		}
		require.NotContains(t, log.String(), "not-for-the-log")
		said(`"endpoint":"GET /api/v1/admin/users"`, `"status":403`, `"user_id":2`)
		h.Submit("/settings/people", http.StatusForbidden)
		said(`"endpoint":"POST /settings/people"`, `"user_id":2`)

		h.As(0)
		h.Knock(http.MethodPost, "/login", "Origin", "https://evil.example")
		said(`"endpoint":"POST /login"`, `"status":403`, `"user_id":0`)
		h.Call(http.MethodGet, "/connections", "", http.StatusUnauthorized)
		require.NotContains(t, log.String(), "access refused", "who has not signed in yet tries no door")
	})
}
