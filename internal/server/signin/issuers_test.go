package signin_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/openid/openidtest"
	"reprise/internal/server/servertest"
)

// withTwo returns a household whose people can come from two issuers, which both make accounts.
func withTwo(t *testing.T) (h home, second *openidtest.Issuer) {
	t.Helper()
	h = withIssuer(t, func(s *config.Issuer) { s.CreateAccounts = true })
	second = openidtest.New(t)
	h.sets(func(s *config.OpenID) {
		s.Issuers[1] = at(second, "Work")
		s.Issuers[1].CreateAccounts = true
	})
	h.far.Claims = map[string]any{"preferred_username": "dora", "sid": "home"}
	second.Claims = map[string]any{"preferred_username": "dora at work", "sid": "work"}
	return h, second
}

// Each issuer has its button, its addresses and its people; somebody may have an account at both.
func TestIssuersSideBySide(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	v := h.visitor()
	page := v.page("/login")
	require.Contains(t, page, "Sign in with Home")
	require.Contains(t, page, "Sign in with Work")
	require.Equal(t, "/welcome", to(t, v.comes(h.far, "/sign-in/oidc")))
	require.Equal(t, "dora", v.who())
	other := h.visitor()
	require.Equal(t, "/welcome", to(t, other.comes(second, "/sign-in/oidc2")), "the same subject is somebody else")
	require.Equal(t, "dora at work", other.who())

	second.Subject = "dora's at work"
	page = v.page("/settings/account")
	require.Contains(t, page, "Link Work")
	require.NotContains(t, page, "Link Home")
	w := v.do(http.MethodPost, "/settings/account/identities", url.Values{"issuer": {"oidc2"}})
	require.Equal(t, "0; url=/sign-in/oidc2", w.Header().Get("Refresh"))
	require.Equal(t, "/settings/account#identities", to(t, v.comes(second, "/sign-in/oidc2")))
	require.Contains(t, v.page("/settings/account"), "You can sign in with Home or Work.")
	again := h.visitor()
	again.comes(second, "/sign-in/oidc2")
	require.Equal(t, "dora", again.who())
	require.Equal(t, http.StatusNotFound, v.do(http.MethodGet, "/sign-in/oidc4", nil).Code)
	require.Equal(t, http.StatusNotFound, v.do(http.MethodGet, "/sign-in/oidc3", nil).Code, "none is set up there")
	require.Equal(t, http.StatusNotFound,
		v.do(http.MethodPost, "/settings/account/identities", url.Values{"issuer": {"oidc4"}}).Code)
}

// Who comes from a second issuer for the first time links it by signing in with the first one.
func TestASecondIssuerIsLinkedThroughTheFirst(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	h.sets(func(s *config.OpenID) { s.Issuers[1].CreateAccounts = false })
	h.visitor().comes(h.far, "/sign-in/oidc")
	second.Subject = "dora's at work"
	v := h.visitor()
	require.Equal(t, "/sign-in/oidc/account", to(t, v.comes(second, "/sign-in/oidc2")))
	require.Equal(t, "/sign-in/oidc/account", to(t, v.comes(h.far, "/sign-in/oidc?after=/sign-in/oidc/account")))
	require.Contains(t, v.page("/sign-in/oidc/account"), "Link it to dora")
	v.do(http.MethodPost, "/sign-in/oidc/account/link", url.Values{})
	require.Contains(t, v.page("/settings/account"), "You can sign in with Home or Work.")
}

// An answer that comes to another issuer's address signs nobody in: an issuer could pretend to be the other one.
func TestAnAnswerAtAnothersAddressIsRefused(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	h.far.Unnamed, second.Unnamed = true, true // nothing but the address tells them apart
	v := h.visitor()
	for begun, elsewhere := range map[string]string{"/sign-in/oidc": "/sign-in/oidc2/callback",
		"/sign-in/oidc2": "/sign-in/oidc/callback"} {
		far := h.far
		if begun == "/sign-in/oidc2" {
			far = second
		}
		back, err := url.Parse(far.Allow(to(t, v.do(http.MethodGet, begun, nil))))
		require.NoError(t, err)
		w := v.do(http.MethodGet, elsewhere+"?"+back.RawQuery, nil)
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, text(w), "doesn't fit")
		require.Equal(t, http.StatusBadRequest, v.do(http.MethodGet, back.RequestURI(), nil).Code, "it is used up")
	}
	require.Empty(t, v.who())
}

