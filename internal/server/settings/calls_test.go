package settings_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsChangeTheAccount(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodPatch, "/account", `{"language":"de","time_zone":"Europe/Berlin","theme":"dark"}`,
			http.StatusOK)
		require.Equal(t, "de", h.Call(http.MethodGet, "/account", "", http.StatusOK)["language"])
		h.Call(http.MethodPatch, "/account", `{"language":""}`, http.StatusOK)
	})
}
