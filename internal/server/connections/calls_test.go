package connections_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsOperateAConnection(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		named := h.Call(http.MethodPatch, "/connections/navidrome", `{"name":"Home"}`, http.StatusOK)
		require.Equal(t, "Home", named["display_name"])
		require.Equal(t, "paused", h.Call(http.MethodPost, "/connections/navidrome/pause", "",
			http.StatusAccepted)["state"])
		h.Call(http.MethodPost, "/connections/navidrome/sync", "", http.StatusConflict)
		for _, action := range []string{"resume", "retry", "sync"} {
			h.Call(http.MethodPost, "/connections/navidrome/"+action, "", http.StatusAccepted)
		}
		made := h.Call(http.MethodPut, "/connections/navidrome-2", `{"name":"Attic"}`, http.StatusOK)
		require.Equal(t, "Attic", made["display_name"])
		require.Len(t, h.Call(http.MethodGet, "/connections", "", http.StatusOK)["connections"], 6)
		h.Call(http.MethodDelete, "/connections/navidrome-2", "", http.StatusNoContent)
		require.Len(t, h.Call(http.MethodGet, "/connections", "", http.StatusOK)["connections"], 5)
		require.Equal(t, "Home", h.Call(http.MethodGet, "/connections/navidrome", "", http.StatusOK)["display_name"])
		require.Empty(t, h.Call(http.MethodGet, "/connections/navidrome/runs", "", http.StatusOK)["runs"])
	})
}