// Linking one issuer is no purpose for a visit at another one.
func TestAPurposeIsOfOneIssuer(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	v := h.visitor()
	v.signIn("Bea", "/")
	v.do(http.MethodPost, "/settings/account/identities", url.Values{"issuer": {"oidc"}})
	require.Equal(t, "/sign-in/oidc/account", to(t, v.comes(second, "/sign-in/oidc2")), "it asks first")
	require.Empty(t, h.listed(v))
}

// A browser goes on by itself only where there is one issuer; with more, a button for each is shown.
func TestSeveralIssuersSkipNothing(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	h.sets(func(s *config.OpenID) { s.Form = config.FormSkipped })
	page := h.visitor().page("/login")
	require.Contains(t, page, "Sign in with Work")
	require.NotContains(t, page, `name="password"`)
	second.Down = true // that is nothing to the other one
	require.Equal(t, http.StatusBadGateway, h.visitor().do(http.MethodGet, "/sign-in/oidc2", nil).Code)
	v := h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	require.Equal(t, "dora", v.who())
	h.sets(func(s *config.OpenID) { s.Issuers[0] = config.Issuer{} })
	require.Equal(t, "/sign-in/oidc2?after=%2F", to(t, h.visitor().do(http.MethodGet, "/login", nil)))
}

// Signing out, and the end of a session there, are about the issuer that somebody came from.
func TestSignOutGoesToTheSessionsIssuer(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	h.far.SignOut, second.SignOut = true, true
	v, other := h.visitor(), h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	other.comes(second, "/sign-in/oidc2")
	w := other.do(http.MethodPost, "/logout", url.Values{})
	require.Contains(t, w.Header().Get("Refresh"), second.URL+"/end?")
	other.comes(second, "/sign-in/oidc2")

	word := second.Sign(map[string]any{"iss": second.URL, "aud": openidtest.ClientID, "iat": time.Now().Unix(),
		"jti": "1", "exp": time.Now().Add(time.Minute).Unix(), "sub": second.Subject,
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}})
	form := url.Values{"logout_token": {word}}
	require.Equal(t, http.StatusBadRequest, h.visitor().do(http.MethodPost, "/sign-in/oidc/back-channel", form).Code)
	require.Equal(t, "dora at work", other.who())
	require.Equal(t, http.StatusOK, h.visitor().do(http.MethodPost, "/sign-in/oidc2/back-channel", form).Code)
	require.Empty(t, other.who())
	require.Equal(t, "dora", v.who())
}

// Each issuer's group decides about those who come from there, and about nobody else.
func TestEachIssuerDecidesAboutItsOwnPeople(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	h.sets(func(s *config.OpenID) { s.Issuers[1].AdminGroup = "admins" })
	h.far.Claims["groups"], second.Claims["groups"] = "admins", "admins"
	h.visitor().comes(h.far, "/sign-in/oidc")
	h.visitor().comes(second, "/sign-in/oidc2")
	for name, role := range map[string]string{"dora": accounts.Member, "dora at work": accounts.Admin} {
		u, err := h.DB.UserByName(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, role, u.Role, name)
	}
}

// An administrator tries each issuer, and sees which addresses the next one needs.
func TestEachIssuerIsTried(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	_, err := h.Accounts.Create(t.Context(), "Dan", servertest.Password, accounts.Admin, false)
	require.NoError(t, err)
	v := h.visitor()
	v.signIn("Dan", "/")
	page := v.page("/settings/server/sign-in")
	for _, said := range []string{"At Home", "At Work", "At another issuer",
		"https://music.example.org/sign-in/oidc2/callback", "https://music.example.org/sign-in/oidc3/back-channel"} {
		require.Contains(t, page, said)
	}
	w := v.do(http.MethodPost, "/settings/server/sign-in", url.Values{"issuer": {"oidc2"}})
	require.Equal(t, "0; url=/sign-in/oidc2", w.Header().Get("Refresh"))
	require.Equal(t, "/settings/server/sign-in#result", to(t, v.comes(second, "/sign-in/oidc2")))
	require.Contains(t, v.page("/settings/server/sign-in"), "The claims from Work")

	// the second issuer stays where it is when the first is taken away, and a result keeps the name of its issuer
	v.do(http.MethodPost, "/settings/server/sign-in", url.Values{"issuer": {"oidc2"}})
	v.comes(second, "/sign-in/oidc2")
	h.sets(func(s *config.OpenID) { s.Issuers[0], s.Issuers[2] = config.Issuer{}, s.Issuers[0] })
	page = v.page("/settings/server/sign-in")
	for _, said := range []string{"The claims from Work", "At Work", "At Home", "At another issuer", "Try Home"} {
		require.Contains(t, page, said)
	}
	v.do(http.MethodPost, "/settings/server/sign-in", url.Values{"issuer": {"oidc2"}})
	h.sets(func(s *config.OpenID) { s.Issuers[1] = config.Issuer{} })
	require.Equal(t, "/settings/server/sign-in", to(t, v.do(http.MethodGet, "/sign-in/oidc2", nil)))
	page = v.page("/settings/server/sign-in")
	require.Contains(t, page, "oidc2 can't be used like this: there is no issuer")
	require.NotContains(t, page, "At Work")
}

