package installation_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/delivery"
	registered "reprise/internal/providers/registry"
	"reprise/internal/server/installation"
	"reprise/internal/server/servertest"
	"reprise/internal/settings"
	"reprise/internal/words"
)

// settingOf returns one setting as the API lists it.
func settingOf(h *servertest.Household, path string) installation.Setting {
	h.T.Helper()
	w := h.Do(http.MethodGet, "/api/v1/admin/settings", "", "")
	require.Equal(h.T, http.StatusOK, w.Code, w.Body)
	var all struct{ Settings []installation.Setting }
	require.NoError(h.T, json.Unmarshal(w.Body.Bytes(), &all))
	i := slices.IndexFunc(all.Settings, func(v installation.Setting) bool { return v.Path == path })
	require.GreaterOrEqual(h.T, i, 0, path)
	return all.Settings[i]
}

// sendForm sends a form, whatever the answer is.
func sendForm(h *servertest.Household, path string, values url.Values) *httptest.ResponseRecorder {
	h.T.Helper()
	return h.Do(http.MethodPost, path, values.Encode(), "application/x-www-form-urlencoded")
}

func change(h *servertest.Household, body string, query ...string) *httptest.ResponseRecorder {
	h.T.Helper()
	return h.Do(http.MethodPatch, "/api/v1/admin/settings"+strings.Join(query, ""), body, "application/json")
}

// configured serves with a settings file and an environment.
func configured(h *servertest.Household, environ ...string) {
	h.T.Helper()
	var err error
	h.Settings, err = settings.Open(h.T.Context(), settings.Options{Known: registered.Descriptions(),
		Store: h.DB, Log: h.Log, Layers: config.Read("", environ, nil, registered.Descriptions())})
	require.NoError(h.T, err)
	h.Restart()
}

