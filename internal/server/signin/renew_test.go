package signin_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/config"
)

// rechecked returns a household that asks its issuer again, with somebody who has come from there.
func rechecked(t *testing.T, change func(*config.Issuer)) (h home, v *visitor) {
	t.Helper()
	h = withIssuer(t, func(s *config.Issuer) {
		s.CreateAccounts, s.Scopes = true, []string{"openid", "offline_access"}
		if change != nil {
			change(s)
		}
	})
	h.far.Claims = map[string]any{"preferred_username": "dora", "groups": []string{"music", "admins"}}
	v = h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	require.Equal(t, "dora", v.who())
	return h, v
}

// anHourLater has the issuer asked, as an hour after it was asked last.
func (h home) anHourLater() {
	h.T.Helper()
	require.NoError(h.T, h.DB.Exec(h.T.Context(), "UPDATE grants SET asked_at = asked_at - $1",
		time.Hour.Milliseconds()))
	h.SignIn().Recheck(h.T.Context())
}

// Once an hour the issuer is asked, with what its latest answer gave; when the account there is gone, the session here
// ends. Other sessions go on.
func TestAnAccountIsDeletedThere(t *testing.T) {
	t.Parallel()
	h, v := rechecked(t, nil)
	local := h.visitor()
	local.signIn("Bea", "/")
	h.SignIn().Recheck(t.Context())
	require.Zero(t, h.far.Renewed, "it has just been asked")
	for n := range 3 {
		h.anHourLater()
		h.SignIn().Recheck(t.Context())
		require.Equal(t, n+1, h.far.Renewed)
	}
	require.Equal(t, "dora", v.who())

	h.far.Refuses = "invalid_grant"
	h.anHourLater()
	require.Empty(t, v.who())
	require.Equal(t, "Bea", local.who())
	u, err := h.DB.UserByName(t.Context(), "dora")
	require.NoError(t, err)
	left, err := h.DB.Sessions().Of(t.Context(), u.ID)
	require.NoError(t, err)
	require.Empty(t, left)
	h.far.Refuses = ""
	v.comes(h.far, "/sign-in/oidc")
	require.Contains(t, v.page("/activity"), "Home doesn't vouch for that account any more")
}

// Who shows who they are once more, or signs in elsewhere, is asked about in the session that goes on.
func TestAGrantFollowsItsSession(t *testing.T) {
	t.Parallel()
	h, v := rechecked(t, nil)
	other := h.visitor()
	other.comes(h.far, "/sign-in/oidc")
	v.comes(h.far, "/sign-in/oidc?again=yes") // another token of the session, and another grant
	h.anHourLater()
	require.Equal(t, 2, h.far.Renewed)
	require.NoError(t, h.DB.Tidy(t.Context()))
	h.anHourLater()
	require.NoError(t, h.DB.Tidy(t.Context()))
	h.anHourLater()
	require.Equal(t, 6, h.far.Renewed)
	require.Equal(t, "dora", v.who())
	require.Equal(t, "dora", other.who())
}

// While the issuer is down, or has something against Reprise itself, nobody is signed out.
func TestAnIssuerThatCannotBeAskedEndsNothing(t *testing.T) {
	t.Parallel()
	h, v := rechecked(t, nil)
	other := h.visitor()
	other.comes(h.far, "/sign-in/oidc")
	h.far.Down = true
	h.anHourLater()
	require.Equal(t, "dora", v.who())
	h.far.Down = false
	h.SignIn().Recheck(t.Context())
	require.Equal(t, 1, h.far.Renewed, "about the session that it wasn't asked about")
	h.anHourLater()
	require.Equal(t, 3, h.far.Renewed)
	h.far.Locked = http.StatusNotFound
	h.anHourLater()
	require.Equal(t, 5, h.far.Renewed, "that is about one session, not all")
	h.far.Locked = 0
	require.Equal(t, "dora", other.who())
	for _, code := range []string{"invalid_client", "unauthorized_client", "temporarily_unavailable", "slow_down"} {
		h2, v2 := rechecked(t, nil)
		h2.visitor().comes(h2.far, "/sign-in/oidc")
		h2.far.Refuses = code
		h2.anHourLater()
		require.Equal(t, "dora", v2.who(), code)
		h2.far.Refuses = ""
		h2.SignIn().Recheck(t.Context())
		require.Equal(t, 1, h2.far.Renewed, "about the session after it")
	}
	require.Equal(t, "dora", v.who())
}

// Another subject is another person, and who left the group that may come in is out.
func TestWhatTheIssuerSaysLaterCounts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(home){
		"another subject":  func(h home) { h.far.Claims["sub"] = "another" },
		"other facts":      func(h home) { h.far.Slim, h.far.Info = true, map[string]any{"sub": "another"} },
		"out of the group": func(h home) { h.far.Claims["groups"] = "others" },
		"in no group":      func(h home) { h.far.Claims["groups"] = []string{} },
		"locked":           func(h home) { h.far.Locked = http.StatusUnauthorized },
		"out, by UserInfo": func(h home) { h.far.Slim, h.far.Info = true, map[string]any{"groups": "others"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, v := rechecked(t, func(s *config.Issuer) { s.AllowGroup = "music" })
			h.anHourLater()
			require.Equal(t, "dora", v.who())
			unasked := h.visitor() // a session from before the issuer was asked again
			h.sets(func(s *config.OpenID) { s.Issuers[0].Scopes = []string{"openid"} })
			unasked.comes(h.far, "/sign-in/oidc")
			h.sets(func(s *config.OpenID) { s.Issuers[0].Scopes = []string{"openid", "offline_access"} })
			require.Equal(t, "dora", unasked.who())
			change(h)
			h.anHourLater()
			require.Empty(t, v.who())
			if name != "locked" {
				require.Empty(t, unasked.who(), "it is about the person")
			}
		})
	}
	h, v := rechecked(t, func(s *config.Issuer) { s.AllowGroup = "music" })
	h.far.Slim = true // it says nothing about groups
	h.anHourLater()
	h.far.Slim = false // nor does an ID token, which needn't repeat what the first one said
	groups := h.far.Claims["groups"]
	delete(h.far.Claims, "groups")
	h.anHourLater()
	h.far.Claims["groups"] = groups
	require.Equal(t, 2, h.far.Renewed)
	require.Equal(t, "dora", v.who())
	h.far.Slim, h.far.Forge = false, h.far.SignAs // nor does it say anything that can be believed
	h.anHourLater()
	require.Equal(t, "dora", v.who())
}

