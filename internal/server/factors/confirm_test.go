package factors_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/openid"
	"reprise/internal/server/servertest"
)

// Ten minutes after signing in, what can't be undone asks for the password first, and leads back.
func TestWhatCannotBeUndoneIsConfirmed(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		key, recovery := p.turnsOn()
		phone := p.device()
		phone.adds("Phone", http.StatusCreated)
		p.Call(http.MethodPost, "/tokens", `{"name":"one","scope":"operate"}`, http.StatusCreated)
		passkey := "/account/passkeys/" + p.passkeys()[0]["id"].(string)
		time.Sleep(11 * time.Minute)

		for _, call := range [][2]string{{http.MethodPost, "/tokens"}, {http.MethodDelete, "/account/second-step"},
			{http.MethodPost, "/account/second-step"}, {http.MethodPost, "/account/second-step/recovery-codes"},
			{http.MethodPost, "/account/passkeys/options"}, {http.MethodDelete, passkey}} {
			body := ""
			if call[1] == "/tokens" {
				body = `{"name":"two","scope":"operate"}`
			}
			require.Contains(t, p.Call(call[0], call[1], body, http.StatusForbidden)["fields"], "confirm", call[1])
		}
		p.Call(http.MethodPost, "/tokens", `{"name":"reader","scope":"read"}`, http.StatusCreated)
		off := p.Do(http.MethodGet, "/settings/account/second-step/off", "", "").Header().Get("Location")
		require.Equal(t, "/confirm?after="+url.QueryEscape("/settings/account/second-step/off"), off)
		p.Submit("/settings/account/second-step/off", http.StatusSeeOther)
		made := p.Submit("/settings/programs", http.StatusSeeOther, "name", "two", "scope", "operate")
		require.Contains(t, made.Header().Get("Location"), "/confirm?after=")
		back, err := url.QueryUnescape(made.Header().Get("Location"))
		require.NoError(t, err)
		require.Contains(t, back, "name=two&scope=operate", "what was typed is kept")
		require.Equal(t, true, p.Call(http.MethodGet, "/account/factors", "",
			http.StatusOK)["second_step"].(map[string]any)["on"])

		require.Contains(t, p.Page(off), "Confirm with a passkey")
		require.Contains(t, servertest.Text(p.Submit(off, http.StatusUnprocessableEntity, "password", "wrong one")),
			"That&#39;s not your password.")
		require.Contains(t, servertest.Text(p.Submit(off, http.StatusUnprocessableEntity, "password",
			servertest.Password)), "Send a code of the app", "the password alone is not enough")
		require.Contains(t, servertest.Text(p.Submit(off, http.StatusUnprocessableEntity, "password",
			servertest.Password, "code", "abcd-efgh-ijkl")), "Use another one.")
		before := p.Session[0].Value
		w := p.Submit(off, http.StatusSeeOther, "password", servertest.Password, "code", codeOf(t, key, time.Now()))
		require.Equal(t, "/settings/account/second-step/off", w.Header().Get("Location"))
		require.NotEqual(t, before, p.Session[0].Value, "the session has another token")
		require.Equal(t, "code", p.way(), "and is the same otherwise")
		require.Contains(t, p.Page("/settings/account/second-step/off"), "Nothing has changed yet")
		p.Call(http.MethodPost, "/tokens", `{"name":"two","scope":"operate"}`, http.StatusCreated)

		time.Sleep(11 * time.Minute)
		p.Call(http.MethodPost, "/account/confirm", `{"password":"wrong one"}`, http.StatusUnprocessableEntity)
		p.Call(http.MethodPost, "/account/confirm", fmt.Sprintf(`{"password":%q}`, servertest.Password),
			http.StatusUnprocessableEntity)
		p.Call(http.MethodPost, "/account/confirm", fmt.Sprintf(`{"password":%q,"code":%q}`, servertest.Password,
			recovery[0]), http.StatusNoContent)
		time.Sleep(11 * time.Minute)
		p.Call(http.MethodDelete, "/account/second-step", "", http.StatusForbidden)
		p.Call(http.MethodPost, "/account/confirm", phone.answer(phone.asked("/session/passkey")),
			http.StatusNoContent)
		p.Call(http.MethodDelete, "/account/second-step", "", http.StatusNoContent)
	})
}

