package server_test

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

// Who reads German reads it where something does not work, too: on a page, and in an answer to a program.
func TestProblemsAreSaidInGerman(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodGet, "/playlists", "", http.StatusOK) // signs in
		for path, want := range map[string]string{
			"/nowhere":                           "Seite nicht gefunden",
			"/health?day=2001-01-01":             "Wähle einen dieser Tage.",
			"/api/v1/nowhere":                    "Seite nicht gefunden",
			"/api/v1/listens?limit=0":            "limit muss eine ganze Zahl von 1 bis 1000 sein.",
			"/api/v1/listens?artst=x":            `kennt keinen Parameter \"artst\". Meintest du \"artist\"?`,
			"/api/v1/listens?from=gestern":       "Schreibe from so: 2026-11-20T21:00:00Z.",
			"/api/v1/health/quarters?since=x":    "Schreibe since so: 2026-11-20T21:00:00Z.",
			"/api/v1/notifications?open=maybe":   `open kann nicht „maybe“ sein. Möglich sind: true, false.`,
			"/api/v1/activity?provider=napster":  "provider kann nicht „napster“ sein.",
			"/api/v1/deliveries?state=forgotten": "state kann nicht „forgotten“ sein.",
		} {
			w := h.Knock(http.MethodGet, path, "Accept-Language", "de")
			require.Contains(t, html.UnescapeString(w.Body.String()), want, path)
		}
		w := h.Knock(http.MethodGet, "/api/v1/nowhere", "Accept-Language", "eo, en;q=0.5")
		require.Contains(t, w.Body.String(), `"title":"Page not found"`)
	})
}

// Forms that are sent with a mistake say it in the language of their page.
func TestFormsSayMistakesInGerman(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Tells()
	h.Registry.Replace(providertest.New(registry.Describe("navidrome")))
	h.Call(http.MethodPatch, "/account", `{"language":"de"}`, http.StatusOK)
	w := h.Submit("/connect/navidrome", http.StatusUnprocessableEntity, "url", "https://music.example.org")
	require.Contains(t, servertest.Text(w), "Bitte ausfüllen: Benutzername.")
	phone := servertest.NewPhone(t).Address("topic")
	w = h.Submit("/settings/notifications", http.StatusUnprocessableEntity, "address", phone, "severity", "error",
		"quiet_from", "22:00")
	require.Contains(t, servertest.Text(w), "Fülle beides aus oder keins von beiden.")
}

// Why a delivery failed is stored once, and everybody reads it in their own language. What they read selects it.
func TestWhyADeliveryFailedIsSaidInGerman(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("Poison")
		h.Far.Fail(servertest.Answer(http.StatusBadRequest, resilience.Item, resilience.ScopeItem, ""))
		h.Carry()
		for language, want := range map[string]string{"de": "Der Dienst nimmt das nicht an.",
			"en": "The service doesn't accept this."} {
			for _, path := range []string{"/deliveries", "/deliveries?list=all",
				"/deliveries/redrive?reason=" + url.QueryEscape(want), "/api/v1/deliveries?state=dead"} {
				w := h.Knock(http.MethodGet, path, "Accept-Language", language)
				require.Contains(t, html.UnescapeString(w.Body.String()), want, "%s in %s", path, language)
			}
			body := `{"filter":{"reason":"` + want + `"},"dry_run":true}`
			require.EqualValues(t, 1, h.Call(http.MethodPost, "/deliveries/redrive", body, http.StatusOK)["count"])
		}
	})
}

// Trouble of this server's own is said in the language of the one who meets it.
func TestAFullDiskIsSaidInGerman(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodGet, "/playlists", "", http.StatusOK)
		h.Sessions = &broken{SessionStore: h.DB.Sessions(), find: &resilience.LocalError{
			Problem: words.New("trouble.database.full"), Err: io.ErrShortWrite}}
		h.Restart()
		for language, want := range map[string]string{"de": "Die Festplatte ist voll.", "en": "The disk is full."} {
			for _, path := range []string{"/listens", "/api/v1/listens"} {
				w := h.Knock(http.MethodGet, path, "Accept-Language", language)
				require.Contains(t, w.Body.String(), want, "%s in %s", path, language)
			}
		}
	})
}
