package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// An upstream, a file and a person can all choose names that look like parts of a page.
func TestHostileNamesStayText(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		const hostile = `</title><script>alert(1)</script>"' onclick=alert(1) x="{{.}}`
		h.Hear(hostile)
		h.Submit("/connections/spotify/name", http.StatusSeeOther, "name", "<script>alert(1)</script>")
		h.Submit("/settings/programs", http.StatusSeeOther, "name", "<script>alert(1)</script>", "scope", "read")
		for _, path := range []string{"/", "/listens", "/connections/spotify", "/settings", "/activity", "/imports"} {
			page := h.Page(path)
			require.NotContains(t, page, "<script>alert", path)
			require.NotContains(t, page, `" onclick=`, path)
			require.NotContains(t, page, `' onclick=`, path)
		}
		require.Contains(t, h.Page("/listens"), "&lt;script&gt;alert(1)&lt;/script&gt;")
		listen := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		require.Equal(t, hostile, listen["track"], "it is kept as it is")
	})
}

// Without a trusted proxy in between, the header X-Forwarded-For is ignored.
func TestOnlyTrustedProxiesNameTheBrowser(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		h.TrustedProxies = []string{"10.0.0.0/8"}
		h.Restart()
		guess := func(i int, peer, forwarded string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/session",
				strings.NewReader(fmt.Sprintf(`{"name":"nobody %d","password":"guess"}`, i)))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Forwarded-For", forwarded)
			r.Header.Set("X-Real-Ip", forwarded)
			r.RemoteAddr = peer + ":1"
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		for i := range 11 { // each from another address, as the liar says
			want := http.StatusUnauthorized
			if i == 10 {
				want = http.StatusTooManyRequests
			}
			require.Equal(t, want, guess(i, "203.0.113.7", servertest.Address(i)), i)
			require.Equal(t, want, guess(20+i, "10.0.0.1", fmt.Sprintf("%s, 198.51.100.7", servertest.Address(i))), i)
		}
		require.Equal(t, http.StatusUnauthorized, guess(50, "10.0.0.1", "192.0.2.50"), "another browser")
	})
}

// A session that somebody planted before does not become the one of the person who signs in.
func TestSignInMakesANewSession(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	signIn := func() *http.Cookie {
		h.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password)
		require.Equal(t, "__Host-reprise_session", h.Session[0].Name)
		return h.Session[0]
	}
	first := signIn()
	h.Session = []*http.Cookie{first}
	second := signIn()
	require.NotEqual(t, first.Value, second.Value)
	for cookie, want := range map[*http.Cookie]int{first: http.StatusSeeOther, second: http.StatusOK} {
		h.Session = []*http.Cookie{cookie}
		require.Equal(t, want, h.Knock(http.MethodGet, "/listens").Code)
	}
	h.Session = []*http.Cookie{{Name: first.Name, Value: "chosen-by-somebody-else"}}
	require.NotEqual(t, "chosen-by-somebody-else", signIn().Value)
}