// Who doesn't want to confirm goes back to where they came from, also after a wrong password.
func TestAConfirmationHasAWayOut(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		const asks = "/confirm?after=%2Fsettings%2Faccount%2Fsecond-step%2Foff"
		cancel := func(page string) string {
			at := regexp.MustCompile(`href="([^"]+)">Cancel<`).FindStringSubmatch(page)
			require.Len(t, at, 2, page)
			return at[1]
		}
		for from, want := range map[string]string{"": "/settings/account", "/": "/settings/account",
			"/listens?q=x": "/listens?q=x", "/settings/account/second-step/off": "/settings/account",
			asks: "/settings/account", "https://elsewhere.example/listens": "/settings/account"} {
			if strings.HasPrefix(from, "/") {
				from = "https://music.example.org" + from
			}
			page := servertest.Text(p.Knock(http.MethodGet, asks, "Referer", from))
			require.Equal(t, want, cancel(page), from)
			to := html.UnescapeString(regexp.MustCompile(`action="(/confirm[^"]+)"`).FindStringSubmatch(page)[1])
			w := p.Submit(to, http.StatusUnprocessableEntity, "password", "wrong one")
			require.Equal(t, want, cancel(servertest.Text(w)), from)
			time.Sleep(5 * time.Minute)
		}
	})
}

// What was typed before is there again after the confirmation, but for a password.
func TestAConfirmationKeepsWhatWasTyped(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		_, err := p.Accounts.Create(t.Context(), "Dana", servertest.Password, accounts.Admin, false)
		require.NoError(t, err)
		h := &person{p.Household, "Dana"}
		h.fresh()
		h.types(servertest.Password)
		time.Sleep(11 * time.Minute)
		for form, path := range map[string]string{"add": "", "invite": "/invitations"} {
			asked := h.Submit("/settings/people"+path, http.StatusSeeOther, "name", "Carol", "role", "admin",
				"password", "a good password")
			to, err := url.Parse(asked.Header().Get("Location"))
			require.NoError(t, err)
			require.Equal(t, "/confirm", to.Path)
			after := to.Query().Get("after")
			require.NotContains(t, after, "good", form)
			page := h.Page(after)
			require.Contains(t, page, `value="Carol"`, form)
			require.Regexp(t, `<option value="admin" selected`, page, form)
		}
	})
}

// Somebody else's passkey confirms nothing.
func TestAnotherPersonsPasskeyConfirmsNothing(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		phone := p.device()
		phone.adds("Phone", http.StatusCreated)
		_, err := p.Accounts.Create(t.Context(), "Cas", servertest.Password, accounts.Member, false)
		require.NoError(t, err)
		cas := &person{p.Household, "Cas"}
		cas.fresh()
		cas.types(servertest.Password)
		time.Sleep(11 * time.Minute)
		answer := phone.answer(phone.asked("/session/passkey"))
		cas.Call(http.MethodPost, "/account/confirm", answer, http.StatusUnauthorized)
		cas.Call(http.MethodPost, "/account/passkeys/options", "", http.StatusForbidden)
	})
}

// Who has no password removes the account with a passkey; who has neither signs in again.
func TestAnAccountWithoutAPasswordIsRemoved(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		phone := p.device()
		phone.adds("Phone", http.StatusCreated)
		u, err := p.DB.UserByName(t.Context(), "Bea")
		require.NoError(t, err)
		require.NoError(t, p.DB.SetPassword(t.Context(), u.ID, ""))
		phone.signsIn(http.StatusCreated)
		time.Sleep(11 * time.Minute)
		confirm := p.Do(http.MethodGet, "/settings/account/remove", "", "").Header().Get("Location")
		page := p.Page(confirm)
		require.Contains(t, page, "Confirm with a passkey")
		require.Contains(t, page, "Sign in again")
		require.NotContains(t, page, `type="password"`)
		w := p.Submit("/settings/account/remove", http.StatusSeeOther, "name", "Bea")
		require.Equal(t, confirm, w.Header().Get("Location"))
		p.Call(http.MethodDelete, "/account", `{}`, http.StatusForbidden)
		p.Call(http.MethodPost, "/account/confirm", phone.answer(phone.asked("/session/passkey")),
			http.StatusNoContent)
		require.Contains(t, p.Page("/settings/account/remove"), "Type the name Bea")
		p.Submit("/settings/account/remove", http.StatusUnprocessableEntity, "name", "Ann")
		p.Submit("/settings/account/remove", http.StatusSeeOther, "name", "bea")
		phone.signsIn(http.StatusUnauthorized)
	})
}

// Signing in again leads back to what was wanted.
func TestSigningInAgainConfirms(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		after := "?after=" + url.QueryEscape("/settings/account/remove")
		w := p.Submit("/confirm/again"+after, http.StatusSeeOther)
		require.Equal(t, "/login"+after, w.Header().Get("Location"))
		p.Call(http.MethodGet, "/account", "", http.StatusUnauthorized)
		w = p.Submit("/login", http.StatusSeeOther, "name", "Bea", "password", servertest.Password, "after",
			"/settings/account/remove")
		require.Equal(t, "/settings/account/remove", w.Header().Get("Location"))
	})
}

