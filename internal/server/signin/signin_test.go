package signin_test

import (
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/clocktest"
	"reprise/internal/config"
	"reprise/internal/openid"
	"reprise/internal/openid/openidtest"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/servertest"
)

// visitor is a browser that keeps its cookies.
type visitor struct {
	*servertest.Household
	jar    map[string]*http.Cookie
	from   string
	header http.Header
}

func (h home) visitor() *visitor {
	return &visitor{Household: h.Household, jar: map[string]*http.Cookie{}, from: "192.0.2.7"}
}

func (v *visitor) do(method, path string, form url.Values) *httptest.ResponseRecorder {
	v.T.Helper()
	r := httptest.NewRequestWithContext(v.T.Context(), method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(r.Header, v.header)
	r.Header.Set("User-Agent", servertest.Firefox)
	r.RemoteAddr = v.from + ":1"
	for _, c := range v.jar {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if v.jar[c.Name] = c; c.MaxAge < 0 {
			delete(v.jar, c.Name)
		}
	}
	return w
}

// page returns a page, wherever it leads.
func (v *visitor) page(path string) string {
	v.T.Helper()
	w := v.do(http.MethodGet, path, nil)
	require.Equal(v.T, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	return text(w)
}

// text returns what somebody reads.
func text(w *httptest.ResponseRecorder) string { return html.UnescapeString(servertest.Text(w)) }

// to returns where an answer leads to, without this server's name.
func to(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	return w.Header().Get("Location")
}

// isSignedIn returns the name of whom this browser is signed in as; empty for nobody.
func (v *visitor) who() string {
	w := v.do(http.MethodGet, "/api/v1/account", nil)
	if w.Code != http.StatusOK {
		return ""
	}
	_, rest, _ := strings.Cut(w.Body.String(), `"name":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// home is a household whose people can come from an issuer.
type home struct {
	*servertest.Household
	far *openidtest.Issuer
}

// withIssuer returns a household behind TLS, and an issuer for it.
func withIssuer(t *testing.T, change func(*config.Issuer)) home {
	t.Helper()
	h := home{servertest.Public(t), openidtest.New(t)}
	s := config.OpenID{Session: 24 * time.Hour, Form: config.FormShown}
	s.Issuers[0] = at(h.far, "Home")
	if change != nil {
		change(&s.Issuers[0])
	}
	h.Issuers = openid.New(transport.NewClient(&transport.Transport{Base: http.DefaultTransport, Log: h.Log}), s)
	h.Restart()
	return h
}

// at returns the settings for an issuer.
func at(far *openidtest.Issuer, button string) config.Issuer {
	return config.Issuer{Issuer: far.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.Secret,
		Scopes: []string{"openid", "profile"}, GroupsClaim: "groups", Button: button}
}

// sets changes the settings of the issuers.
func (h home) sets(change func(*config.OpenID)) {
	s := h.Issuers.Settings()
	change(&s)
	h.Issuers.Configure(s)
}

// comes is a visit at the issuer, from where the browser comes back.
func (v *visitor) comes(far *openidtest.Issuer, begin string) *httptest.ResponseRecorder {
	v.T.Helper()
	back, err := url.Parse(far.Allow(to(v.T, v.do(http.MethodGet, begin, nil))))
	require.NoError(v.T, err)
	return v.do(http.MethodGet, back.RequestURI(), nil)
}

// signIn signs in with name and password.
func (v *visitor) signIn(name, after string) string {
	v.T.Helper()
	return to(v.T, v.do(http.MethodPost, "/login", url.Values{"name": {name}, "password": {servertest.Password},
		"after": {after}}))
}

// Somebody who has an account here comes from the issuer for the first time, signs in once and links it; from then on
// one click is enough.
func TestAnAccountIsLinkedOnceAndThenSignsIn(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, nil)
	h.far.Claims = map[string]any{"preferred_username": "Bea", "email": "bea@example.org", "sid": "there"}
	v := h.visitor()
	require.Contains(t, v.page("/login"), "Sign in with Home")
	require.Equal(t, "/sign-in/oidc/account", to(t, v.comes(h.far, "/sign-in/oidc?after=/listens")))
	require.Empty(t, v.who(), "neither the name nor the e-mail address says who it is")
	page := v.page("/sign-in/oidc/account")
	require.Contains(t, page, "no account here is linked")
	require.NotContains(t, page, "Create account")
	w := v.do(http.MethodPost, "/sign-in/oidc/account", url.Values{"name": {"Eve"}})
	require.Equal(t, http.StatusForbidden, w.Code)

	require.Equal(t, "/sign-in/oidc/account", v.signIn("Bea", "/sign-in/oidc/account"))
	require.Contains(t, v.page("/sign-in/oidc/account"), "Link it to Bea")
	w = v.do(http.MethodPost, "/sign-in/oidc/account/link", url.Values{})
	require.Equal(t, "/settings/account#identities", to(t, w))
	require.Contains(t, v.page("/settings/account"), "You can sign in with Home.")
	require.Contains(t, v.page("/activity"), "Bea linked an account at Home.")

	again := h.visitor()
	require.Equal(t, "/listens", to(t, again.comes(h.far, "/sign-in/oidc?after=/listens")))
	require.Equal(t, "Bea", again.who())
	require.Contains(t, again.do(http.MethodGet, "/api/v1/sessions", nil).Body.String(), `"way":"openid"`)
	require.NotContains(t, again.page("/settings/account"), "OpenID Connect")

	// who is asked again by it, to confirm something, goes on with that
	w = again.comes(h.far, "/sign-in/oidc?again=yes&after=/settings/programs")
	require.Equal(t, "/settings/programs", to(t, w))
	require.Contains(t, again.page("/settings/programs"), "Nothing has changed yet; go on")

	// it ends there, and what began with it ends, too
	id := h.listed(again)[0]
	require.Equal(t, http.StatusNoContent, again.do(http.MethodDelete, "/api/v1/identities/"+id, nil).Code)
	require.Empty(t, again.who())
	require.Equal(t, "Bea", v.who(), "by the password")
	require.Equal(t, http.StatusNotFound, v.do(http.MethodDelete, "/api/v1/identities/"+id, nil).Code)
}

// listed returns the IDs of the identities of who has a browser.
func (h home) listed(v *visitor) (ids []string) {
	body := v.do(http.MethodGet, "/api/v1/identities", nil).Body.String()
	for part := range strings.SplitSeq(body, `"id":"`) {
		if id, rest, ok := strings.Cut(part, `"`); ok && strings.Contains(rest, "issuer") {
			ids = append(ids, id)
		}
	}
	return ids
}

// Somebody who is signed in links the issuer from their page. It can't be taken by another account.
func TestLinkingFromTheAccountsPage(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, nil)
	_, err := h.Accounts.Create(t.Context(), "Cai", servertest.Password, accounts.Member, false)
	require.NoError(t, err)
	for _, one := range []struct {
		name string
		code int
	}{{"Bea", http.StatusSeeOther}, {"Bea", http.StatusSeeOther}, {"Cai", http.StatusConflict}} {
		v := h.visitor()
		v.signIn(one.name, "/")
		require.Contains(t, v.page("/settings/account"), "Home")
		w := v.do(http.MethodPost, "/settings/account/identities", url.Values{})
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "0; url=/sign-in/oidc", w.Header().Get("Refresh"))
		require.Equal(t, one.code, v.comes(h.far, "/sign-in/oidc").Code, one.name)
		require.Equal(t, one.name, v.who())
	}
}

