package server

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/notify"
	"reprise/internal/words"
)

// These tests make the calls that the tests of their resources make by form. Each answer is compared with its
// description.

func TestCallsOnOnesOwnThings(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)))
		h := newHousehold(t, delivery.Options{})
		list := h.playlist("Rain", "One", "Two")
		require.Len(t, h.call(http.MethodGet, "/playlists/"+list, "", http.StatusOK)["tracks"], 2)
		require.Len(t, h.call(http.MethodGet, "/playlists", "", http.StatusOK)["playlists"], 1)

		token := h.call(http.MethodPost, "/tokens", `{"name":"script","scope":"read"}`, http.StatusCreated)
		require.NotEmpty(t, token["token"])
		require.Len(t, h.call(http.MethodGet, "/tokens", "", http.StatusOK)["tokens"], 1)
		h.call(http.MethodDelete, "/tokens/"+token["id"].(string), "", http.StatusNoContent)

		named := h.call(http.MethodPatch, "/connections/navidrome", `{"name":"Home"}`, http.StatusOK)
		require.Equal(t, "Home", named["display_name"])
		require.Equal(t, "paused", h.call(http.MethodPost, "/connections/navidrome/pause", "",
			http.StatusAccepted)["state"])
		h.call(http.MethodPost, "/connections/navidrome/sync", "", http.StatusConflict)
		for _, action := range []string{"resume", "retry", "sync"} {
			h.call(http.MethodPost, "/connections/navidrome/"+action, "", http.StatusAccepted)
		}
		made := h.call(http.MethodPut, "/connections/navidrome-2", `{"name":"Attic"}`, http.StatusOK)
		require.Equal(t, "Attic", made["display_name"])

		require.NoError(t, h.Notifier.Open(t.Context(), notify.Notification{User: h.user, Connection: "spotify",
			Cause: "auth", Severity: notify.Error, Title: words.Plain("Spotify needs to be reconnected"),
			Action: notify.Action{Label: words.Plain("Reconnect"), URL: "/connect/spotify"}}))
		one := h.call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"].([]any)[0]
		address := "/notifications/" + one.(map[string]any)["id"].(string)
		h.call(http.MethodPost, address+"/seen", "", http.StatusNoContent)
		h.call(http.MethodPost, address+"/ack", "", http.StatusNoContent)
		require.Contains(t, h.call(http.MethodGet, "/notifications?open=perhaps", "", http.StatusBadRequest)["detail"],
			"true, false")

		var file bytes.Buffer
		require.NoError(t, demo.WriteSpotifyExport(&file, 1, 10, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
		w := h.do(http.MethodPost, "/api/v1/imports?provider=spotify&name=a.zip", file.String(), "application/zip")
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		id := h.call(http.MethodGet, "/imports", "", http.StatusOK)["imports"].([]any)[0].(map[string]any)["id"]
		h.call(http.MethodDelete, "/imports/"+id.(string), "", http.StatusNoContent)
		require.NotEmpty(t, h.call(http.MethodGet, "/activity", "", http.StatusOK)["activity"])
	})
}

func TestCallsOnDigests(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.withModel(&writer{text: "A calm week."})
		time.Sleep(24 * time.Hour) // to Sunday
		h.heard("Untitled 1", "Untitled 3")
		time.Sleep(24 * time.Hour)
		h.call(http.MethodPost, "/digest", "", http.StatusAccepted)
		h.call(http.MethodPut, "/digest", `{"enabled":true}`, http.StatusOK)
		h.write()
		one := h.call(http.MethodGet, "/digests", "", http.StatusOK)["digests"].([]any)[0].(map[string]any)
		require.Equal(t, "written", one["state"])
		h.call(http.MethodDelete, "/digests/"+one["id"].(string), "", http.StatusNoContent)
	})
}

func TestCallsOnPeopleAndBreakers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		codeOf := func(link map[string]any) string { return path.Base(link["url"].(string)) }
		invited := h.call(http.MethodPost, "/admin/invitations", `{"name":"Carol"}`, http.StatusCreated)
		h.call(http.MethodPost, "/invitation",
			fmt.Sprintf(`{"code":%q,"name":"Carol","password":"a good password"}`, codeOf(invited)), http.StatusCreated)
		ben, err := h.Accounts.Create(t.Context(), "Ben", "the first password", accounts.Member, false)
		require.NoError(t, err)
		reset := h.call(http.MethodPost, fmt.Sprintf("/admin/users/%d/reset", ben.ID), "", http.StatusCreated)
		h.call(http.MethodPost, "/reset",
			fmt.Sprintf(`{"code":%q,"password":"the second password"}`, codeOf(reset)), http.StatusNoContent)

		require.Equal(t, "Benjamin", h.call(http.MethodPatch, "/admin/users/ben", `{"name":"Benjamin"}`,
			http.StatusOK)["name"])
		h.call(http.MethodDelete, "/admin/users/Benjamin/sessions", "", http.StatusOK)
		h.call(http.MethodPatch, "/account", `{"language":"de","time_zone":"Europe/Berlin","theme":"dark"}`,
			http.StatusOK)
		require.Equal(t, "de", h.call(http.MethodGet, "/account", "", http.StatusOK)["language"])
		h.call(http.MethodPatch, "/account", `{"language":""}`, http.StatusOK)

		require.Empty(t, h.call(http.MethodGet, "/admin/servers", "", http.StatusOK)["servers"], "it is alone")
		h.opened()
		breaker := h.call(http.MethodGet, "/admin/breakers", "", http.StatusOK)["breakers"].([]any)[0].(map[string]any)
		was := h.call(http.MethodPost, "/admin/breakers/"+url.PathEscape(breaker["endpoint"].(string))+"/reset", "",
			http.StatusOK)
		require.Equal(t, map[string]any{"previous_state": "open", "new_state": "closed"}, was)

		h.as(ben.ID)
		h.call(http.MethodDelete, "/account", `{"password":"the second password"}`, http.StatusAccepted)
	})
}
