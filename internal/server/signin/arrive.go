package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/openid"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// person is somebody whom the issuer has named.
type person struct {
	Issuer, Subject, Name string
	There, Token          string // of their session at the issuer
	Admin                 bool   // whether they are in the group of administrators
	After                 string
	Until                 time.Time
}

func personOf(c openid.Claims) person {
	return person{Issuer: c.Issuer, Subject: c.Subject, Name: bounded(c.Called()), There: c.Session, Token: c.Token,
		Until: time.Now().Add(openid.PendingFor)}
}

func (p person) identity() accounts.Identity {
	return accounts.Identity{Issuer: p.Issuer, Subject: p.Subject, Name: p.Name}
}

// bounded shortens a name that somebody else has chosen.
func bounded(name string) string {
	r := []rune(name)
	return string(r[:min(len(r), 64)])
}

// arrive signs in who has come from the issuer, or makes their account, or asks them which one they have.
func (h *Handler) arrive(c echo.Context, claims openid.Claims, after string) error {
	ctx, s := c.Request().Context(), h.issuer.Settings()
	if s.AllowGroup != "" && !claims.In(s.AllowGroup) {
		h.core.Log.Warn("sign-in failed", "address", c.RealIP(), "user_id", 0, "outcome", "not_in_group")
		return h.show(c, http.StatusForbidden, words.New("openid.not_in_group"),
			words.New("openid.not_in_group_text", "Name", bounded(claims.Called()), "Issuer", h.called()))
	}
	p := personOf(claims)
	p.Admin, p.After = s.AdminGroup != "" && claims.In(s.AdminGroup), after
	u, err := h.store.UserOfIdentity(ctx, p.Issuer, p.Subject)
	if errors.Is(err, accounts.ErrUnknown) {
		return h.newcomer(c, p)
	}
	i := p.identity()
	i.User = u.ID
	if err == nil {
		err = h.store.AddIdentity(ctx, i) // as it is called by now
	}
	if err != nil {
		return err
	}
	return h.come(c, u, p)
}

// come gives the session to the account of a person, with the role that the issuer says.
func (h *Handler) come(c echo.Context, u accounts.User, p person) error {
	if err := h.role(c, u, p); err != nil {
		return err
	}
	h.core.Sessions.Drop(c.Request().Context(), keptPerson)
	by := accounts.Arrival{Way: accounts.ByIssuer, Issuer: p.Issuer, There: p.There, Token: p.Token,
		For: h.issuer.Settings().Session}
	if err := h.core.SignIn(c, u, by); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, core.LocalPath(p.After))
}

// role gives an account the role that the issuer says, if it decides about roles. The last administrator stays one.
func (h *Handler) role(c echo.Context, u accounts.User, p person) error {
	role := accounts.Member
	if p.Admin {
		role = accounts.Admin
	}
	if h.issuer.Settings().AdminGroup == "" || u.Role == role {
		return nil
	}
	_, err := h.setRole(c, u, role)
	if err != nil && h.core.Problem(c, err).Status == http.StatusConflict {
		h.core.Log.Warn("the last administrator stays one, outside of the issuer's group", "user_id", u.ID)
		return nil
	}
	if err == nil {
		h.core.Sessions.Recheck(u.ID)
	}
	return err
}

// newcomer makes the account of a person who has none, if they may have one, or asks.
func (h *Handler) newcomer(c echo.Context, p person) error {
	ctx := c.Request().Context()
	if err := h.core.Sessions.Keep(ctx, keptPerson, p); err != nil {
		return err
	}
	_, err := h.core.Sessions.Full(ctx)
	if err == nil || h.invited(ctx).ID != 0 || !h.issuer.Settings().CreateAccounts {
		return c.Redirect(http.StatusSeeOther, newPath) // to link it, or with an invitation
	}
	u, err := h.join(c, p, p.Name, "")
	if _, unfit := errors.AsType[accounts.InputError](err); unfit || errors.Is(err, accounts.ErrTaken) {
		return c.Redirect(http.StatusSeeOther, newPath)
	}
	if err != nil {
		return h.failed(c, err)
	}
	return h.begun(c, u, p)
}

// join makes an account for a person, by an invitation if there is one.
func (h *Handler) join(c echo.Context, p person, name, invitation string) (u accounts.User, err error) {
	ctx := c.Request().Context()
	if name, err = accounts.CheckLabel(name); err != nil {
		return u, err
	}
	u = accounts.User{Name: name, Role: accounts.Member, CreatedAt: time.Now()}
	if u, err = h.store.AddUserOf(ctx, u, p.identity(), invitation); err != nil {
		return u, err
	}
	did := activity.Entry{Action: activity.CameIn, Subject: u.Name}
	if invitation != "" {
		did.Action = activity.Joined
	}
	h.core.Note(activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name}), did)
	return u, nil
}

// begun signs in a person whose account has just been made, and leads them on.
func (h *Handler) begun(c echo.Context, u accounts.User, p person) error {
	if err := h.steps.Begin(c.Request().Context(), u.ID); err != nil {
		return err
	}
	p.After = "/welcome"
	return h.come(c, u, p)
}

