package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestSessionCookieIsProtected(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	w := h.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password)
	require.Len(t, w.Result().Cookies(), 2, "and the one that knows the device")
	cookie := w.Result().Cookies()[0]
	require.True(t, cookie.HttpOnly, "no script reads it")
	require.True(t, cookie.Secure, "it is never sent in the clear")
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite, "another site's form does not carry it, but the way "+
		"back from a consent page does")
	require.NotEmpty(t, w.Header().Get("Strict-Transport-Security"))
	require.Equal(t, http.StatusOK, h.Knock(http.MethodGet, "/listens").Code)

	plain := servertest.New(t, delivery.Options{})
	plain.Page("/")
	require.False(t, plain.Session[0].Secure, "without TLS it would not come back")
}

// The consent page is another site, and our pages let no form lead there. So a page in between redirects to it.
func TestSignInContinuesToAConsentPage(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	w := h.Knock(http.MethodGet, "/connect/spotify")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "/login?after=%2Fconnect%2Fspotify", w.Header().Get("Location"))
	w = h.Submit("/login", http.StatusOK, "name", "Bea", "password", servertest.Password, "after", "/connect/spotify")
	require.Equal(t, "0; url=/connect/spotify", w.Header().Get("Refresh"))
	require.Contains(t, w.Body.String(), `href="/connect/spotify"`)

	w = h.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password, "after", "/listens")
	require.Equal(t, "/listens", w.Header().Get("Location"))
	w = h.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password, "after",
		"//evil.example/connect/")
	require.Equal(t, "/", w.Header().Get("Location"))
}

// Many reverse proxies send the address that they call as Host, not the one in the browser.
func TestProxyWithAnotherHostName(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	h.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password)
	w := h.Knock(http.MethodPost, "/connections/spotify/pause", "Origin", "https://music.example.org", "Referer",
		"https://music.example.org/connections/spotify")
	require.NotEqual(t, http.StatusForbidden, w.Code, "it comes from our own page: %s", w.Body)
	for _, origin := range []string{"https://evil.example", "http://music.example.org",
		"https://music.example.org.evil.example", "null"} {
		require.Equal(t, http.StatusForbidden, h.Knock(http.MethodPost, "/connections/spotify/pause", "Origin",
			origin).Code, origin)
	}
	// Anybody in between can write a page that comes without TLS. The host of the request may be ours.
	for _, site := range []string{"", "cross-site", "same-site"} {
		r := httptest.NewRequest(http.MethodPost, "https://music.example.org/connections/spotify/pause", nil)
		r.Header.Set("Origin", "http://music.example.org")
		r.Header.Set("Sec-Fetch-Site", site)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, http.StatusForbidden, w.Code, site)
	}
	handshake := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Origin"}
	for _, origin := range []string{"https://evil.example", "http://music.example.org", "http://example.com"} {
		require.Equal(t, http.StatusForbidden,
			h.Knock(http.MethodGet, "/api/v1/events", append(handshake, origin)...).Code, origin)
	}
	require.NotEqual(t, http.StatusForbidden,
		h.Knock(http.MethodGet, "/api/v1/events", append(handshake, "https://music.example.org")...).Code)
}

func TestFormsRedirectToWhereTheyCameFrom(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for from, want := range map[string]string{
			// the proxy's name for us
			"http://127.0.0.1:8420/listens?before=x": "/listens?before=x",
			"http://example.com/connections/spotify": "/connections/spotify",
			"":                                       "/", "https://evil.example/listens": "/",
			"http://127.0.0.1:8420/connect/spotify": "/",
			"http://127.0.0.1:8420/login":           "/",
		} {
			w := h.Knock(http.MethodPost, "/connections/spotify/pause", "Referer", from)
			require.Equal(t, want, w.Header().Get("Location"), from)
		}
	})
}

func TestConnectionPageShowsIntervals(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/connections/spotify"), "within about 5 minutes")
		require.Contains(t, h.Page("/connections/navidrome"), "within about 15 minutes")
		require.NotContains(t, h.Page("/connections/s3"), "within about", "nothing is read there")
	})
}

func TestWrongMethodListsTheAllowedOnes(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, c := range []struct{ method, path, allow string }{
			{"POST", "/listens", "GET"}, {"GET", "/logout", "POST"}, {"DELETE", "/login", "GET, POST"},
			{"PATCH", "/api/v1/connections", "GET"}, {"POST", "/api/v1/connections/spotify", "GET, PUT, PATCH, DELETE"},
			{"GET", "/api/v1/connections/spotify/sync", "POST"},
		} {
			w := h.Knock(c.method, c.path)
			require.Equal(t, http.StatusMethodNotAllowed, w.Code, c.path)
			require.Equal(t, c.allow, w.Header().Get("Allow"), c.path)
			if strings.HasPrefix(c.path, "/api/") {
				require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
			} else {
				require.Contains(t, w.Body.String(), "<h1>Not that way</h1>")
			}
		}
		for _, path := range []string{"/nowhere", "/listens/more/of/it", "/api/v1/nowhere",
			"/api/v1/connections/spotify/dance"} {
			w := h.Knock(http.MethodPost, path)
			require.Equal(t, http.StatusNotFound, w.Code, path)
			require.Empty(t, w.Header().Get("Allow"))
		}
		h.Call(http.MethodDelete, "/connections/spotify?data=perhaps", "", http.StatusBadRequest)
		h.Call(http.MethodGet, "/connections/spotify", "", http.StatusOK) // it is still there
		w := h.Knock(http.MethodGet, "/api/v1/events")
		require.Equal(t, http.StatusUpgradeRequired, w.Code)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		require.Contains(t, w.Body.String(), "/api/v1/events/sse")
		require.Equal(t, http.StatusNotFound, h.Knock(http.MethodGet, "/static/").Code, "no list of files")
	})
}

// Some monitors send HEAD.
func TestHeadIsAnsweredLikeGet(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	server := httptest.NewServer(h)
	defer server.Close()
	for _, path := range []string{"/livez", "/login", "/api/v1/openapi.yaml"} {
		resp, err := http.Head(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
	}
}

// A provider's consent page redirects to the address, never to the name localhost, so the session must begin there.
func TestLocalhostRedirectsToTheAddress(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for host, want := range map[string]string{"localhost:8420": "http://127.0.0.1:8420/login?after=%2F",
		"127.0.0.1:8420": "", "localhost:9": ""} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/login?after=%2F", nil)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if want == "" {
			require.NotEqual(t, http.StatusTemporaryRedirect, w.Code, host)
			continue
		}
		require.Equal(t, http.StatusTemporaryRedirect, w.Code)
		require.Equal(t, want, w.Header().Get("Location"))
	}
}

func TestHeadersKeepOtherSitesOut(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	for _, path := range []string{"/", "/api/v1/connections", "/nowhere", "/livez", "/sw.js"} {
		header := h.Knock(http.MethodGet, path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'",
			"X-Content-Type-Options":       "nosniff",
			"X-Robots-Tag":                 "noindex",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Embedder-Policy": "require-corp",
			"Permissions-Policy":           " camera=(), ",
		} {
			require.Contains(t, header.Get(name), want, "%s of %s", name, path)
		}
		for feature := range strings.SplitSeq(header.Get("Permissions-Policy"), ", ") {
			if feature == "" {
				continue
			}
			require.Regexp(t, `^([a-z]+(-[a-z]+)*=\(\)|publickey-credentials-(get|create)=\(self\))$`,
				feature)
		}
		require.Empty(t, header.Get("Server"), "nobody is told what to look for")
		require.Empty(t, header.Get("X-Powered-By"))
	}
}