// With a lower setting, also those have to come again who are signed in; nobody else has to.
func TestALowerSettingEndsSessions(t *testing.T) {
	t.Parallel()
	h, _ := withTwo(t)
	v, local := h.visitor(), h.visitor()
	local.signIn("Bea", "/")
	v.comes(h.far, "/sign-in/oidc")
	h.sets(func(s *config.OpenID) { s.Session = time.Hour })
	require.Equal(t, "dora", v.who())
	h.sets(func(s *config.OpenID) { s.Session = -time.Second }) // as if an hour had passed
	require.Empty(t, v.who())
	h.SignIn().Recheck(t.Context())
	h.sets(func(s *config.OpenID) { s.Session = 24 * time.Hour })
	require.Empty(t, v.who(), "it doesn't come back with the setting")
	require.Equal(t, "Bea", local.who())
}

// Who came from an issuer that isn't set up any more, or at which Reprise is another client by now, is signed out, and
// stays so. Those from the others go on.
func TestSessionsEndWithTheirIssuer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Issuer){
		"it is gone":     func(s *config.Issuer) { *s = config.Issuer{} },
		"another client": func(s *config.Issuer) { s.ClientID = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, second := withTwo(t)
			v, other, local := h.visitor(), h.visitor(), h.visitor()
			local.signIn("Bea", "/")
			v.comes(h.far, "/sign-in/oidc")
			other.comes(second, "/sign-in/oidc2")
			h.SignIn().Recheck(t.Context())
			require.Equal(t, "dora", v.who())
			before := h.Issuers.Settings()
			h.sets(func(s *config.OpenID) { change(&s.Issuers[0]) })
			h.SignIn().Recheck(t.Context())
			require.Empty(t, v.who())
			h.Issuers.Configure(before)
			require.Empty(t, v.who())
			require.Equal(t, "dora at work", other.who())
			require.Equal(t, "Bea", local.who())
		})
	}
}

// The last way in that works stays: an issuer that was taken away signs nobody in, and neither does a passkey for
// another name of the server.
func TestTheLastWayThatWorksStays(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	v := h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	second.Subject = "dora's at work"
	v.do(http.MethodPost, "/settings/account/identities", url.Values{"issuer": {"oidc2"}})
	v.comes(second, "/sign-in/oidc2")
	u, err := h.DB.UserByName(t.Context(), "dora")
	require.NoError(t, err)
	_, err = h.DB.AddFactor(t.Context(), accounts.Factor{User: u.ID, Kind: accounts.Passkey, Name: "Old phone",
		Credential: "abc", Secret: []byte(`{"name":"before.example.org"}`), Confirmed: true})
	require.NoError(t, err)
	ids := h.listed(v)
	require.Len(t, ids, 2)
	h.sets(func(s *config.OpenID) { s.Issuers[1] = config.Issuer{} })
	require.Equal(t, http.StatusConflict, v.do(http.MethodDelete, "/api/v1/identities/"+ids[0], nil).Code)
	require.Equal(t, http.StatusNoContent, v.do(http.MethodDelete, "/api/v1/identities/"+ids[1], nil).Code)

	_, err = h.Accounts.Create(t.Context(), "Dan", servertest.Password, accounts.Admin, false)
	require.NoError(t, err)
	admin := h.visitor()
	admin.signIn("Dan", "/")
	require.NotContains(t, admin.page("/settings/server"), "no way in that works")
	h.sets(func(s *config.OpenID) { s.Issuers[0] = config.Issuer{} })
	require.Contains(t, admin.page("/settings/server"), "1 person has no way in that works: dora.")
}
