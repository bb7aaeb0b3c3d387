package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
)

// Who reads German reads it where something does not work, too: on a page, and in an answer to a program.
func TestProblemsAreSaidInGerman(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.call(http.MethodGet, "/playlists", "", http.StatusOK) // signs in
		for path, want := range map[string]string{
			"/nowhere":                           "Seite nicht gefunden.",
			"/health?day=2001-01-01":             "Wähle einen dieser Tage.",
			"/api/v1/nowhere":                    "Seite nicht gefunden.",
			"/api/v1/listens?limit=0":            "limit ist eine ganze Zahl von 1 bis 1000.",
			"/api/v1/listens?artst=x":            `Dieser Aufruf kennt keinen Parameter \"artst\". Meinst du \"artist\"?`,
			"/api/v1/listens?from=gestern":       "Schreibe from so: 2026-11-20T21:00:00Z.",
			"/api/v1/health/quarters?since=x":    "Schreibe since so: 2026-11-20T21:00:00Z.",
			"/api/v1/notifications?open=maybe":   `open kann nicht „maybe“ sein. Möglich sind: true, false.`,
			"/api/v1/activity?provider=napster":  "provider kann nicht „napster“ sein.",
			"/api/v1/deliveries?state=forgotten": "state kann nicht „forgotten“ sein.",
		} {
			w := h.knock(http.MethodGet, path, "Accept-Language", "de")
			require.Contains(t, w.Body.String(), want, path)
		}
		w := h.knock(http.MethodGet, "/api/v1/nowhere", "Accept-Language", "fr, en;q=0.5")
		require.Contains(t, w.Body.String(), `"detail":"Page not found."`)
	})
}

// Forms that are sent with a mistake say it in the language of their page.
func TestFormsSayMistakesInGerman(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	h.tells()
	h.Registry.Replace(providertest.New(registry.Describe("navidrome")))
	h.call(http.MethodPatch, "/account", `{"language":"de"}`, http.StatusOK)
	w := h.submit("/connect/navidrome", http.StatusUnprocessableEntity, "url", "https://music.example.org")
	require.Contains(t, text(w), "Bitte ausfüllen: Benutzername.")
	phone := newPhone(t).url("topic")
	w = h.submit("/settings/notifications", http.StatusUnprocessableEntity, "address", phone, "severity", "error",
		"quiet_from", "22:00")
	require.Contains(t, text(w), "Fülle beides aus oder keins von beiden.")
}