// Where the administrator has turned that on, somebody new gets an account, as a member, under a name that is free.
func TestNewPeopleGetAccounts(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, func(s *config.Issuer) { s.CreateAccounts, s.AllowGroup = true, "music" })
	h.far.Claims = map[string]any{"preferred_username": "dora"}
	v := h.visitor()
	w := v.comes(h.far, "/sign-in/oidc")
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Contains(t, text(w), "you aren't in the group")
	h.far.Claims["groups"] = []string{"music"}
	require.Equal(t, "/welcome", to(t, v.comes(h.far, "/sign-in/oidc?after=/listens")))
	require.Equal(t, "dora", v.who())
	u, err := h.DB.UserByName(t.Context(), "dora")
	require.NoError(t, err)
	require.Equal(t, accounts.Member, u.Role)
	require.Empty(t, u.PasswordHash)

	require.Contains(t, v.page("/settings/account"), "Your account has none")

	// nobody signs in to it with a password, and it can't lose its only way in
	stranger := h.visitor()
	for _, password := range []string{"", servertest.Password, " "} {
		w := stranger.do(http.MethodPost, "/login", url.Values{"name": {"dora"}, "password": {password}})
		require.Equal(t, http.StatusUnauthorized, w.Code)
	}
	w = v.do(http.MethodPost, "/settings/account/identities/"+h.listed(v)[0]+"/remove", url.Values{})
	require.Equal(t, http.StatusConflict, w.Code)
	require.Regexp(t, `<p><a href="/settings/account">Your account</a></p>`, text(w))

	// another person with a name that is taken chooses one
	h.far.Subject, h.far.Claims["preferred_username"] = "another", "BEA"
	other := h.visitor()
	require.Equal(t, "/sign-in/oidc/account", to(t, other.comes(h.far, "/sign-in/oidc")))
	require.Contains(t, other.page("/sign-in/oidc/account"), "Create account")
	w = other.do(http.MethodPost, "/sign-in/oidc/account", url.Values{"name": {"bea"}})
	require.Equal(t, http.StatusConflict, w.Code)
	w = other.do(http.MethodPost, "/sign-in/oidc/account", url.Values{"name": {"Bea the second"}})
	require.Equal(t, "/welcome", to(t, w))
	require.Equal(t, "Bea the second", other.who())
}

