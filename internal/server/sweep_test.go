package server

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
)

var parameter = regexp.MustCompile(`:\w+`)

// eachRoute calls see with every route, a path of it, and what the present person is answered there.
func (h *household) eachRoute(see func(name, path string, w *httptest.ResponseRecorder)) {
	h.t.Helper()
	for _, r := range h.echo.Routes() {
		if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete}, r.Method) {
			continue // echo's own, for paths that do not exist
		}
		path := strings.ReplaceAll(parameter.ReplaceAllString(r.Path, "1"), "*", "app.css")
		see(r.Method+" "+r.Path, path, h.do(r.Method, path, "", ""))
	}
}

// openToAll are the routes that answer without a session or a token.
var openToAll = []string{"GET /livez", "GET /readyz", "GET /static/*", "GET /sw.js", "GET /manifest.webmanifest",
	"GET /offline", "GET /api/v1/openapi.yaml",
	"GET /login", "POST /login", "POST /api/v1/session", "GET /setup", "POST /setup", "POST /api/v1/setup",
	"GET /invitation/:code", "GET /invitation", "POST /invitation", "POST /api/v1/invitation",
	"GET /reset/:code", "GET /reset", "POST /reset", "POST /api/v1/reset", "POST /language",
	"GET /year/:code", "GET /year/:code/card.png", "GET /year/:code/card.svg",
	"GET /help", "GET /help/:page"}

// The API has its own test, which also tries tokens.
func TestStrangersSeeNoPage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.as(0)
		walked := 0
		h.eachRoute(func(name, path string, w *httptest.ResponseRecorder) {
			h.session = nil
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
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		member := h.other("Ben")
		h.as(member)
		walked := 0
		h.eachRoute(func(name, path string, w *httptest.ResponseRecorder) {
			if name == "DELETE /api/v1/session" || name == "POST /logout" {
				h.as(member)
			}
			if slices.ContainsFunc(administration, func(p string) bool { return strings.HasPrefix(path, p) }) {
				walked++
				require.Equal(t, http.StatusForbidden, w.Code, name)
			}
		})
		require.GreaterOrEqual(t, walked, 10)
	})
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		for _, who := range []int64{h.user, 0} {
			h.as(who)
			check := func(name, path string, w *httptest.ResponseRecorder) {
				head := w.Header()
				if name != "GET /static/*" { // a style or a script is no document
					require.Contains(t, head.Get("Content-Security-Policy"), "default-src 'none'", name)
					require.Contains(t, head.Get("Content-Security-Policy"), "frame-ancestors 'none'", name)
					require.Contains(t, head.Get("Content-Security-Policy"), "base-uri 'none'", name)
					require.Contains(t, head.Get("Permissions-Policy"), "camera=()", name)
				}
				require.NotContains(t, head.Get("Content-Security-Policy"), "unsafe", name)
				require.Equal(t, "nosniff", head.Get("X-Content-Type-Options"), name)
				referrer := "same-origin"
				if strings.Contains(name, "/:code") { // the address is a secret
					referrer = "no-referrer"
				}
				require.Equal(t, referrer, head.Get("Referrer-Policy"), name)
				require.Equal(t, "same-origin", head.Get("Cross-Origin-Opener-Policy"), name)
				require.Equal(t, "same-origin", head.Get("Cross-Origin-Resource-Policy"), name)
				require.Empty(t, head.Get("Access-Control-Allow-Origin"), name)
				if w.Body.Len() > 0 {
					require.Regexp(t, `^(text/.+; charset=(utf|UTF)-8|application/|image/)`,
						head.Get("Content-Type"), name)
				}
				if !slices.Contains([]string{"GET /static/*", "GET /sw.js", "GET /manifest.webmanifest", "GET /offline",
					"GET /api/v1/openapi.yaml", "GET /livez",
					"GET /readyz", "GET /metrics", "GET /art/:hash"}, name) && w.Code < 400 {
					require.Equal(t, "no-store", head.Get("Cache-Control"), name)
				}
			}
			h.eachRoute(check)
			check("an unknown page", "", h.do(http.MethodGet, "/nowhere", "", ""))
			for _, method := range []string{http.MethodTrace, http.MethodOptions} {
				w := h.do(method, "/", "", "")
				require.Contains(t, []int{http.StatusMethodNotAllowed, http.StatusSeeOther}, w.Code, method)
				check(method, "/", w)
			}
		}
	})
}

func TestEveryPageOffersToSignOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		walked := 0
		h.eachRoute(func(name, _ string, w *httptest.ResponseRecorder) {
			if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
				slices.Contains(openToAll, name) {
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
	h := newHousehold(t, delivery.Options{})
	for _, path := range []string{"/static/", "/static", "/static/../static/", "/static/%2e%2e/", "/art/",
		"/.git/config", "/static/../templates/layout.html"} {
		w := h.do(http.MethodGet, path, "", "")
		require.NotEqual(t, http.StatusOK, w.Code, path)
		require.NotContains(t, w.Body.String(), "app.css</a>", path)
	}
}
