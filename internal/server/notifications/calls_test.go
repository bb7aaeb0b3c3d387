package notifications_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/notify"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

func TestProgramsAcknowledgeNotifications(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.NoError(t, h.Notifier.Open(t.Context(), notify.Notification{User: h.User, Connection: "spotify",
			Cause: "auth", Severity: notify.Error, Title: words.Plain("Spotify needs to be reconnected"),
			Action: notify.Action{Label: words.Plain("Reconnect"), URL: "/connect/spotify"}}))
		one := h.Call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"].([]any)[0]
		address := "/notifications/" + one.(map[string]any)["id"].(string)
		h.Call(http.MethodPost, address+"/seen", "", http.StatusNoContent)
		h.Call(http.MethodPost, address+"/ack", "", http.StatusNoContent)
		require.Contains(t, h.Call(http.MethodGet, "/notifications?open=perhaps", "", http.StatusBadRequest)["detail"],
			"true, false")
	})
}
