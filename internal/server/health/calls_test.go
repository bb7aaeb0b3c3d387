package health_test

import (
	"database/sql"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/queue"
	"reprise/internal/server/servertest"
)

func TestProgramsListServers(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		answer := h.Call(http.MethodGet, "/admin/servers", "", http.StatusOK)
		require.Empty(t, answer["servers"], "it is alone")
		require.Empty(t, answer["jobs"])
		require.NotContains(t, h.Page("/health"), "Under way")

		require.NoError(t, h.DB.Write(t.Context(), func(tx *sql.Tx) error {
			return queue.Insert(t.Context(), h.DB.Queue(), tx, delivery.Send{User: 1, Connection: "lastfm"})
		}))
		jobs := h.Call(http.MethodGet, "/admin/servers", "", http.StatusOK)["jobs"].([]any)
		require.Len(t, jobs, 1)
		require.Subset(t, jobs[0], map[string]any{"kind": "send", "waiting": 1.0, "running": 0.0})
		require.Contains(t, h.Page("/health"), "Under way")
	})
}