// An invitation lets somebody in from the issuer who may not come otherwise, once, with its role.
func TestAnInvitationIsUsedFromTheIssuer(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, nil)
	h.far.Claims = map[string]any{"preferred_username": "dora"}
	links := accounts.NewLinks(h.DB, h.Accounts)
	_, code, err := links.Invite(t.Context(), h.User, "", accounts.Admin)
	require.NoError(t, err)
	v := h.visitor()
	require.Equal(t, "/invitation", to(t, v.do(http.MethodGet, "/invitation/"+code, nil)))
	require.Contains(t, v.page("/invitation"), "Sign in with Home")
	require.Equal(t, "/sign-in/oidc/account", to(t, v.comes(h.far, "/sign-in/oidc")))
	for range 2 { // pressed twice
		to(t, v.do(http.MethodPost, "/sign-in/oidc/account", url.Values{"name": {"Dora"}}))
	}
	require.Equal(t, "Dora", v.who())
	u, err := h.DB.UserByName(t.Context(), "dora")
	require.NoError(t, err)
	require.Equal(t, accounts.Admin, u.Role)
	_, err = links.Find(t.Context(), accounts.Invitation, accounts.HashToken(code))
	require.ErrorIs(t, err, accounts.ErrLink)
}

// A group of the issuer makes administrators and members, at each sign-in, but never takes the last administrator.
func TestTheIssuersGroupDecidesWhoAdministers(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, func(s *config.Issuer) { s.CreateAccounts, s.AdminGroup = true, "admins" })
	h.far.Claims = map[string]any{"preferred_username": "dora", "groups": "admins"}
	v := h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	role := func(name string) string {
		u, err := h.DB.UserByName(t.Context(), name)
		require.NoError(t, err)
		return u.Role
	}
	require.Equal(t, accounts.Admin, role("dora"))
	delete(h.far.Claims, "groups")
	v.comes(h.far, "/sign-in/oidc")
	require.Equal(t, accounts.Member, role("dora"))
	require.Equal(t, http.StatusForbidden, v.do(http.MethodGet, "/api/v1/admin/users", nil).Code)

	h.far.Claims["groups"] = []string{"admins"}
	v.comes(h.far, "/sign-in/oidc")
	_, err := h.Accounts.SetRole(t.Context(), h.User, accounts.Member) // Dora is the only one now
	require.NoError(t, err)
	delete(h.far.Claims, "groups")
	v.comes(h.far, "/sign-in/oidc")
	require.Equal(t, accounts.Admin, role("dora"))
}

// What comes back to another browser, twice, late or from somebody who has not begun, signs nobody in.
func TestAnswersOfOtherVisitsSignNobodyIn(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, func(s *config.Issuer) { s.CreateAccounts = true })
	mine, other := h.visitor(), h.visitor()
	back, err := url.Parse(h.far.Allow(to(t, mine.do(http.MethodGet, "/sign-in/oidc", nil))))
	require.NoError(t, err)
	for range 2 {
		require.Equal(t, http.StatusBadRequest, other.do(http.MethodGet, back.RequestURI(), nil).Code)
		to(t, other.do(http.MethodGet, "/sign-in/oidc", nil)) // it has a visit of its own by now
	}
	require.Empty(t, other.who())
	require.Equal(t, "/welcome", to(t, mine.do(http.MethodGet, back.RequestURI(), nil)))
	mine.do(http.MethodPost, "/logout", url.Values{})
	require.Equal(t, http.StatusBadRequest, mine.do(http.MethodGet, back.RequestURI(), nil).Code, "it is good once")
	require.Empty(t, mine.who())
	for _, nonsense := range []string{"", "?state=", "?error=access_denied", "?" + strings.Repeat("state=x&", 100)} {
		mine.from = servertest.Address(len(nonsense))
		w := mine.do(http.MethodGet, "/sign-in/oidc/callback"+nonsense, nil)
		require.Equal(t, http.StatusBadRequest, w.Code, nonsense)
	}

	// the same subject at another issuer is somebody else
	evil := openidtest.New(t)
	evil.Claims = map[string]any{"preferred_username": "evil"}
	h.sets(func(s *config.OpenID) { s.Issuers[0].Issuer = evil.URL })
	v := h.visitor()
	require.Equal(t, "/welcome", to(t, v.comes(evil, "/sign-in/oidc")))
	require.Equal(t, "evil", v.who())
}

