package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
)

// cookieNames returns the names of the cookies that an answer sets; those that it deletes with a minus sign.
func cookieNames(w *httptest.ResponseRecorder) (names []string) {
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			c.Name = "-" + c.Name
		}
		names = append(names, c.Name)
	}
	return names
}

// A cookie of this prefix cannot be set by another host of the domain, nor without TLS.
func TestCookieIsBoundToTheHostBehindTLS(t *testing.T) {
	t.Parallel()
	h := public(t)
	w := h.submit("/login", http.StatusSeeOther, "name", "Bea", "password", password)
	require.Contains(t, cookieNames(w), "__Host-reprise_session")
	cookie := h.session[0]
	require.Equal(t, "/", cookie.Path)
	require.True(t, cookie.Secure)
	require.Empty(t, cookie.Domain)
	require.Equal(t, http.StatusOK, h.knock(http.MethodGet, "/listens").Code)

	// the token of a session of today is no good under the old name, which another host of the domain could set
	h.session[0].Name = "reprise_session"
	require.Equal(t, http.StatusSeeOther, h.knock(http.MethodGet, "/listens").Code)

	plain := newHousehold(t, delivery.Options{})
	plain.page("/")
	require.Equal(t, "reprise_session", plain.session[0].Name, "without TLS browsers refuse the prefix")
}

// Who was signed in before the upgrade stays signed in: the cookie of the old name is exchanged once.
func TestOldCookieIsExchanged(t *testing.T) {
	t.Parallel()
	h := public(t)
	base := h.BaseURL
	h.BaseURL = "http://127.0.0.1:8420" // where the cookie has the old name
	h.as(0)
	h.submit("/login", http.StatusSeeOther, "name", "Bea", "password", password)
	session := h.session
	h.BaseURL = base
	h.as(0)
	h.session = session
	w := h.knock(http.MethodGet, "/listens")
	require.Equal(t, http.StatusOK, w.Code)
	require.ElementsMatch(t, []string{"__Host-reprise_session", "-reprise_session"}, cookieNames(w))
	h.session = w.Result().Cookies()[:1]
	w = h.knock(http.MethodGet, "/listens")
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, cookieNames(w), "once")
}

func TestNoCacheKeepsSignInPages(t *testing.T) {
	t.Parallel()
	h := public(t)
	require.Equal(t, "no-store", h.knock(http.MethodGet, "/login").Header().Get("Cache-Control"))
	w := h.submit("/login", http.StatusUnauthorized, "name", "Bea", "password", "not this one")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	h.SetupCode = "CODE"
	h.as(0)
	for _, path := range []string{"/setup", "/setup?code=CODE", "/setup?code=wrong"} {
		require.Equal(t, "no-store", h.knock(http.MethodGet, path).Header().Get("Cache-Control"), path)
	}
	w = h.do(http.MethodPost, "/api/v1/setup", `{"code":"wrong"}`, "application/json")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
}
