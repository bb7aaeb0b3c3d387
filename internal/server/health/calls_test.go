package health_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsListServers(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Empty(t, h.Call(http.MethodGet, "/admin/servers", "", http.StatusOK)["servers"], "it is alone")
	})
}
