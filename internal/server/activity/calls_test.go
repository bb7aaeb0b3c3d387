package activity_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsReadTheActivity(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Empty(t, h.Call(http.MethodGet, "/activity", "", http.StatusOK)["activity"])
		h.Call(http.MethodPost, "/connections/navidrome/pause", "", http.StatusAccepted)
		require.Len(t, h.Call(http.MethodGet, "/activity", "", http.StatusOK)["activity"], 1)
	})
}
