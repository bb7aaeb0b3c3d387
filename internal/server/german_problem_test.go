package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
)

// Who reads German reads it where something does not work, too: on a page, and in an answer to a program.
func TestProblemsAreSaidInGerman(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.call(http.MethodGet, "/playlists", "", http.StatusOK) // signs in
		for path, want := range map[string]string{
			"/nowhere":                "Seite nicht gefunden.",
			"/api/v1/nowhere":         "Seite nicht gefunden.",
			"/api/v1/listens?limit=0": "limit ist eine ganze Zahl von 1 bis 1000.",
			"/api/v1/listens?artst=x": `Dieser Aufruf kennt keinen Parameter \"artst\". Meinst du \"artist\"?`,
		} {
			w := h.knock(http.MethodGet, path, "Accept-Language", "de")
			require.Contains(t, w.Body.String(), want, path)
		}
		w := h.knock(http.MethodGet, "/api/v1/nowhere", "Accept-Language", "fr, en;q=0.5")
		require.Contains(t, w.Body.String(), `"detail":"Page not found."`)
	})
}