func TestSettingsAreChangedByTheAPI(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	v := settingOf(h, "sync.workers")
	require.Equal(t, []any{8.0, 8.0, "default", true}, []any{v.Value, v.Default, v.Source, v.Editable})
	w := change(h, `{"sync.workers": 3, "allow_private_upstreams": false, "trusted_proxies": ["10.0.0.0/8"],
		"providers.youtube.keys": "first-key-abcd", "sync.listens_every": "10m"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NotContains(t, w.Body.String(), "first-key")
	require.Equal(t, 3.0, settingOf(h, "sync.workers").Value)
	require.Equal(t, false, settingOf(h, "allow_private_upstreams").Value)
	require.Equal(t, []any{"…abcd"}, settingOf(h, "providers.youtube.keys").Value)
	require.Equal(t, "database", settingOf(h, "trusted_proxies").Source)
	require.Equal(t, http.StatusOK, change(h, `{"sync.workers": null}`).Code)
	require.Equal(t, 8.0, settingOf(h, "sync.workers").Value)

	for _, said := range []string{"changed the setting “YouTube → API keys”.",
		"changed the setting “Checking for new music → Connections at once”.",
		"set “Checking for new music → Connections at once” back to its default."} {
		require.Contains(t, h.Page("/activity"), said)
	}
	require.Contains(t, h.Do(http.MethodGet, "/api/v1/activity", "", "").Body.String(), `"subject":"sync.workers"`)
	require.NotContains(t, h.Page("/activity"), "first-key")
}

func TestEveryProblemOfAChangeIsListed(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	wrong := `{"sync.workers": 0, "backoff.base": "1h", "backoff.max": "1m", "contact": "me@example.org"}`
	for _, query := range []string{"", "?dry_run=true"} {
		w := change(h, wrong, query)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code)
		var p struct{ Fields map[string]string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Len(t, p.Fields, 3)
		require.Contains(t, p.Fields["sync.workers"], "from 1 to 1000")
		require.Contains(t, p.Fields["backoff.base"], "must not be shorter")
	}
	require.Nil(t, settingOf(h, "contact").Value, "all or none")
	require.Equal(t, http.StatusOK, change(h, `{"contact": "me@example.org"}`, "?dry_run=true").Code)
	require.Nil(t, settingOf(h, "contact").Value, "a dry run changes nothing")
	for _, bad := range []string{`{"contact": {}}`, `{"contact": [1]}`, `[]`, `{"contact": "a"`} {
		require.Equal(t, http.StatusBadRequest, change(h, bad).Code, bad)
	}
	require.Equal(t, http.StatusBadRequest, change(h, `{}`, "?dry_run=perhaps").Code)
}

func TestWhatTheEnvironmentSetsIsFixed(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	configured(h, "REPRISE_CONTACT=env@example.org", "REPRISE_PROVIDERS_SPOTIFY_CLIENT_SECRET=the-secret-wxyz")
	v := settingOf(h, "contact")
	require.Equal(t, []any{"env@example.org", "environment", false}, []any{v.Value, v.Source, v.Editable})
	require.Equal(t, "Set in the environment (REPRISE_CONTACT).", v.Why)
	require.Equal(t, http.StatusConflict, change(h, `{"contact": "me@example.org"}`).Code)
	require.True(t, settingOf(h, "listen").NeedsRestart)
	require.Equal(t, http.StatusConflict, change(h, `{"listen": ":80"}`).Code)

	page := h.Page("/settings/server")
	require.Contains(t, page, "Set in the environment (REPRISE_CONTACT).")
	require.Contains(t, page, "…wxyz")
	require.NotContains(t, page, "the-secret")
}

func TestSettingsAreForAdministrators(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.As(h.Other("Bob"))
	require.Equal(t, http.StatusForbidden, h.Do(http.MethodGet, "/api/v1/admin/settings", "", "").Code)
	require.Equal(t, http.StatusForbidden, change(h, `{"contact": "me@example.org"}`).Code)
	require.Equal(t, http.StatusForbidden, h.Do(http.MethodGet, "/settings/server", "", "").Code)
	require.Equal(t, http.StatusForbidden, sendForm(h, "/settings/server", url.Values{"contact": {"a@b.c"}}).Code)
}

func TestTheSettingsPageSavesAndSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	w := sendForm(h, "/settings/server", url.Values{"contact": {"me@example.org"}, "base_url": {""},
		"admin_token": {""}, "log.level": {"info"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, "/settings/server#server", w.Header().Get("Location"))
	require.Equal(t, "me@example.org", settingOf(h, "contact").Value)
	require.Equal(t, "default", settingOf(h, "log.level").Source, "only what was changed is stored")

	w = sendForm(h, "/settings/server", url.Values{"backoff.base": {"1h"}, "backoff.max": {"soon"}})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), `value="1h"`, "what was typed stays")
	require.Contains(t, w.Body.String(), "“soon” is not a duration")
	require.Contains(t, w.Body.String(), `id="backoff-max-problem"`)
	require.Equal(t, "default", settingOf(h, "backoff.base").Source)

	sendForm(h, "/settings/server",
		url.Values{"providers.youtube.keys": {"first-key-abcd\r\nhome:second-key-efgh\r\n"}})
	require.Equal(t, []any{"…abcd", "home:…efgh"}, settingOf(h, "providers.youtube.keys").Value)
	w = sendForm(h, "/settings/server", url.Values{"providers.youtube.keys": {"…abcd\r\nhome:…efgh"}})
	require.Equal(t, "/settings/server", w.Header().Get("Location"), "nothing was changed")
}

func TestNobodyLocksThemselvesOut(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	from := func(origin, path string, form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		r.Host = strings.TrimPrefix(strings.TrimPrefix(origin, "http://"), "https://")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := from("http://192.168.1.7:8420", "/settings/server", url.Values{"base_url": {"https://music.example.org"}})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "stays signed in only there")
	w = from("http://127.0.0.1:8420", "/settings/server/address", nil)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "only works on this computer")
	w = from("http://192.168.1.7:8420", "/settings/server/address", nil)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, "http://192.168.1.7:8420", settingOf(h, "base_url").Value)
	require.Equal(t, http.StatusOK, change(h, `{"base_url": "https://music.example.org"}`).Code, "a program may")
}

func TestEverySettingHasWordsInBothLanguages(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	for _, l := range words.Languages() {
		ctx := words.With(t.Context(), l)
		seen := map[string]string{}
		for _, i := range h.Settings.All() {
			label, help := installation.Label(ctx, i), installation.Help(ctx, i)
			require.NotContains(t, label+help, "setting.", "%s in %s", i.Path, l.Code())
			if i.Provider == "" {
				require.Empty(t, seen[label], "%s has the label of %s", i.Path, seen[label])
				seen[label] = i.Path
			}
		}
	}
}

func TestBackupsAreBegunByTheAPI(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	require.Empty(t, h.Call(http.MethodGet, "/admin/backups", "", http.StatusOK)["backups"])
	require.Equal(t, true, h.Call(http.MethodPost, "/admin/backups", "", http.StatusOK)["running"])
	require.Contains(t, h.Page("/settings/server"), "A backup is being made or tested")
	refused := h.Do(http.MethodPost, "/api/v1/admin/backups", "", "")
	require.Equal(t, http.StatusConflict, refused.Code, "one at a time")
	require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/settings/server/backups/none.db", "", "").Code)
}
