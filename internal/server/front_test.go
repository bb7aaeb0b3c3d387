package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"reprise/internal/server"

	"github.com/stretchr/testify/require"
)

// While no server leads, programs get a problem, and people a page in their language that asks again by itself and has
// its style.
func TestAServerThatDoesNotLeadSaysSo(t *testing.T) {
	t.Parallel()
	f, err := server.NewFront("1.2.3", "")
	require.NoError(t, err)
	ask := func(method, path, language string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Accept-Language", language)
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct{ method, language, title, detail string }{
		{http.MethodGet, "en", "Reprise is changing servers", "Try again in a few seconds."},
		{http.MethodPost, "de", "Reprise wechselt den Server", "bevor du es noch einmal sendest."},
	} {
		w := ask(c.method, "/api/v1/connections", c.language)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		require.Equal(t, "3", w.Header().Get("Retry-After"))
		var p struct {
			Type, Title, Detail string
			Status              int
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Equal(t, http.StatusServiceUnavailable, p.Status)
		require.Equal(t, c.title, p.Title)
		require.Contains(t, p.Detail, c.detail)
	}

	w := ask(http.MethodGet, "/listens?artist=a", "de-AT,de;q=0.9")
	requireHeaders(t, "the page", w)
	requireHeaders(t, "the problem", ask(http.MethodGet, "/api/v1/connections", "en"))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "3", w.Header().Get("Refresh"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	page := w.Body.String()
	require.Contains(t, page, `<html lang="de"`)
	require.Contains(t, page, "Diese Seite versucht es von selbst erneut.")
	require.Contains(t, page, `href="/listens?artist=a"`)
	style := regexp.MustCompile(`/static/app\.[^"]*css`).FindString(page)
	require.True(t, f.Has(style), style)
	require.Contains(t, ask(http.MethodGet, style, "").Header().Get("Content-Type"), "text/css")
	requireHeaders(t, "GET /static/*", ask(http.MethodGet, style, ""))
	probe := httptest.NewRecorder()
	f.Protect(probe.Header())
	requireHeaders(t, "a probe", probe)
	require.False(t, f.Has("/static/app.css"), "another version may have another one")
	require.False(t, f.Has("/listens"))

	w = ask(http.MethodPost, "/settings/account/password", "en")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Empty(t, w.Header().Get("Refresh"), "a form is not sent again by itself")
	require.Contains(t, w.Body.String(), "look before you send it again")
}
