package test

import (
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
)

// issuer starts an issuer of OpenID Connect that others have written, for a server that listens at an address.
func issuer(t *testing.T, server string) (address string) {
	t.Helper()
	address = "http://" + childtest.Address(t)
	c, said := exec.Command("node", "testdata/issuer/issuer.mjs",
		filepath.Join(cacheDir(t), "oidc-provider-9.13.3", "node_modules"), address,
		server+"/sign-in/oidc/callback", server+"/sign-in/oidc/back-channel"), &buffer{}
	c.Stdout, c.Stderr = said, said
	require.NoError(t, childtest.Tie(c, syscall.SIGKILL).Start(), ".ci/tools installs it")
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("oidc-provider: %s", said)
		}
	})
	until(t, func() bool {
		resp, err := http.Get(address + "/.well-known/openid-configuration")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, "oidc-provider")
	return address
}

// posted matches the form of a page of oidc-provider's.
var posted = regexp.MustCompile(`(?s)<form[^>]*action="([^"]+)".*?name="prompt" value="(\w+)"`)

// through signs in on the issuer's own pages, and allows what they ask for. It returns the page that this leads to.
func (v *person) through(name string) string {
	v.t.Helper()
	resp, err := v.Get(v.base + "/sign-in/oidc?after=/listens")
	require.NoError(v.t, err)
	for range 4 {
		page, err := io.ReadAll(resp.Body)
		require.NoError(v.t, err)
		require.NoError(v.t, resp.Body.Close())
		form := posted.FindSubmatch(page)
		if form == nil {
			require.Equal(v.t, http.StatusOK, resp.StatusCode, "%s", page)
			return resp.Request.URL.Path
		}
		resp, err = v.PostForm(string(form[1]), url.Values{"prompt": {string(form[2])}, "login": {name},
			"password": {"any"}})
		require.NoError(v.t, err)
	}
	require.Fail(v.t, "the issuer goes on asking")
	return ""
}

// Promise: People sign in with an account that they have at home already, from an issuer of OpenID Connect that knows
// nothing of Reprise but what its page says; an administrator opens the door to them.
func TestSigningInFromAnIssuerAtHome(t *testing.T) {
	t.Parallel()
	listen := childtest.Address(t)
	far := issuer(t, "http://"+listen)
	p := startAt(t, t.TempDir(), listen, "REPRISE_AUTH_OIDC_ISSUER="+far, "REPRISE_AUTH_OIDC_CLIENT_ID=reprise",
		"REPRISE_AUTH_OIDC_CLIENT_SECRET=of the client", "REPRISE_AUTH_OIDC_ALLOW_GROUP=music",
		"REPRISE_AUTH_OIDC_CREATE_ACCOUNTS=true")
	p.newcomer()
	bob := p.visitor()
	require.Equal(t, "/welcome/services", bob.through("bob"))
	require.Equal(t, "bob", bob.call("GET", "/account", nil, http.StatusOK)["name"])
	again := p.visitor()
	require.Equal(t, "/listens", again.through("bob"))
	sessions := again.call("GET", "/sessions", nil, http.StatusOK)["sessions"].([]any)
	require.Len(t, sessions, 2)
	require.Equal(t, "openid", sessions[0].(object)["way"])

	// Signing out ends the session there, which tells Reprise so.
	resp, err := again.PostForm(p.url+"/logout", nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Regexp(t, "^0; url="+far+"/session/end\\?", resp.Header.Get("Refresh"))
	require.Equal(t, http.StatusUnauthorized, func() int {
		resp, err := again.Get(p.url + "/api/v1/account")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}())
}