// kept returns the person who has come from the issuer and has no account yet.
func (h *Handler) kept(ctx context.Context) (p person, ok bool) {
	ok = h.core.Sessions.Kept(ctx, keptPerson, &p) && time.Now().Before(p.Until)
	return p, ok
}

// invited returns the invitation that this browser has opened; a zero one for none.
func (h *Handler) invited(ctx context.Context) accounts.Link {
	l, err := h.links.Find(ctx, accounts.Invitation, h.core.Sessions.Link(ctx))
	if err != nil {
		return accounts.Link{}
	}
	return l
}

// newView is the page for somebody from the issuer whose account here isn't known.
type newView struct {
	Issuer, There string // what people call the issuer, and how it calls the person
	Here          string // who is signed in here; empty for nobody
	MayJoin       bool
	Name, Problem string
}

func (h *Handler) newPage(c echo.Context) error {
	p, ok := h.kept(c.Request().Context())
	if !ok {
		return h.over(c)
	}
	return h.showNew(c, http.StatusOK, p, newView{Name: p.Name})
}

func (h *Handler) showNew(c echo.Context, status int, p person, v newView) error {
	ctx := c.Request().Context()
	v.Issuer, v.There = h.called(), p.Name
	v.MayJoin = h.issuer.Settings().CreateAccounts || h.invited(ctx).ID != 0
	if u, err := h.core.Sessions.Full(ctx); err == nil {
		v.Here = u.Name
	}
	return h.core.Show(c, status, words.T(ctx, "openid.new"), newcomerPage(v))
}

// over answers where nobody from the issuer is waiting any more: they may have come in already, by another click.
func (h *Handler) over(c echo.Context) error {
	if _, err := h.core.Sessions.User(c.Request().Context()); err == nil {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	return h.failed(c, openid.ErrStale)
}

// newForm makes the account under the name that was typed.
func (h *Handler) newForm(c echo.Context) error {
	ctx := c.Request().Context()
	p, ok := h.kept(ctx)
	if !ok {
		return h.over(c)
	}
	if u, err := h.store.UserOfIdentity(ctx, p.Issuer, p.Subject); err == nil { // the form was sent twice
		return h.come(c, u, p)
	}
	invitation := ""
	if h.invited(ctx).ID != 0 {
		invitation = h.core.Sessions.Link(ctx)
	} else if !h.issuer.Settings().CreateAccounts {
		return h.showNew(c, http.StatusForbidden, p, newView{Name: p.Name})
	}
	name := c.FormValue("name")
	u, err := h.join(c, p, name, invitation)
	if errors.Is(err, accounts.ErrOthers) || errors.Is(err, accounts.ErrEmpty) {
		return h.failed(c, err)
	}
	if err != nil {
		problem := h.core.Problem(c, err)
		return h.showNew(c, problem.Status, p, newView{Name: name, Problem: problem.Detail})
	}
	h.core.Sessions.DropLink(ctx)
	return h.begun(c, u, p)
}

// linkForm links who has come from the issuer to the account that is signed in.
func (h *Handler) linkForm(c echo.Context) error {
	ctx := c.Request().Context()
	p, ok := h.kept(ctx)
	if !ok {
		return h.over(c)
	}
	u, err := h.core.Sessions.Full(ctx)
	if err != nil {
		return c.Redirect(http.StatusSeeOther, localPath+"&after="+url.QueryEscape(newPath))
	}
	if h.core.Proved(c) != nil { // it opens a way in
		return h.core.ProveFirst(c, newPath)
	}
	return h.link(c, u, p)
}

func (h *Handler) link(c echo.Context, u accounts.User, p person) error {
	ctx := c.Request().Context()
	i := p.identity()
	i.User = u.ID
	if err := h.store.AddIdentity(ctx, i); err != nil {
		return h.failed(c, err)
	}
	h.core.Sessions.Drop(ctx, keptPerson)
	ctx = activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name})
	c.SetRequest(c.Request().WithContext(ctx))
	h.core.NoteAccess(c, "identity linked", activity.Entry{User: u.ID, Action: activity.IdentityLinked,
		Subject: h.called()})
	h.core.TellAccess(ctx, u.ID, core.ToldIdentityLinked, "Issuer", words.Plain(h.called()))
	return h.core.Done(c, accountPath+"#identities", words.New("openid.linked", "Issuer", h.called()))
}

// ByProxy returns what makes accounts for people whom a proxy has named, while that is allowed: never an
// administrator's, and never the first one.
func (h *Handler) ByProxy(allowed func() bool) core.Newcomers {
	return func(ctx context.Context, name string) (u accounts.User, err error) {
		if !allowed() {
			return u, accounts.ErrUnknown
		}
		if name, err = accounts.CheckLabel(name); err != nil {
			return u, err
		}
		u, err = h.store.AddUserOf(ctx, accounts.User{Name: name, Role: accounts.Member, CreatedAt: time.Now()},
			accounts.Identity{}, "")
		if errors.Is(err, accounts.ErrTaken) { // by another first request of the same person
			return h.named(ctx, name)
		}
		if err == nil {
			h.core.Note(activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name}),
				activity.Entry{Action: activity.CameIn, Subject: u.Name})
			err = h.steps.Begin(ctx, u.ID)
		}
		return u, err
	}
}
