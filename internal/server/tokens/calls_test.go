package tokens_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsMakeAndRevokeTokens(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		token := h.Call(http.MethodPost, "/tokens", `{"name":"script","scope":"read"}`, http.StatusCreated)
		require.NotEmpty(t, token["token"])
		require.Len(t, h.Call(http.MethodGet, "/tokens", "", http.StatusOK)["tokens"], 1)
		h.Call(http.MethodDelete, "/tokens/"+token["id"].(string), "", http.StatusNoContent)
	})
}
