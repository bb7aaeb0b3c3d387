package people_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
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
	h := servertest.Public(t)
	w := h.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password)
	require.Contains(t, cookieNames(w), "__Host-reprise_session")
	cookie := h.Session[0]
	require.Equal(t, "/", cookie.Path)
	require.True(t, cookie.Secure)
	require.Empty(t, cookie.Domain)
	require.Equal(t, http.StatusOK, h.Knock(http.MethodGet, "/listens").Code)

	// the token of a session of today is no good under the old name, which another host of the domain could set
	h.Session[0].Name = "reprise_session"
	require.Equal(t, http.StatusSeeOther, h.Knock(http.MethodGet, "/listens").Code)

	plain := servertest.New(t, delivery.Options{})
	plain.Page("/")
	require.Equal(t, "reprise_session", plain.Session[0].Name, "without TLS browsers refuse the prefix")
}

// Who was signed in before the upgrade stays signed in: the cookie of the old name is exchanged once.
func TestOldCookieIsExchanged(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	base := h.BaseURL
	h.BaseURL = "http://127.0.0.1:8420" // where the cookie has the old name
	h.As(0)
	h.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password)
	session := h.Session
	h.BaseURL = base
	h.As(0)
	h.Session = session
	w := h.Knock(http.MethodGet, "/listens")
	require.Equal(t, http.StatusOK, w.Code)
	require.ElementsMatch(t, []string{"__Host-reprise_session", "-reprise_session"}, cookieNames(w))
	h.Session = w.Result().Cookies()[:1]
	w = h.Knock(http.MethodGet, "/listens")
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, cookieNames(w), "once")
}

func TestNoCacheKeepsSignInPages(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	require.Equal(t, "no-store", h.Knock(http.MethodGet, "/login").Header().Get("Cache-Control"))
	w := h.Submit("/login", http.StatusUnauthorized, "name", "Bea", "password", "not this one")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	h.SetupCode = "CODE"
	h.As(0)
	for _, path := range []string{"/setup", "/setup?code=CODE", "/setup?code=wrong"} {
		require.Equal(t, "no-store", h.Knock(http.MethodGet, path).Header().Get("Cache-Control"), path)
	}
	w = h.Do(http.MethodPost, "/api/v1/setup", `{"code":"wrong"}`, "application/json")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
}

// Bea reads of a sign-in in a browser that her account was not used with: not of the first one, not in a known browser,
// and of a program that signs in again and again once.
func TestANewDeviceIsToldOf(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		told := func() (n int) {
			u, err := h.DB.UserByName(t.Context(), "Bea")
			require.NoError(t, err)
			all, err := h.DB.Notifications(t.Context(), u.ID, true)
			require.NoError(t, err)
			for _, one := range all {
				if one.Cause == "new_device" {
					n++
				}
			}
			return n
		}
		desk := h.Browser("10.1.1.1", servertest.Firefox, "Bea")
		require.Zero(t, told(), "the first time")
		signIn := func(b *servertest.Browser) {
			time.Sleep(time.Minute)
			w := b.Ask(http.MethodPost, "/api/v1/session", `{"name":"bea","password":"`+servertest.Password+`"}`)
			require.Equal(t, http.StatusCreated, w.Code)
			if b.Cookies != nil { // a browser keeps them, a program doesn't
				b.Cookies = w.Result().Cookies()
			}
		}
		desk.Address = "10.7.7.7" // it has moved, and is known by its cookie
		signIn(desk)
		require.Zero(t, told())
		program := &servertest.Browser{Household: h, Agent: "curl/8", Address: "10.2.2.2"}
		for range 3 {
			signIn(program)
		}
		require.Equal(t, 1, told())
		signIn(&servertest.Browser{Household: h, Agent: servertest.Firefox, Address: "10.3.3.3"})
		require.Equal(t, 2, told())
		time.Sleep(time.Minute)
		stranger := h.Browser("10.4.4.4", servertest.Firefox, "Bea")
		require.Equal(t, 3, told())
		for range 2 {
			require.Equal(t, http.StatusOK, stranger.Ask(http.MethodGet, "/settings/account", "").Code)
			require.Equal(t, 3, told(), "who it is about doesn't close it by looking")
			signIn(stranger) // not even after signing in again
		}
		page := servertest.Text(desk.Ask(http.MethodGet, "/settings/account", ""))
		require.Contains(t, page, "Password")
		require.Zero(t, told(), "seen where it is about")
	})
}
