package signin

import (
	"cmp"
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
	Issuer string // what people called it
	Claims map[string]string
	Says   []words.Text
	Failed string // why the issuer said nothing; empty if it did
}

// mostClaim is how much of a claim is shown, in bytes.
const mostClaim = 300

// tested keeps what an administrator got from an issuer, and what would follow from it for somebody who signs in.
func (h *Handler) tested(c echo.Context, i *openid.Issuer, u accounts.User, claims openid.Claims) error {
	ctx := c.Request().Context()
	if u.Role != accounts.Admin {
		return h.failed(c, i, openid.ErrStale)
	}
	of, err := h.store.UserOfIdentity(ctx, claims.Issuer, claims.Subject)
	if err != nil {
		of = accounts.User{}
	}
	t := trial{Issuer: i.Called(), Claims: map[string]string{},
		Says: consequences(claims, i.Settings(), of, i.Called())}
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
	return c.Redirect(http.StatusSeeOther, testPath+"#result")
}

// untested keeps why a test failed: the person who set the issuer up can do something about it.
func (h *Handler) untested(c echo.Context, i *openid.Issuer, err error) error {
	if refused, is := errors.AsType[*openid.RefusedError](err); is && refused.Text != "" {
		err = fmt.Errorf("%w: %s", err, bounded(refused.Text))
	}
	why := trial{Issuer: cmp.Or(i.Called(), i.Slot), Failed: err.Error()}
	if err := h.core.Sessions.Keep(c.Request().Context(), keptClaims, why); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, testPath)
}

// consequences says what follows for somebody with these claims who signs in; of is the account that they have here.
func consequences(c openid.Claims, s config.Issuer, of accounts.User, issuer string) (all []words.Text) {
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
	switch {
	case s.Rechecks() && c.Grant.Token == "":
		say("openid.test.no_grant", "Issuer", issuer)
	case s.Rechecks():
		say("openid.test.grant", "Issuer", issuer)
	}
	return all
}

// testView is the page of the test.
type testView struct {
	Places []place
	None   bool // no issuer is set up
	Result result
}

// place is one for an issuer, with the addresses that it has to know.
type place struct {
	Title, Lead string
	Addresses   []ui.Fact
	Try         []ui.Action
}

// result is what came of a test.
type result struct {
	Issuer string
	Failed string // why there is none; empty if there is one
	Says   []string
	Claims []ui.Fact
}

func (h *Handler) testPage(c echo.Context) error {
	ctx := c.Request().Context()
	v := testView{None: len(h.issuers.On()) == 0}
	var t trial
	if h.core.Sessions.Kept(ctx, keptClaims, &t) {
		h.core.Sessions.Drop(ctx, keptClaims)
		for _, said := range t.Says {
			v.Result.Says = append(v.Result.Says, said.T(ctx))
		}
		v.Result.Claims, v.Result.Issuer = facts(ctx, t.Claims), t.Issuer
		if t.Failed != "" {
			v.Result.Failed = words.T(ctx, "openid.test.failed", "Issuer", t.Issuer, "Problem", t.Failed)
		}
	}
	var next []place // the first that isn't set up yet, after those that are
	for _, slot := range config.Slots {
		i := h.issuers.At(slot)
		p := h.place(ctx, i)
		switch {
		case i.Settings().On():
			p.Title = words.T(ctx, "openid.test.at", "Issuer", i.Called())
			try := to(i, words.T(ctx, "openid.test.button", "Issuer", i.Called()), testPath)
			try.Main = len(v.Places) == 0 && len(v.Result.Says) == 0
			p.Try = []ui.Action{try}
			v.Places = append(v.Places, p)
		case len(next) == 0:
			if !v.None {
				p.Title, p.Lead = words.T(ctx, "openid.test.next"), words.T(ctx, "openid.test.next_lead")
			}
			next = append(next, p)
		}
	}
	v.Places = append(v.Places, next...)
	return h.core.ShowSettings(c, http.StatusOK, words.T(ctx, "openid.test.title"), testedPage(v))
}

// place returns the place of an issuer, as the page shows one that isn't set up.
func (h *Handler) place(ctx context.Context, i *openid.Issuer) place {
	return place{Title: words.T(ctx, "openid.test.there"), Lead: words.T(ctx, "openid.test.there_lead"),
		Addresses: []ui.Fact{
			{Label: words.T(ctx, "openid.test.callback"), Value: ui.Code(h.back(i))},
			{Label: words.T(ctx, "openid.test.after"), Value: ui.Code(h.core.URL().String() + localPath)},
			{Label: words.T(ctx, "openid.test.logout"), Value: ui.Code(h.address(i, "/back-channel"))},
		}}
}

// Above is what the settings of signing in have above them: the way to the test, and who can't come in.
func (h *Handler) Above(ctx context.Context) (templ.Component, error) {
	if h.byName() {
		return aboveSettings(nil), nil
	}
	names, err := h.store.Stranded(ctx, h.works())
	return aboveSettings(names), err
}

// facts returns claims, the best known first. Times are shown as such; 0 says that an issuer doesn't know.
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
			all = append(all, ui.Fact{Label: name, Value: valueOf(ctx, name, text)})
		}
	}
	return all
}

func valueOf(ctx context.Context, name, text string) templ.Component {
	var seconds int64
	if slices.Contains([]string{"iat", "exp", "auth_time"}, name) && json.Unmarshal([]byte(text), &seconds) == nil {
		var at time.Time
		if seconds != 0 {
			at = time.Unix(seconds, 0)
		}
		return ui.TimeOr(at, ui.At, words.T(ctx, "openid.test.unsaid"))
	}
	return ui.Name(text)
}
