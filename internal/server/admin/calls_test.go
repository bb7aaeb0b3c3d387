package admin_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsResetABreaker(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.OpenBreaker()
		breaker := h.Call(http.MethodGet, "/admin/breakers", "", http.StatusOK)["breakers"].([]any)[0].(map[string]any)
		was := h.Call(http.MethodPost, "/admin/breakers/"+url.PathEscape(breaker["endpoint"].(string))+"/reset", "",
			http.StatusOK)
		require.Equal(t, map[string]any{"previous_state": "open", "new_state": "closed"}, was)
	})
}

func TestProgramsListKeys(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	require.Empty(t, h.Call(http.MethodGet, "/admin/keys", "", http.StatusOK)["keys"])
}
