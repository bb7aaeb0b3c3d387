package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
)

const password = "a few random words"

// public returns a household behind a reverse proxy with TLS, with an account that can sign in.
func public(t *testing.T) *household {
	t.Helper()
	h := newHousehold(t, delivery.Options{})
	people := accounts.New(h.db, 1)
	h.BaseURL, h.Accounts = "https://music.example.org", people
	h.as(0)
	_, err := h.Accounts.Create(t.Context(), "Bea", password, accounts.Member, false)
	require.NoError(t, err)
	return h
}

// knock sends a request with headers, as browsers and monitors do.
func (h *household) knock(method, path string, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	for _, c := range h.session {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestSessionCookieIsProtected(t *testing.T) {
	t.Parallel()
	h := public(t)
	w := h.submit("/login", http.StatusSeeOther, "name", "Bea", "password", password)
	require.Len(t, w.Result().Cookies(), 2, "and the one that knows the device")
	cookie := w.Result().Cookies()[0]
	require.True(t, cookie.HttpOnly, "no script reads it")
	require.True(t, cookie.Secure, "it is never sent in the clear")
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite, "another site's form does not carry it, but the way "+
		"back from a consent page does")
	require.NotEmpty(t, w.Header().Get("Strict-Transport-Security"))
	require.Equal(t, http.StatusOK, h.knock(http.MethodGet, "/listens").Code)

	plain := newHousehold(t, delivery.Options{})
	plain.page("/")
	require.False(t, plain.session[0].Secure, "without TLS it would not come back")
}

// The consent page is another site, and our pages let no form lead there. So a page in between redirects to it.
func TestSignInContinuesToAConsentPage(t *testing.T) {
	t.Parallel()
	h := public(t)
	w := h.knock(http.MethodGet, "/connect/spotify")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "/login?after=%2Fconnect%2Fspotify", w.Header().Get("Location"))
	w = h.submit("/login", http.StatusOK, "name", "Bea", "password", password, "after", "/connect/spotify")
	require.Equal(t, "0; url=/connect/spotify", w.Header().Get("Refresh"))
	require.Contains(t, w.Body.String(), `href="/connect/spotify"`)

	w = h.submit("/login", http.StatusSeeOther, "name", "Bea", "password", password, "after", "/listens")
	require.Equal(t, "/listens", w.Header().Get("Location"))
	w = h.submit("/login", http.StatusSeeOther, "name", "Bea", "password", password, "after",
		"//evil.example/connect/")
	require.Equal(t, "/", w.Header().Get("Location"))
}

// Many reverse proxies send the address that they call as Host, not the one in the browser.
func TestProxyWithAnotherHostName(t *testing.T) {
	t.Parallel()
	h := public(t)
	h.submit("/login", http.StatusSeeOther, "name", "Bea", "password", password)
	w := h.knock(http.MethodPost, "/connections/spotify/pause", "Origin", "https://music.example.org", "Referer",
		"https://music.example.org/connections/spotify")
	require.NotEqual(t, http.StatusForbidden, w.Code, "it comes from our own page: %s", w.Body)
	for _, origin := range []string{"https://evil.example", "http://music.example.org",
		"https://music.example.org.evil.example", "null"} {
		require.Equal(t, http.StatusForbidden, h.knock(http.MethodPost, "/connections/spotify/pause", "Origin",
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
			h.knock(http.MethodGet, "/api/v1/events", append(handshake, origin)...).Code, origin)
	}
	require.NotEqual(t, http.StatusForbidden,
		h.knock(http.MethodGet, "/api/v1/events", append(handshake, "https://music.example.org")...).Code)
}

func TestFormsRedirectToWhereTheyCameFrom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		for from, want := range map[string]string{
			// the proxy's name for us
			"http://127.0.0.1:8420/listens?before=x": "/listens?before=x",
			"http://example.com/connections/spotify": "/connections/spotify",
			"":                                       "/", "https://evil.example/listens": "/",
			"http://127.0.0.1:8420/connect/spotify": "/",
			"http://127.0.0.1:8420/login":           "/",
		} {
			w := h.knock(http.MethodPost, "/connections/spotify/pause", "Referer", from)
			require.Equal(t, want, w.Header().Get("Location"), from)
		}
	})
}

func TestConnectionPageShowsIntervals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		require.Contains(t, h.page("/connections/spotify"), "within about 5 minutes")
		require.Contains(t, h.page("/connections/navidrome"), "within about 15 minutes")
		require.NotContains(t, h.page("/connections/s3"), "within about", "nothing is read there")
	})
}

func TestWrongMethodListsTheAllowedOnes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		for _, c := range []struct{ method, path, allow string }{
			{"POST", "/listens", "GET"}, {"GET", "/logout", "POST"}, {"DELETE", "/login", "GET, POST"},
			{"PATCH", "/api/v1/connections", "GET"}, {"POST", "/api/v1/connections/spotify", "GET, PUT, PATCH, DELETE"},
			{"GET", "/api/v1/connections/spotify/sync", "POST"},
		} {
			w := h.knock(c.method, c.path)
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
			w := h.knock(http.MethodPost, path)
			require.Equal(t, http.StatusNotFound, w.Code, path)
			require.Empty(t, w.Header().Get("Allow"))
		}
		h.call(http.MethodDelete, "/connections/spotify?data=perhaps", "", http.StatusBadRequest)
		h.call(http.MethodGet, "/connections/spotify", "", http.StatusOK) // it is still there
		w := h.knock(http.MethodGet, "/api/v1/events")
		require.Equal(t, http.StatusUpgradeRequired, w.Code)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		require.Contains(t, w.Body.String(), "/api/v1/events/sse")
		require.Equal(t, http.StatusNotFound, h.knock(http.MethodGet, "/static/").Code, "no list of files")
	})
}

// Some monitors send HEAD.
func TestHeadIsAnsweredLikeGet(t *testing.T) {
	t.Parallel()
	h := public(t)
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
	base, err := url.Parse("http://127.0.0.1:8420")
	require.NoError(t, err)
	for host, want := range map[string]string{"localhost:8420": "http://127.0.0.1:8420/login?after=%2F",
		"127.0.0.1:8420": "", "localhost:9": ""} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/login?after=%2F", nil)
		if want == "" {
			require.False(t, elsewhere(base, r), host)
			continue
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, http.StatusTemporaryRedirect, w.Code)
		require.Equal(t, want, w.Header().Get("Location"))
	}
}

func TestHeadersKeepOtherSitesOut(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	for _, path := range []string{"/", "/api/v1/connections", "/nowhere", "/livez", "/sw.js"} {
		header := h.knock(http.MethodGet, path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'",
			"X-Content-Type-Options":       "nosniff",
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
			require.Regexp(t, `^[a-z]+(-[a-z]+)*=\(\)$`, feature)
		}
		require.Empty(t, header.Get("Server"), "nobody is told what to look for")
		require.Empty(t, header.Get("X-Powered-By"))
	}
}