// What needs a confirmation isn't confirmed by an issuer that has asked nobody: anyone at an open browser could pass.
func TestASilentSignInConfirmsNothing(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, func(s *config.Issuer) { s.CreateAccounts = true })
	v := h.visitor()
	asks := func() {
		t.Helper()
		w := v.do(http.MethodGet, "/settings/account/remove", nil)
		require.Equal(t, "/confirm?after=%2Fsettings%2Faccount%2Fremove", to(t, w))
	}
	h.far.Claims = map[string]any{"preferred_username": "dora", "auth_time": time.Now().Add(-time.Hour).Unix()}
	v.comes(h.far, "/sign-in/oidc")
	require.Equal(t, "dora", v.who())
	asks()
	h.far.Claims["auth_time"] = nil // it doesn't say
	v.comes(h.far, "/sign-in/oidc")
	asks()
	v.comes(h.far, "/sign-in/oidc?again=yes")
	v.page("/settings/account/remove")
	v.comes(h.far, "/sign-in/oidc") // silently once more
	asks()
	h.far.Claims["auth_time"] = time.Now().Add(-time.Minute).Unix()
	v.comes(h.far, "/sign-in/oidc")
	v.page("/settings/account/remove")
}

// Several tabs may be at the issuer at once.
func TestTabsDontDisturbEachOther(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, func(s *config.Issuer) { s.CreateAccounts = true })
	v := h.visitor()
	first := h.far.Allow(to(t, v.do(http.MethodGet, "/sign-in/oidc?after=/listens", nil)))
	for range 3 {
		to(t, v.do(http.MethodGet, "/sign-in/oidc", nil))
	}
	back, err := url.Parse(first)
	require.NoError(t, err)
	require.Equal(t, "/welcome", to(t, v.do(http.MethodGet, back.RequestURI(), nil)))
}

// While the issuer is down, a sentence says so, and the password still works.
func TestTheIssuerIsDown(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, nil)
	h.sets(func(s *config.OpenID) { s.Form = config.FormSkipped })
	v := h.visitor()
	require.Equal(t, "/sign-in/oidc?after=%2Flistens", to(t, v.do(http.MethodGet, "/login?after=/listens", nil)))
	to(t, v.do(http.MethodGet, "/sign-in/oidc", nil)) // it's up
	h.goesDown()
	w := v.do(http.MethodGet, "/sign-in/oidc", nil)
	require.Equal(t, http.StatusBadGateway, w.Code)
	require.Contains(t, text(w), "Home doesn't answer")
	require.Contains(t, text(w), "a passkey. If you have neither, an administrator can give you a link.")
	require.Contains(t, text(w), "/login?local")
	require.Contains(t, v.page("/login?local"), "Password")
	require.Equal(t, "/", v.signIn("Bea", ""))
	require.Equal(t, "Bea", v.who())

	h.sets(func(s *config.OpenID) { s.Form = config.FormHidden })
	require.NotContains(t, h.visitor().page("/login"), `name="password"`)
	require.Contains(t, h.visitor().page("/login?local"), `name="password"`)
	h.Issuers.Configure(config.OpenID{})
	require.Contains(t, h.visitor().page("/login"), `name="password"`)
	require.Equal(t, http.StatusNotFound, h.visitor().do(http.MethodGet, "/sign-in/oidc", nil).Code)
}

