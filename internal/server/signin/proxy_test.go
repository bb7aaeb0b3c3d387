package signin_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/metrics"
	"reprise/internal/server/servertest"
)

// behind returns a household behind a proxy at 172.18.0.5 that says who somebody is.
func behind(t *testing.T, change func(*config.Proxy)) home {
	t.Helper()
	h := home{Household: servertest.Public(t)}
	h.Proxy = config.Proxy{Header: "Remote-User", From: []string{"172.18.0.0/16"}}
	if change != nil {
		change(&h.Proxy)
	}
	h.Counters = metrics.New(servertest.Catalogue)
	h.Restart()
	return h
}

// as returns a browser of which the proxy says that it is somebody's.
func (h home) as(names ...string) *visitor {
	v := h.visitor()
	v.from, v.header = "172.18.0.5", http.Header{"Remote-User": names}
	return v
}

// Who has signed in at the proxy is in, as the account of that name, and out when the proxy is silent.
func TestAProxySaysWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	h := behind(t, func(p *config.Proxy) { p.SignOut = "https://auth.example.org/logout" })
	_, err := h.Accounts.Create(t.Context(), "Cai", servertest.Password, accounts.Member, false)
	require.NoError(t, err)
	v := h.as("bea")
	require.Contains(t, v.page("/listens"), "Listens")
	require.Equal(t, "Bea", v.who())
	require.Contains(t, v.do(http.MethodGet, "/api/v1/sessions", nil).Body.String(), `"way":"proxy"`)
	require.Contains(t, v.page("/activity"), "Bea signed in with Firefox on Linux")
	v.header = http.Header{"Remote-User": {"CAI"}}
	require.Contains(t, v.page("/settings/account"), "Cai", "the proxy's word counts more than a cookie")
	require.Equal(t, "Cai", v.who())
	renamed := v.do(http.MethodPost, "/settings/account/name", url.Values{"name": {"Ann's sister"}})
	require.Equal(t, http.StatusUnprocessableEntity, renamed.Code, "a name opens an account")
	v.header = nil
	require.Equal(t, "/login?after=%2Flistens", to(t, v.do(http.MethodGet, "/listens", nil)), "the proxy is silent")
	require.Equal(t, "Cai", v.who(), "proxies let calls of the API pass")
	v.header = http.Header{"Remote-User": {"Cai"}}
	require.Equal(t, "Cai", v.who())
	w := v.do(http.MethodPost, "/logout", url.Values{})
	require.Equal(t, "0; url=https://auth.example.org/logout", w.Header().Get("Refresh"))

	// the proxy has asked nobody: who has a password shows it before what can't be undone
	v.page("/listens")
	w = v.do(http.MethodDelete, "/api/v1/identities/x", nil)
	require.Equal(t, http.StatusForbidden, w.Code)
	v.do(http.MethodPost, "/confirm", url.Values{"password": {servertest.Password}})
	require.Equal(t, http.StatusNotFound, v.do(http.MethodDelete, "/api/v1/identities/x", nil).Code)

	// the local way in works where the proxy lets somebody through without a name
	local := h.visitor()
	local.from = "172.18.0.5"
	local.signIn("Bea", "/")
	require.Equal(t, "Bea", local.who())
}

// A header from anywhere else is no word of the proxy: neither what a client sends itself, nor what it says of its
// address.
func TestAHeaderFromOutsideIsNothing(t *testing.T) {
	t.Parallel()
	h := behind(t, nil)
	h.TrustedProxies = []string{"192.0.2.0/24"}
	h.Restart()
	v := h.as("Bea")
	for _, from := range []string{"192.0.2.7", "172.19.0.5", "127.0.0.1", "[::1]", "[::ffff:10.0.0.1]"} {
		v.from = from
		v.header.Set("X-Forwarded-For", "172.18.0.5")
		require.Empty(t, v.who(), from)
		require.Equal(t, "/login?after=%2Flistens", to(t, v.do(http.MethodGet, "/listens", nil)))
	}
	v.from = "172.18.0.5"
	require.Empty(t, v.who(), "proxies let calls of the API pass, with what a client says")
	v.from = "[::ffff:172.18.0.5]" // how a socket for both kinds of addresses shows the proxy
	v.page("/listens")
	require.Equal(t, "Bea", v.who())

	require.Equal(t, http.StatusBadRequest, h.as("Bea", "Ann").do(http.MethodGet, "/listens", nil).Code)
	for _, none := range []string{"", "   ", "{http.reverse_proxy.header.Remote-User}"} { // the last is Caddy 2.6's
		require.Equal(t, "/login?after=%2Flistens", to(t, h.as(none).do(http.MethodGet, "/listens", nil)))
	}
}

// An unknown name gets no account unless an administrator wants that, and then a member's.
func TestUnknownNamesOfAProxy(t *testing.T) {
	t.Parallel()
	h := behind(t, nil)
	w := h.as("dora").do(http.MethodGet, "/listens", nil)
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Contains(t, text(w), "nobody has that name here")
	_, err := h.DB.UserByName(t.Context(), "dora")
	require.ErrorIs(t, err, accounts.ErrUnknown)

	admin := h.visitor() // who turned the proxy on, under another name there, isn't locked out
	admin.from = "172.18.0.5"
	admin.signIn("Bea", "/")
	admin.header = http.Header{"Remote-User": {"beatrice"}}
	require.Contains(t, admin.page("/settings/account"), "Bea")

	h.Proxy.CreateAccounts = true
	h.Restart()
	dora := h.as("dora")
	require.Contains(t, dora.page("/settings/account"), "dora")
	dora.page("/settings/account/remove") // who has nothing else to show isn't locked out
	u, err := h.DB.UserByName(t.Context(), "dora")
	require.NoError(t, err)
	require.Equal(t, accounts.Member, u.Role)
	require.Equal(t, http.StatusUnprocessableEntity, h.as("a\x01b").do(http.MethodGet, "/listens", nil).Code)
}