// An issuer that told groups by UserInfo leaves them out when there are none left.
func TestUserInfoLeavesGroupsOut(t *testing.T) {
	t.Parallel()
	h, _ := rechecked(t, func(s *config.Issuer) { s.AllowGroup = "music" })
	h.far.Info = map[string]any{"groups": "music"}
	delete(h.far.Claims, "groups")
	v := h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	h.anHourLater()
	require.Equal(t, "dora", v.who())
	h.far.Info = nil
	h.anHourLater()
	require.Empty(t, v.who())
}

// The group of administrators decides without another sign-in, too, but never takes the last administrator.
func TestTheRoleFollowsTheIssuer(t *testing.T) {
	t.Parallel()
	h, v := rechecked(t, func(s *config.Issuer) { s.AdminGroup = "admins" })
	role := func() string {
		u, err := h.DB.UserByName(t.Context(), "dora")
		require.NoError(t, err)
		return u.Role
	}
	require.Equal(t, accounts.Admin, role())
	h.far.Claims["groups"] = []string{"music"}
	_, err := h.Accounts.Create(t.Context(), "Dan", "a password for Dan", accounts.Admin, false)
	require.NoError(t, err)
	h.anHourLater()
	require.Equal(t, accounts.Member, role())
	h.far.Claims["groups"] = []string{"admins"}
	h.anHourLater()
	require.Equal(t, accounts.Admin, role())
	require.Equal(t, "dora", v.who())
	dan, err := h.DB.UserByName(t.Context(), "Dan")
	require.NoError(t, err)
	for _, user := range []int64{dan.ID, h.User} {
		_, err = h.Accounts.SetRole(t.Context(), user, accounts.Member)
		require.NoError(t, err)
	}
	h.far.Claims["groups"] = []string{"music"}
	h.anHourLater()
	require.Equal(t, accounts.Admin, role(), "nobody else administers")
	require.Equal(t, "dora", v.who())
}

// Of two issuers that both decide, the one counts that says something new: else they would change the role in turn,
// each hour, and what an administrator has begun would end with it.
func TestTwoIssuersDontQuarrelAboutARole(t *testing.T) {
	t.Parallel()
	h, second := withTwo(t)
	h.sets(func(s *config.OpenID) {
		for n := range 2 {
			s.Issuers[n].AdminGroup, s.Issuers[n].Scopes = "admins", []string{"openid", "offline_access"}
		}
	})
	_, err := h.Accounts.Create(t.Context(), "Dan", "a password for Dan", accounts.Admin, false)
	require.NoError(t, err)
	h.far.Claims["groups"], second.Claims["groups"] = "admins", "others"
	v, other := h.visitor(), h.visitor()
	v.comes(h.far, "/sign-in/oidc")
	second.Subject = "dora's at work"
	v.do(http.MethodPost, "/settings/account/identities", url.Values{"issuer": {"oidc2"}})
	v.comes(second, "/sign-in/oidc2")
	other.comes(second, "/sign-in/oidc2")
	u, err := h.DB.UserByName(t.Context(), "dora")
	require.NoError(t, err)
	require.Equal(t, accounts.Member, u.Role, "by the latest sign-in")
	h.visitor().comes(h.far, "/sign-in/oidc")
	_, _, err = accounts.NewLinks(h.DB, h.Accounts).Invite(t.Context(), u.ID, "", accounts.Member)
	require.NoError(t, err)
	is := func(role string) {
		t.Helper()
		h.anHourLater()
		u, err := h.DB.UserByName(t.Context(), "dora")
		require.NoError(t, err)
		require.Equal(t, role, u.Role)
	}
	is(accounts.Admin)
	is(accounts.Admin)
	require.Equal(t, []int{4, 2}, []int{h.far.Renewed, second.Renewed})
	open, err := h.DB.Invitations(t.Context())
	require.NoError(t, err)
	require.Len(t, open, 1)
	h.far.Claims["groups"] = "others"
	is(accounts.Member)
	second.Claims["groups"] = "admins"
	is(accounts.Admin)
	is(accounts.Admin)
}

// Without the scope, nothing is kept and nobody is asked about; neither once it is taken away.
func TestOnlyTheScopeAsksAgain(t *testing.T) {
	t.Parallel()
	h, v := rechecked(t, func(s *config.Issuer) { s.Scopes = []string{"openid"} })
	h.far.Refuses = "invalid_grant"
	h.anHourLater()
	require.Equal(t, "dora", v.who())
	h, v = rechecked(t, nil)
	h.sets(func(s *config.OpenID) { s.Issuers[0].Scopes = []string{"openid"} })
	h.far.Refuses = "invalid_grant"
	h.anHourLater()
	require.Equal(t, "dora", v.who())
	h.sets(func(s *config.OpenID) { s.Issuers[0].Scopes = []string{"openid", "offline_access"} })
	h.SignIn().Recheck(t.Context())
	require.Empty(t, v.who())
}
