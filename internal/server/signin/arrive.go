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
	Slot, Client          string // of the issuer
	Issuer, Subject, Name string
	There, Token          string // of their session at the issuer
	Grant                 string // names what the issuer is asked with later; empty if it isn't asked
	Admin                 bool   // whether they are in the group of administrators
	Asked                 bool   // whether the issuer has just asked them who they are
	After                 string
	Until                 time.Time
}

func personOf(i *openid.Issuer, c openid.Claims) person {
	return person{Slot: i.Slot, Client: i.Settings().ClientID, Issuer: c.Issuer, Subject: c.Subject,
		Name: bounded(c.Called()), There: c.Session, Token: c.Token, Asked: c.Asked,
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
func (h *Handler) arrive(c echo.Context, i *openid.Issuer, claims openid.Claims, e errand) error {
	ctx, s := c.Request().Context(), i.Settings()
	if s.AllowGroup != "" && !claims.In(s.AllowGroup) {
		h.core.Log.Warn("sign-in failed", "address", c.RealIP(), "user_id", 0, "outcome", notInGroup)
		return h.show(c, i, http.StatusForbidden, words.New("openid.not_in_group"),
			words.New("openid.not_in_group_text", "Name", bounded(claims.Called()), "Issuer", i.Called()))
	}
	p := personOf(i, claims)
	p.Admin, p.After = s.AdminGroup != "" && claims.In(s.AdminGroup), e.After
	var err error
	if claims.Grant.Token != "" {
		if p.Grant, err = h.store.AddGrant(ctx, claims.Grant); err != nil {
			return err
		}
	}
	u, err := h.store.UserOfIdentity(ctx, p.Issuer, p.Subject)
	if errors.Is(err, accounts.ErrUnknown) {
		return h.newcomer(c, i, p)
	}
	id := p.identity()
	id.User = u.ID
	if err == nil {
		err = h.store.AddIdentity(ctx, id) // as it is called by now
	}
	if err != nil {
		return err
	}
	if was, err := h.core.Sessions.Full(ctx); err == nil && was.ID == u.ID && e.Again { // they had to show who they are
		h.core.Sessions.Flash(ctx, words.New("confirm.done"))
	}
	return h.come(c, u, p)
}

// come gives the session to the account of a person, with the role that the issuer says.
func (h *Handler) come(c echo.Context, u accounts.User, p person) error {
	ctx := c.Request().Context()
	followed, err := h.role(ctx, h.issuers.At(p.Slot), u, p.Admin)
	if err == nil && followed {
		err = h.store.NoteAdmin(ctx, u.ID, p.Issuer, p.Admin)
	}
	if err != nil {
		return err
	}
	// Somebody else from another issuer waits: who has come in this way links them.
	if kept, _ := h.kept(ctx); kept.Issuer == p.Issuer && kept.Subject == p.Subject {
		h.core.Sessions.Drop(ctx, keptPerson)
	}
	by := accounts.Arrival{Way: accounts.ByIssuer, Issuer: p.Issuer, Client: p.Client, There: p.There, Token: p.Token,
		Grant: p.Grant, Silent: !p.Asked}
	if p.Grant != "" { // a role that didn't follow is tried again
		if err := h.store.OwnGrant(ctx, p.Grant, u.ID, p.Admin || !followed); err != nil {
			return err
		}
	}
	if err := h.core.SignIn(c, u, by); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, core.LocalPath(p.After))
}

// role gives an account the role that an issuer says, if it decides about roles. The last administrator stays one:
// then it reports false.
func (h *Handler) role(ctx context.Context, i *openid.Issuer, u accounts.User, admin bool) (followed bool, _ error) {
	role := accounts.Member
	if admin {
		role = accounts.Admin
	}
	if i.Settings().AdminGroup == "" || u.Role == role {
		return true, nil
	}
	_, err := h.setRole(ctx, u, role)
	if errors.Is(err, accounts.ErrLastAdmin) {
		h.core.Log.Warn("the last administrator stays one, outside of the issuer's group", "user_id", u.ID)
		return false, nil
	}
	if err == nil {
		h.core.Sessions.Recheck(u.ID)
	}
	return err == nil, err
}

// newcomer makes the account of a person who has none, if they may have one, or asks.
func (h *Handler) newcomer(c echo.Context, i *openid.Issuer, p person) error {
	ctx := c.Request().Context()
	if err := h.core.Sessions.Keep(ctx, keptPerson, p); err != nil {
		return err
	}
	_, err := h.core.Sessions.Full(ctx)
	if err == nil || h.invited(ctx).ID != 0 || !i.Settings().CreateAccounts {
		return c.Redirect(http.StatusSeeOther, newPath) // to link it, or with an invitation
	}
	u, err := h.join(c, p, p.Name, "")
	if _, unfit := errors.AsType[accounts.InputError](err); unfit || errors.Is(err, accounts.ErrTaken) {
		return c.Redirect(http.StatusSeeOther, newPath)
	}
	if err != nil {
		return h.failed(c, i, err)
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

// kept returns the person who has come from an issuer and has no account yet, with that issuer; nil for nobody, and if
// it isn't set up any more.
func (h *Handler) kept(ctx context.Context) (p person, i *openid.Issuer) {
	if !h.core.Sessions.Kept(ctx, keptPerson, &p) || !time.Now().Before(p.Until) {
		return p, nil
	}
	if i = h.issuers.Of(p.Issuer, p.Client); i == nil || i.Slot != p.Slot {
		return p, nil
	}
	return p, i
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
	p, i := h.kept(c.Request().Context())
	if i == nil {
		return h.over(c, nil)
	}
	return h.showNew(c, http.StatusOK, i, newView{There: p.Name, Name: p.Name})
}

func (h *Handler) showNew(c echo.Context, status int, i *openid.Issuer, v newView) error {
	ctx := c.Request().Context()
	v.Issuer = i.Called()
	v.MayJoin = i.Settings().CreateAccounts || h.invited(ctx).ID != 0
	if u, err := h.core.Sessions.Full(ctx); err == nil {
		v.Here = u.Name
	}
	return h.core.Show(c, status, words.T(ctx, "openid.new"), newcomerPage(v))
}

// over answers where nobody from an issuer is waiting any more: they may have come in already, by another click. i may
// be nil.
func (h *Handler) over(c echo.Context, i *openid.Issuer) error {
	if _, err := h.core.Sessions.User(c.Request().Context()); err == nil {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	return h.failed(c, i, openid.ErrStale)
}

// newForm makes the account under the name that was typed.
func (h *Handler) newForm(c echo.Context) error {
	ctx := c.Request().Context()
	p, i := h.kept(ctx)
	if i == nil {
		return h.over(c, nil)
	}
	if u, err := h.store.UserOfIdentity(ctx, p.Issuer, p.Subject); err == nil { // the form was sent twice
		return h.come(c, u, p)
	}
	invitation := ""
	if h.invited(ctx).ID != 0 {
		invitation = h.core.Sessions.Link(ctx)
	} else if !i.Settings().CreateAccounts {
		return h.showNew(c, http.StatusForbidden, i, newView{There: p.Name, Name: p.Name})
	}
	name := c.FormValue("name")
	u, err := h.join(c, p, name, invitation)
	if errors.Is(err, accounts.ErrOthers) || errors.Is(err, accounts.ErrEmpty) {
		return h.failed(c, i, err)
	}
	if err != nil {
		problem := h.core.Problem(c, err)
		return h.showNew(c, problem.Status, i, newView{There: p.Name, Name: name, Problem: problem.Detail})
	}
	h.core.Sessions.DropLink(ctx)
	return h.begun(c, u, p)
}

// linkForm links who has come from the issuer to the account that is signed in.
func (h *Handler) linkForm(c echo.Context) error {
	ctx := c.Request().Context()
	p, i := h.kept(ctx)
	if i == nil {
		return h.over(c, nil)
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
	ctx, i := c.Request().Context(), h.issuers.At(p.Slot)
	id := p.identity()
	id.User = u.ID
	if err := h.store.AddIdentity(ctx, id); err != nil {
		return h.failed(c, i, err)
	}
	h.core.Sessions.Drop(ctx, keptPerson)
	ctx = activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name})
	c.SetRequest(c.Request().WithContext(ctx))
	h.core.NoteAccess(c, "identity linked", activity.Entry{User: u.ID, Action: activity.IdentityLinked,
		Subject: i.Called()})
	h.core.TellAccess(ctx, u.ID, core.ToldIdentityLinked, "Issuer", words.Plain(i.Called()))
	return h.core.Done(c, accountPath+"#identities", words.New("openid.linked", "Issuer", i.Called()))
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
