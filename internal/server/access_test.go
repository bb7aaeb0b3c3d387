package server_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// Calls without a session or a token get 401, and calls with a token of too small a scope get 403.
func TestEveryCallOfTheAPINeedsAScope(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.As(0)
		open := []string{"GET /api/v1/openapi.yaml", "POST /api/v1/setup", "POST /api/v1/session",
			"POST /api/v1/session/passkey", "POST /api/v1/session/passkey/options",
			"POST /api/v1/invitation", "POST /api/v1/reset"}
		owner, err := h.DB.UserByID(t.Context(), h.User)
		require.NoError(t, err)
		secrets := map[accounts.Scope]string{}
		for _, scope := range []accounts.Scope{accounts.Read, accounts.Operate, accounts.Full} {
			_, secrets[scope], err = accounts.MakeToken(t.Context(), h.DB, owner,
				accounts.TokenRequest{Name: string(scope), Scope: scope})
			require.NoError(t, err)
		}
		call := func(method, path, token string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		param := regexp.MustCompile(`:\w+`)
		walked := 0
		for _, route := range h.Router().Routes() {
			if !strings.HasPrefix(route.Path, "/api/v1/") || strings.Contains(route.Path, "*") {
				continue
			}
			name := route.Method + " " + route.Path
			if slices.Contains(open, name) {
				continue
			}
			walked++
			path := param.ReplaceAllString(route.Path, "1")
			require.Equal(t, http.StatusUnauthorized, call(route.Method, path, "").Code, name)
			wrong := call(route.Method, path, "reprise_wrong")
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusTooManyRequests}, wrong.Code, name)
			time.Sleep(2 * time.Second) // a wrong token costs a try
			need := needed(route.Method, route.Path)
			for scope, secret := range secrets {
				if scope.Covers(need) {
					continue // its own tests say what it does
				}
				w := call(route.Method, path, secret)
				require.Equal(t, http.StatusForbidden, w.Code, "%s with %s", name, scope)
				require.Contains(t, w.Header().Get("WWW-Authenticate"), "insufficient_scope", name)
				require.Empty(t, w.Result().Cookies())
			}
		}
		require.Greater(t, walked, 40)
	})
}

// needed returns the scope that a call needs; "session" when no token is good for it.
func needed(method, route string) accounts.Scope {
	switch name := method + " " + route; {
	case name == "DELETE /api/v1/session" || name == "DELETE /api/v1/account" || name == "POST /api/v1/tokens",
		route == "/api/v1/account/confirm", strings.HasPrefix(route, "/api/v1/account/second-step"),
		strings.HasPrefix(route, "/api/v1/account/passkeys"):
		return "session"
	case strings.HasPrefix(route, "/api/v1/admin/"):
		return accounts.Full
	case method == http.MethodGet && name != "GET /api/v1/tokens" && name != "GET /api/v1/sessions" &&
		name != "GET /api/v1/account/factors":
		return accounts.Read
	}
	return accounts.Operate
}

// mayScrape says whether the server would answer a request for the metrics.
func mayScrape(h *servertest.Household, r *http.Request) bool {
	h.T.Helper()
	r = r.Clone(h.T.Context())
	r.URL.Path = "/metrics"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Contains(h.T, []int{http.StatusOK, http.StatusUnauthorized}, w.Code)
	return w.Code == http.StatusOK
}

// A token of full scope is no more than a member's once its owner is no administrator any more.
func TestAdminTokenLosesItsScopeWithTheRole(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		member := h.Other("Ben")
		ben, err := h.DB.UserByID(t.Context(), member)
		require.NoError(t, err)
		ben.Role = accounts.Admin // as it was when he made it
		_, secret, err := accounts.MakeToken(t.Context(), h.DB, ben,
			accounts.TokenRequest{Name: "scripts", Scope: accounts.Full})
		require.NoError(t, err)
		h.As(0)
		for path, want := range map[string]int{"/api/v1/admin/users": http.StatusForbidden,
			"/api/v1/connections": http.StatusOK} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, want, w.Code, "%s: %s", path, w.Body)
			require.False(t, mayScrape(h, r), "nor the metrics")
		}
	})
}

func TestWhoMayScrape(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.AdminToken = "sixteen-characters-and-more"
		h.Restart()
		owner, err := h.DB.UserByID(t.Context(), h.User)
		require.NoError(t, err)
		token := func(scope accounts.Scope) string {
			_, secret, err := accounts.MakeToken(t.Context(), h.DB, owner,
				accounts.TokenRequest{Name: string(scope), Scope: scope})
			require.NoError(t, err)
			return "Bearer " + secret
		}
		h.Page("/") // signs in
		cookie := h.Session[0].String()
		for _, c := range []struct {
			what, peer, header, value string
			want                      bool
		}{
			{"a stranger", "203.0.113.7:1", "", "", false},
			{"this machine", "127.0.0.1:1", "", "", true},
			{"this machine", "[::1]:1", "", "", true},
			{"a proxy on this machine", "127.0.0.1:1", "X-Forwarded-For", "203.0.113.7", false},
			{"a proxy on this machine", "127.0.0.1:1", "Forwarded", "for=203.0.113.7", false},
			{"a proxy on this machine", "127.0.0.1:1", "X-Real-IP", "203.0.113.7", false},
			{"the admin token", "203.0.113.7:1", "Authorization", "bearer sixteen-characters-and-more", true},
			{"another one", "203.0.113.7:1", "Authorization", "Bearer sixteen-characters-and-less", false},
			{"a token for reading", "203.0.113.7:1", "Authorization", token(accounts.Read), false},
			{"a token for administration", "203.0.113.7:1", "Authorization", token(accounts.Full), true},
			{"an administrator", "203.0.113.7:1", "Cookie", cookie, true},
			{"somebody else's cookie", "203.0.113.7:1", "Cookie", "reprise_session=x", false},
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			r.RemoteAddr = c.peer
			if c.header != "" {
				r.Header.Set(c.header, c.value)
			}
			require.Equal(t, c.want, mayScrape(h, r), "%s: %s", c.what, c.header)
		}
		h.AdminToken = ""
		h.Restart()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Header.Set("Authorization", "Bearer ")
		require.False(t, mayScrape(h, r), "no token is not an empty one")
	})
}

// The process is alive all the time, but ready only while it does its work.
func TestReadyNeedsDatabaseAndTickingLoops(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		is := func(status int, words string) {
			t.Helper()
			w := h.Do(http.MethodGet, "/readyz", "", "")
			require.Equal(t, status, w.Code)
			require.Contains(t, w.Body.String(), words)
			require.Equal(t, http.StatusOK, h.Do(http.MethodGet, "/livez", "", "").Code)
		}
		is(http.StatusServiceUnavailable, "loops: have not ticked")
		h.Syncer.Tick(t.Context(), library.Listens)
		is(http.StatusOK, "ok")
		time.Sleep(3*h.Syncer.Every(library.Playlists) + 2*time.Minute)
		is(http.StatusServiceUnavailable, "loops: have not ticked")
		h.Syncer.Tick(t.Context(), library.Listens)
		is(http.StatusOK, "ok")
		require.NoError(t, h.DB.Close())
		is(http.StatusServiceUnavailable, "database: ")
	})
}