// Signing out leads to where the session at the issuer ends; signing out there ends the session here.
func TestSigningOutEndsBoth(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, func(s *config.Issuer) { s.CreateAccounts = true })
	h.far.SignOut, h.far.Claims = true, map[string]any{"preferred_username": "dora", "sid": "one"}
	v := h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	w := v.do(http.MethodPost, "/logout", url.Values{})
	require.Equal(t, http.StatusOK, w.Code)
	away := strings.TrimPrefix(w.Header().Get("Refresh"), "0; url=")
	require.True(t, strings.HasPrefix(away, h.far.URL+"/end?"), away)
	require.Contains(t, away, url.QueryEscape("https://music.example.org/login?local"))
	require.Contains(t, away, "id_token_hint=")
	require.Empty(t, v.who())

	word := func(claims map[string]any) *httptest.ResponseRecorder {
		all := map[string]any{"iss": h.far.URL, "aud": openidtest.ClientID, "iat": time.Now().Unix(), "jti": "1",
			"exp":    time.Now().Add(time.Minute).Unix(),
			"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}
		maps.Copy(all, claims)
		return h.visitor().do(http.MethodPost, "/sign-in/oidc/back-channel",
			url.Values{"logout_token": {h.far.Sign(all)}})
	}
	v.comes(h.far, "/sign-in/oidc")
	h.far.Claims["sid"] = "two"
	other := h.visitor()
	other.comes(h.far, "/sign-in/oidc")
	require.Equal(t, http.StatusOK, word(map[string]any{"sid": "two"}).Code)
	require.Empty(t, other.who())
	require.Equal(t, "dora", v.who())
	require.Equal(t, http.StatusBadRequest, word(map[string]any{"sub": h.far.Subject, "nonce": "x"}).Code)
	require.Equal(t, http.StatusOK, word(map[string]any{"sub": "nobody here"}).Code)
	require.Equal(t, "dora", v.who())
	require.Equal(t, http.StatusOK, word(map[string]any{"sub": h.far.Subject}).Code)
	require.Empty(t, v.who())
	require.Equal(t, http.StatusBadRequest,
		h.visitor().do(http.MethodPost, "/sign-in/oidc/back-channel", url.Values{"logout_token": {"x"}}).Code)

	// while the issuer is down, it ends here
	v.comes(h.far, "/sign-in/oidc")
	h.goesDown()
	require.Equal(t, "/login?local", to(t, v.do(http.MethodPost, "/logout", url.Values{})))
	require.Empty(t, v.who())
}

// goesDown is the issuer going down, minutes after it was asked.
func (h home) goesDown() {
	clocktest.Pass(h.Issuers, 2*time.Minute)
	h.far.Down = true
}

// An administrator sees what the issuer says of them, and what would follow; nothing changes.
func TestAnAdministratorTriesTheIssuer(t *testing.T) {
	t.Parallel()
	h := withIssuer(t, func(s *config.Issuer) { s.AllowGroup, s.AdminGroup = "music", "admins" })
	_, err := h.Accounts.Create(t.Context(), "Dan", servertest.Password, accounts.Admin, false)
	require.NoError(t, err)
	h.far.Claims = map[string]any{"preferred_username": "<b>dan", "groups": []string{"music"}, "auth_time": 0}
	v := h.visitor()
	v.signIn("Bea", "/")
	require.Equal(t, http.StatusForbidden, v.do(http.MethodGet, "/settings/server/sign-in", nil).Code)
	require.Equal(t, http.StatusForbidden, v.do(http.MethodPost, "/settings/server/sign-in", url.Values{}).Code)
	v.signIn("Dan", "/")
	require.Contains(t, v.page("/settings/server/sign-in"), "https://music.example.org/sign-in/oidc/callback")
	require.Equal(t, http.StatusOK, v.do(http.MethodPost, "/settings/server/sign-in", url.Values{}).Code)
	require.Equal(t, "/settings/server/sign-in#result", to(t, v.comes(h.far, "/sign-in/oidc")))
	page := v.page("/settings/server/sign-in")
	for _, said := range []string{"preferred_username", "<b>dan", "because you are in the group “music”",
		"because you aren't in the group “admins”", "No account here is linked to you", `id="result"`, "not said"} {
		require.Contains(t, page, said)
	}
	require.NotContains(t, v.page("/settings/server/sign-in"), "preferred_username", "it is shown once")
	_, err = h.DB.UserOfIdentity(t.Context(), h.far.URL, h.far.Subject)
	require.ErrorIs(t, err, accounts.ErrUnknown)

	require.Equal(t, http.StatusOK, v.do(http.MethodPost, "/settings/server/sign-in", url.Values{}).Code)
	began, err := url.Parse(to(t, v.do(http.MethodGet, "/sign-in/oidc", nil)))
	require.NoError(t, err)
	require.Equal(t, "/settings/server/sign-in", to(t, v.do(http.MethodGet, "/sign-in/oidc/callback?"+url.Values{
		"state": {began.Query().Get("state")}, "iss": {h.far.URL}, "error": {"unauthorized_client"},
		"error_description": {"no such secret"}}.Encode(), nil)))
	require.Contains(t, v.page("/settings/server/sign-in"), "unauthorized_client: no such secret")
}