// An administrator's backup has everybody's data, and links and roles open ways in: both are confirmed. A program with
// a token is not asked.
func TestWhatAdministratorsDoIsConfirmed(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		_, err := p.Accounts.Create(t.Context(), "Dana", servertest.Password, accounts.Admin, false)
		require.NoError(t, err)
		dana := &person{p.Household, "Dana"}
		dana.fresh()
		dana.types(servertest.Password)
		token := dana.Call(http.MethodPost, "/tokens", `{"name":"x","scope":"admin"}`, http.StatusCreated)["token"]
		require.Equal(t, http.StatusNotFound, dana.Do(http.MethodGet, "/settings/server/backups/none", "", "").Code)
		time.Sleep(11 * time.Minute)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			w := dana.Do(method, "/settings/server/backups/none", "", "")
			require.Contains(t, w.Header().Get("Location"), "/confirm?after=", method)
		}
		bea, err := p.DB.UserByName(t.Context(), "Bea")
		require.NoError(t, err)
		one := fmt.Sprint("/settings/people/", bea.ID)
		for _, path := range []string{one + "/reset", one + "/second-step", one + "/remove", one + "/role",
			"/settings/people/invitations", "/settings/people"} {
			w := dana.Submit(path, http.StatusSeeOther, "name", "Bea", "role", "administrator")
			require.Contains(t, w.Header().Get("Location"), "/confirm?after=", path)
		}
		api := fmt.Sprint("/admin/users/", bea.ID)
		for _, call := range [][3]string{{http.MethodPost, api + "/reset"}, {http.MethodDelete, api + "/second-step"},
			{http.MethodDelete, api}, {http.MethodPatch, api, `{"role":"admin"}`},
			{http.MethodPost, "/admin/invitations", `{}`}, {http.MethodPost, "/admin/users",
				`{"name":"Eve","password":"another of these words","role":"admin"}`}} {
			require.Contains(t, dana.Call(call[0], call[1], call[2], http.StatusForbidden)["fields"], "confirm", call)
		}
		dana.Call(http.MethodPatch, api, `{"name":"Beatrix"}`, http.StatusOK)
		w := dana.Knock(http.MethodGet, "/api/v1/admin/users", "Authorization", fmt.Sprint("Bearer ", token))
		require.Equal(t, http.StatusOK, w.Code)
	})
}

// Who came by an issuer, and has no password, is asked by it again, and stays signed in meanwhile.
func TestAnIssuerIsAskedAgain(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		home := config.Issuer{Issuer: "https://auth.example.org", ClientID: "reprise"}
		p.Issuers = openid.New(nil, config.OpenID{Issuers: [3]config.Issuer{{}, home}, Session: time.Hour})
		p.Restart()
		var codec scs.GobCodec
		sessions, token := p.DB.Sessions(), p.Session[0].Value
		kept, _, err := sessions.Find(token)
		require.NoError(t, err)
		until, values, err := codec.Decode(kept)
		require.NoError(t, err)
		values["way"], values["issuer"], values["client"] = string(accounts.ByIssuer), home.Issuer, home.ClientID
		kept, err = codec.Encode(until, values)
		require.NoError(t, err)
		require.NoError(t, sessions.Commit(token, kept, until))
		w := p.Submit("/confirm/again?after=/settings/programs", http.StatusOK)
		require.Equal(t, "0; url=/sign-in/oidc2?again=yes&after=%2Fsettings%2Fprograms", w.Header().Get("Refresh"))
		p.Page("/settings/account")
	})
}

// Recovery codes are shown for ten minutes, and no repeat of a call shows them again.
func TestRecoveryCodesAreNotShownForLong(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		p.turnsOn()
		phone := p.device()
		phone.adds("Phone", http.StatusCreated)
		const path = "/settings/account/second-step/recovery"
		shown := p.Submit(path, http.StatusSeeOther).Header().Get("Location")
		require.Contains(t, p.Page(shown), "Your recovery codes")
		time.Sleep(11 * time.Minute)
		require.Contains(t, p.Do(http.MethodGet, shown, "", "").Header().Get("Location"), "/confirm?after=")
		p.Call(http.MethodPost, "/account/confirm", phone.answer(phone.asked("/session/passkey")),
			http.StatusNoContent)
		require.Contains(t, p.Page(shown), "New recovery codes?")
		renew := func() *httptest.ResponseRecorder {
			return p.Knock(http.MethodPost, "/api/v1/account/second-step/recovery-codes", "Idempotency-Key", "a key")
		}
		first, again := renew(), renew()
		require.Equal(t, http.StatusOK, first.Code, first.Body)
		require.Empty(t, again.Header().Get("Idempotent-Replayed"))
		require.NotEqual(t, first.Body.String(), again.Body.String())
	})
}
