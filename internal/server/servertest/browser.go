package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
)

// Password is that of everybody who can sign in.
const Password = "a few random words"

// Public returns a household behind a reverse proxy with TLS, with an account that can sign in.
func Public(t *testing.T) *Household {
	t.Helper()
	h := New(t, delivery.Options{})
	people := accounts.New(h.DB, 1)
	h.BaseURL, h.Accounts = "https://music.example.org", people
	h.As(0)
	_, err := h.Accounts.Create(t.Context(), "Bea", Password, accounts.Member, false)
	require.NoError(t, err)
	return h
}

// Browser is a signed-in browser of Bea's.
type Browser struct {
	*Household
	Cookies []*http.Cookie
	Agent   string
	Address string
}

// Firefox is what a browser calls itself.
const Firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"

// Browser signs a person in with Password.
func (h *Household) Browser(address, agent, name string) *Browser {
	h.T.Helper()
	b := &Browser{Household: h, Agent: agent, Address: address}
	w := b.Ask(http.MethodPost, "/api/v1/session", fmt.Sprintf(`{"name":%q,"password":%q}`, name, Password))
	require.Equal(h.T, http.StatusCreated, w.Code, w.Body)
	b.Cookies = w.Result().Cookies()
	return b
}

// Ask makes a call from this browser.
func (b *Browser) Ask(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.T.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", b.Agent)
	r.RemoteAddr = b.Address + ":1"
	for _, c := range b.Cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// Listed returns what a browser learns about the sessions of its user.
func (b *Browser) Listed() []map[string]any {
	b.T.Helper()
	w := b.Ask(http.MethodGet, "/api/v1/sessions", "")
	require.Equal(b.T, http.StatusOK, w.Code, w.Body)
	var all struct{ Sessions []map[string]any }
	require.NoError(b.T, json.Unmarshal(w.Body.Bytes(), &all))
	return all.Sessions
}

// IsSignedIn reports whether the browser's session is good for a call.
func (b *Browser) IsSignedIn() bool {
	return b.Ask(http.MethodGet, "/api/v1/connections", "").Code == http.StatusOK
}

// Address returns the i-th of many addresses in networks of their own.
func Address(i int) string { return fmt.Sprintf("10.%d.%d.9", i/200, i%200) }
