package server_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/core"
	"reprise/internal/server/servertest"
	"reprise/web/static"
)

var parameter = regexp.MustCompile(`:\w+`)

// eachRoute calls see with every route, a path of it, and what the present person is answered there.
func eachRoute(h *servertest.Household, see func(name, path string, w *httptest.ResponseRecorder)) {
	h.T.Helper()
	for _, r := range h.Router().Routes() {
		if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete}, r.Method) {
			continue // echo's own, for paths that do not exist
		}
		path := strings.ReplaceAll(parameter.ReplaceAllString(r.Path, "1"), "*", "app.css")
		see(r.Method+" "+r.Path, path, h.Do(r.Method, path, "", ""))
	}
}

// openToAll are the routes that answer without a session or a token.
var openToAll = []string{"GET /livez", "GET /readyz", "GET /static/*", "GET /sw.js", "GET /manifest.webmanifest",
	"GET /offline", "GET /api/v1/openapi.yaml",
	"GET /login", "POST /login", "POST /api/v1/session",
	"POST /api/v1/session/passkey", "POST /api/v1/session/passkey/options", "GET /setup",
	"POST /setup", "POST /api/v1/setup",
	"GET /invitation/:code", "GET /invitation", "POST /invitation", "POST /api/v1/invitation",
	"GET /reset/:code", "GET /reset", "POST /reset", "POST /api/v1/reset", "POST /language",
	"GET /year/:code", "GET /year/:code/card.png", "GET /year/:code/card.svg",
	"GET /profile/:code", "GET /profile/:code/card.png", "GET /profile/:code/card.svg", "GET /profile/:code/badge.svg",
	"GET /profile/:code/feed.atom", "GET /profile/:code/art/:mark/:hash",
	"GET /list/:file", "GET /compare/:code",
	"GET /sign-in/:slot", "GET /sign-in/:slot/callback", "GET /sign-in/oidc/account", "POST /sign-in/oidc/account",
	"POST /sign-in/oidc/account/link", "POST /sign-in/:slot/back-channel",
	"GET /help", "GET /help/:page"}

// The API has its own test, which also tries tokens.
func TestStrangersSeeNoPage(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.As(0)
		walked := 0
		eachRoute(h, func(name, path string, w *httptest.ResponseRecorder) {
			h.Session = nil
			if slices.Contains(openToAll, name) {
				return
			}
			walked++
			if name == "GET /metrics" || strings.HasPrefix(path, "/api/") {
				require.Equal(t, http.StatusUnauthorized, w.Code, name)
				return
			}
			require.Equal(t, http.StatusSeeOther, w.Code, name)
			require.True(t, strings.HasPrefix(w.Header().Get("Location"), "/login"), name)
			require.Empty(t, w.Body.String(), name)
		})
		require.Greater(t, walked, 100)
	})
}

// administration begins the paths that only administrators may use.
var administration = []string{"/api/v1/admin/", "/settings/people", "/settings/server/keys/",
	"/settings/server/breakers/",
	"/settings/server/metadata/"}

func TestMembersDoNotAdminister(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		member := h.Other("Ben")
		h.As(member)
		walked := 0
		eachRoute(h, func(name, path string, w *httptest.ResponseRecorder) {
			if name == "DELETE /api/v1/session" || name == "POST /logout" {
				h.As(member)
			}
			if slices.ContainsFunc(administration, func(p string) bool { return strings.HasPrefix(path, p) }) {
				walked++
				require.Equal(t, http.StatusForbidden, w.Code, name)
			}
		})
		require.GreaterOrEqual(t, walked, 10)
	})
}

