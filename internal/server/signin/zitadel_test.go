package signin_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/openid/openidtest"
)

// Somebody comes in from an issuer that others have written: zitadel's, with its own sign-in page.
func TestComingFromZitadelsIssuer(t *testing.T) {
	t.Parallel()
	far := openidtest.StartZitadel(t, openidtest.BuildZitadel(t, "../../oauth/testdata/oidcserver"),
		"https://music.example.org/sign-in/oidc/callback")
	h := withIssuer(t, nil)
	h.sets(func(s *config.OpenID) {
		s.Issuers[0] = config.Issuer{Issuer: far, ClientID: "reprise", GroupsClaim: "groups", CreateAccounts: true,
			Scopes: []string{"openid", "profile", "email", "offline_access"}}
	})
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

	tokens := map[string]bool{}
	for range 3 { // it takes the token of its latest answer only
		due, err := h.DB.DueGrants(t.Context(), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Len(t, due, 1)
		tokens[due[0].Token] = true
		h.anHourLater()
		require.Equal(t, "test-user2", v.who())
	}
	require.Len(t, tokens, 3)
}
