package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/openid"
	"reprise/internal/words"
	"reprise/web/ui"
)

// trial is what came of an administrator's test. The session keeps it until the page has shown it.
type trial struct {
	Claims map[string]string
	Says   []words.Text
	Failed string // why the issuer said nothing; empty if it did
}

// mostClaim is how much of a claim is shown, in bytes.
const mostClaim = 300

// tested keeps what an administrator got from the issuer, and what would follow from it for somebody who signs in.
func (h *Handler) tested(c echo.Context, u accounts.User, claims openid.Claims) error {
	ctx, s := c.Request().Context(), h.issuer.Settings()
	if u.Role != accounts.Admin {
		return h.failed(c, openid.ErrStale)
	}
	of, err := h.store.UserOfIdentity(ctx, claims.Issuer, claims.Subject)
	if err != nil {
		of = accounts.User{}
	}
	t := trial{Claims: map[string]string{}, Says: consequences(claims, s, of, h.called())}
	for name, value := range claims.All {
		text, is := value.(string)
		if !is {
			raw, err := json.Marshal(value)
			if err != nil {
				raw = fmt.Append(nil, value)
			}
			text = string(raw)
		}
		t.Claims[name] = strings.ToValidUTF8(text[:min(len(text), mostClaim)], "")
	}
	if err := h.core.Sessions.Keep(ctx, keptClaims, t); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, testPath)
}

// untested keeps why a test failed: the person who set the issuer up can do something about it.
func (h *Handler) untested(c echo.Context, err error) error {
	if refused, is := errors.AsType[*openid.RefusedError](err); is && refused.Text != "" {
		err = fmt.Errorf("%w: %s", err, bounded(refused.Text))
	}
	if err := h.core.Sessions.Keep(c.Request().Context(), keptClaims, trial{Failed: err.Error()}); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, testPath)
}

// consequences says what follows for somebody with these claims who signs in; of is the account that they have here.
func consequences(c openid.Claims, s config.OpenID, of accounts.User, issuer string) (all []words.Text) {
	say := func(id string, pairs ...any) { all = append(all, words.New(id, pairs...)) }
	if s.AllowGroup != "" && !c.In(s.AllowGroup) {
		say("openid.test.not_in", "Group", s.AllowGroup)
		if !c.Grouped {
			say("openid.test.no_groups", "Issuer", issuer, "Claim", s.GroupsClaim)
		}
		return all
	} else if s.AllowGroup != "" {
		say("openid.test.in", "Group", s.AllowGroup)
	}
	switch {
	case of.ID != 0:
		say("openid.test.account", "Name", of.Name)
	case s.CreateAccounts:
		say("openid.test.new", "Name", c.Called())
	default:
		say("openid.test.ask")
	}
	switch {
	case s.AdminGroup == "":
		say("openid.test.roles")
	case c.In(s.AdminGroup):
		say("openid.test.admin", "Group", s.AdminGroup)
	default:
		say("openid.test.member", "Group", s.AdminGroup)
	}
	if !c.Grouped && s.AdminGroup != "" {
		say("openid.test.no_groups", "Issuer", issuer, "Claim", s.GroupsClaim)
	}
	return all
}

// testView is the page of the test.
type testView struct {
	Issuer   string // empty: none is set up
	Callback string
	Logout   string // the address for the back channel
	After    string // where browsers come back to after signing out
	Failed   string
	Says     []string
	Claims   []ui.Fact
}

func (h *Handler) testPage(c echo.Context) error {
	ctx := c.Request().Context()
	base := h.core.URL().String()
	v := testView{Callback: h.back(), Logout: base + "/sign-in/oidc/back-channel", After: base + localPath}
	if h.issuer.Settings().On() {
		v.Issuer = h.called()
	}
	var t trial
	if h.core.Sessions.Kept(ctx, keptClaims, &t) {
		h.core.Sessions.Drop(ctx, keptClaims)
		if t.Failed != "" {
			v.Failed = words.T(ctx, "openid.test.failed", "Issuer", v.Issuer, "Problem", t.Failed)
		}
		for _, said := range t.Says {
			v.Says = append(v.Says, said.T(ctx))
		}
		v.Claims = facts(ctx, t.Claims)
	}
	return h.core.ShowSettings(c, http.StatusOK, words.T(ctx, "openid.test.title"), testedPage(v))
}

// facts returns claims, the best known first. Times are shown as such.
func facts(ctx context.Context, claims map[string]string) (all []ui.Fact) {
	known := []string{"iss", "sub", "preferred_username", "name", "email", "groups"}
	names := make([]string, 0, len(claims))
	for name := range claims {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Concat(known, names) {
		if text, there := claims[name]; there {
			all = append(all, ui.Fact{Label: name, Value: valueOf(name, text)})
		}
	}
	return all
}

func valueOf(name, text string) templ.Component {
	var seconds int64
	if slices.Contains([]string{"iat", "exp", "auth_time"}, name) && json.Unmarshal([]byte(text), &seconds) == nil {
		return ui.Time(time.Unix(seconds, 0), ui.At)
	}
	return ui.Name(text)
}