// requireHeaders requires each header that docs/asvs.md promises of every answer, once.
func requireHeaders(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	head := w.Header()
	for _, once := range []string{"Cache-Control", "Content-Security-Policy", "X-Content-Type-Options",
		"X-Robots-Tag", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Cross-Origin-Embedder-Policy"} {
		require.Len(t, head.Values(once), 1, "%s of %s", once, name)
	}
	policy := head.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		require.Contains(t, policy, part, name)
	}
	require.NotContains(t, policy, "unsafe", name)
	if name != "GET /static/*" { // which are no documents
		require.Equal(t, []string{"same-origin"}, head.Values("Cross-Origin-Opener-Policy"), name)
		require.Len(t, head.Values("Permissions-Policy"), 1, name)
		require.Contains(t, head.Get("Permissions-Policy"), "camera=()", name)
	}
	require.Equal(t, "nosniff", head.Get("X-Content-Type-Options"), name)
	referrer := "same-origin"
	if strings.Contains(name, "/:code") || name == "GET "+core.OpenList { // the address is a secret
		referrer = "no-referrer"
	}
	require.Equal(t, referrer, head.Get("Referrer-Policy"), name)
	require.Equal(t, "same-origin", head.Get("Cross-Origin-Resource-Policy"), name)
	require.Empty(t, head.Get("Access-Control-Allow-Origin"), name)
	if w.Body.Len() > 0 {
		require.Regexp(t, `^(text/.+; charset=(utf|UTF)-8|application/|image/)`, head.Get("Content-Type"), name)
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, who := range []int64{h.User, 0} {
			h.As(who)
			check := func(name, path string, w *httptest.ResponseRecorder) {
				requireHeaders(t, name, w)
				kept := slices.Contains([]string{"GET /static/*", "GET /sw.js", "GET /manifest.webmanifest"}, name)
				require.Equal(t, kept && w.Code < 400, w.Header().Get("Cache-Control") != "no-store", name)
			}
			eachRoute(h, check)
			files := regexp.MustCompile(`/static/[a-z.0-9-]+`).FindAllString(string(static.Worker()), -1)
			require.Greater(t, len(files), 10)
			for _, file := range append(files, "/static/licences.txt", "/static/sprite.svg", "/static/app.js") {
				w := h.Do(http.MethodGet, file, "", "")
				require.Equal(t, http.StatusOK, w.Code, file)
				check("GET /static/*", file, w)
			}
			check("an unknown page", "", h.Do(http.MethodGet, "/nowhere", "", ""))
			check("an unknown file", "", h.Do(http.MethodGet, "/static/nothing.css", "", ""))
			check("another host", "", h.At("evil.example", "/"))
			check("another site", "", h.Knock(http.MethodPost, "/logout", "Origin", "https://evil.example"))
			for _, method := range []string{http.MethodTrace, http.MethodOptions} {
				w := h.Do(method, "/", "", "")
				require.Contains(t, []int{http.StatusMethodNotAllowed, http.StatusSeeOther}, w.Code, method)
				check(method, "/", w)
			}
		}
	})
}

// What goes wrong after an answer was said to be worth keeping is not kept.
func TestNoCacheKeepsAnError(t *testing.T) {
	t.Parallel()
	h, w := servertest.New(t, delivery.Options{}), httptest.NewRecorder()
	c := h.Router().NewContext(httptest.NewRequest(http.MethodGet, "/api/v1/listens", nil), w)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	w.Header().Set("ETag", `"a card"`)
	h.Router().HTTPErrorHandler(servertest.ErrUnreachable, c)
	require.GreaterOrEqual(t, w.Code, 400)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Empty(t, w.Header().Get("ETag"))
}

func TestEveryPageOffersToSignOut(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		walked := 0
		eachRoute(h, func(name, _ string, w *httptest.ResponseRecorder) {
			if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
				slices.Contains(openToAll, name) {
				return
			}
			if name == "GET /now" { // fits a phone's screen, and leads to a page that offers it
				require.Contains(t, w.Body.String(), `href="/"`, name)
				return
			}
			walked++
			require.Contains(t, w.Body.String(), `action="/logout"`, name)
		})
		require.GreaterOrEqual(t, walked, 10)
	})
}

func TestNoFolderIsListed(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	for _, path := range []string{"/static/", "/static", "/static/../static/", "/static/%2e%2e/", "/art/",
		"/.git/config", "/static/../templates/layout.html"} {
		w := h.Do(http.MethodGet, path, "", "")
		require.NotEqual(t, http.StatusOK, w.Code, path)
		require.NotContains(t, w.Body.String(), "app.css</a>", path)
	}
}
