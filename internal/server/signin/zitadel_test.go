package signin_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/openid"
	"reprise/internal/openid/openidtest"
)

// Somebody comes in from an issuer that others have written: zitadel's, with its own sign-in page.
func TestComingFromZitadelsIssuer(t *testing.T) {
	t.Parallel()
	far := openidtest.StartZitadel(t, openidtest.BuildZitadel(t, "../../oauth/testdata/oidcserver"),
		"https://music.example.org/sign-in/oidc/callback")
	h := withIssuer(t, nil)
	h.Issuer = openid.New(http.DefaultClient, config.OpenID{Issuer: far, ClientID: "reprise",
		Scopes: []string{"openid", "profile", "email"}, GroupsClaim: "groups",
		CreateAccounts: true, Form: config.FormShown})
	h.Restart()
	v := h.visitor()
	address := to(t, v.do(http.MethodGet, "/sign-in/oidc?after=/listens", nil))

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	var back *url.URL
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host == "music.example.org" {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	page, err := browser.Get(address)
	require.NoError(t, err)
	require.NoError(t, page.Body.Close())
	require.Equal(t, "/login/username", page.Request.URL.Path)
	sent, err := browser.PostForm(page.Request.URL.Scheme+"://"+page.Request.URL.Host+"/login/username", url.Values{
		"id":       {page.Request.URL.Query().Get("authRequestID")},
		"username": {"test-user2"}, "password": {"verysecure"}})
	require.NoError(t, err)
	require.NoError(t, sent.Body.Close())
	require.NotNil(t, back, "the issuer has sent the browser back")
	require.Equal(t, "/welcome", to(t, v.do(http.MethodGet, back.RequestURI(), nil)))
	require.Equal(t, "test-user2", v.who())
}
