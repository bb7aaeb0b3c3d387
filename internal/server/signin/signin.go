// Package signin lets people come in who have an account at an issuer of OpenID Connect, and those whom a reverse proxy
// names. Who somebody is, the issuer and the subject say together; an account that is here already is linked only by
// somebody who is signed in to it.
package signin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/openid"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Steps leads a person through their first steps.
type Steps interface {
	Begin(ctx context.Context, user int64) error
}

// Options are what a Handler is made from.
type Options struct {
	Core   *core.Core
	Issuer *openid.Issuer
	Store  accounts.IdentityStore
	Links  *accounts.Links
	Steps  Steps
	// SetRole changes a role as an administrator does.
	SetRole func(c echo.Context, u accounts.User, role string) (before string, err error)
	Named   func(ctx context.Context, name string) (accounts.User, error)
}

// Handler answers for coming in from an issuer.
type Handler struct {
	core    *core.Core
	issuer  *openid.Issuer
	store   accounts.IdentityStore
	links   *accounts.Links
	steps   Steps
	setRole func(c echo.Context, u accounts.User, role string) (before string, err error)
	named   func(ctx context.Context, name string) (accounts.User, error)
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{core: o.Core, issuer: o.Issuer, store: o.Store, links: o.Links, steps: o.Steps,
		setRole: o.SetRole, named: o.Named}
}

// The addresses.
const (
	beginPath    = "/sign-in/oidc"
	callbackPath = "/sign-in/oidc/callback"
	newPath      = "/sign-in/oidc/account"
	localPath    = "/login?local"
	accountPath  = "/settings/account"
	ownPath      = accountPath + "/identities"
	testPath     = "/settings/server/sign-in"
)

// Open adds the routes for people who are not signed in.
func (h *Handler) Open(g *echo.Group) {
	slow := h.core.SlowDown("openid")
	g.GET(beginPath, h.begin, slow)
	g.GET(callbackPath, h.callback, slow)
	g.GET(newPath, h.newPage)
	g.POST(newPath, h.newForm, slow)
	g.POST(newPath+"/link", h.linkForm)
}

// BackChannel adds the route by which the issuer tells that somebody has signed out there. It has no session. All of
// its messages come from one address.
func (h *Handler) BackChannel(e *echo.Echo) {
	e.POST("/sign-in/oidc/back-channel", h.signedOut, core.Visitors())
}

// What somebody goes to the issuer for.
const (
	toSignIn = ""
	toLink   = "link" // to what they are signed in to
	toTest   = "test" // what an administrator has set up
)

// errand is what a browser has gone to the issuer for. The session keeps the latest few.
type errand struct {
	openid.Pending
	For   string
	User  int64 // who sent it; 0 for who signs in
	After string
}

// The names under which a session keeps things, and how many errands: those of several tabs.
const (
	keptErrands = "openid_errands"
	keptPurpose = "openid_purpose"
	keptPerson  = "openid_person"
	keptClaims  = "openid_claims"
	mostErrands = 5
)

// called is what people call the issuer.
func (h *Handler) called() string { return cmp.Or(h.issuer.Settings().Button, h.issuer.Host()) }

func (h *Handler) back() string { return h.core.URL().String() + callbackPath }

// begin sends a browser to the issuer.
func (h *Handler) begin(c echo.Context) error {
	ctx := c.Request().Context()
	if open, err := h.core.Sessions.Setup.Open(ctx); err != nil {
		return err
	} else if open {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	e := errand{After: core.LocalPath(c.QueryParam("after"))}
	if h.core.Sessions.Kept(ctx, keptPurpose, &e.For) { // a form has said what for
		h.core.Sessions.Drop(ctx, keptPurpose)
		u, err := h.core.Sessions.Full(ctx)
		if err != nil {
			return c.Redirect(http.StatusSeeOther, "/login")
		}
		e.User = u.ID
	}
	to, pending, err := h.issuer.Begin(ctx, h.back(), c.QueryParam("again") != "" || e.For == toLink)
	if err != nil && e.For == toTest {
		return h.untested(c, err)
	}
	if err != nil {
		return h.failed(c, err)
	}
	e.Pending = pending
	h.core.Sessions.Brief(ctx, openid.PendingFor)
	var all []errand
	h.core.Sessions.Kept(ctx, keptErrands, &all)
	all = append(slices.DeleteFunc(all, func(e errand) bool { return time.Now().After(e.Until) }), e)
	if err := h.core.Sessions.Keep(ctx, keptErrands, all[max(0, len(all)-mostErrands):]); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// callback is where the issuer sends a browser back to.
func (h *Handler) callback(c echo.Context) error {
	ctx, answer := c.Request().Context(), c.QueryParams()
	var all []errand
	h.core.Sessions.Kept(ctx, keptErrands, &all)
	i := slices.IndexFunc(all, func(e errand) bool { return e.State == answer.Get("state") })
	if i < 0 {
		return h.over(c)
	}
	e := all[i]
	if err := h.core.Sessions.Keep(ctx, keptErrands, slices.Delete(all, i, i+1)); err != nil { // it is good once
		return err
	}
	claims, err := h.issuer.Finish(ctx, h.back(), e.Pending, answer)
	if err != nil && e.For == toTest {
		return h.untested(c, err)
	}
	if err != nil {
		return h.failed(c, err)
	}
	if e.For != toSignIn {
		u, err := h.core.Sessions.Full(ctx)
		if err != nil || u.ID != e.User { // who sent it has signed out meanwhile
			return h.failed(c, openid.ErrStale)
		}
		if e.For == toTest {
			return h.tested(c, u, claims)
		}
		return h.link(c, u, personOf(claims))
	}
	return h.arrive(c, claims, e.After)
}

// failed shows why somebody could not come in, with the ways that are left.
func (h *Handler) failed(c echo.Context, err error) error {
	name := words.T(c.Request().Context(), "openid.issuer")
	if h.issuer.Settings().On() {
		name = h.called()
	}
	title := words.New("openid.failed", "Issuer", name)
	refused, isRefused := errors.AsType[*openid.RefusedError](err)
	_, isDown := errors.AsType[*openid.DownError](err)
	switch {
	case errors.Is(err, openid.ErrOff):
		return h.show(c, http.StatusNotFound, title, words.New("openid.off"))
	case errors.Is(err, accounts.ErrEmpty):
		return c.Redirect(http.StatusSeeOther, "/setup")
	case errors.Is(err, accounts.ErrOthers):
		return h.show(c, http.StatusConflict, title, words.New("openid.others", "Issuer", name))
	case isDown:
		h.core.Log.Warn("the issuer can't be asked", "err", err)
		return h.show(c, http.StatusBadGateway, title, words.New("openid.down", "Issuer", name))
	case isRefused && refused.Code == "access_denied":
		return h.show(c, http.StatusForbidden, title, words.New("openid.denied", "Issuer", name))
	case isRefused:
		h.core.Log.Warn("the issuer refuses", "code", bounded(refused.Code), "text", bounded(refused.Text))
		return h.show(c, http.StatusBadGateway, title,
			words.New("openid.refused", "Issuer", name, "Code", bounded(refused.Code)))
	case errors.Is(err, openid.ErrStale):
		return h.show(c, http.StatusBadRequest, title, words.New("openid.stale", "Base", h.core.URL().String()))
	case errors.Is(err, openid.ErrBroken):
		h.core.Log.Warn("an answer of the issuer doesn't fit", "address", c.RealIP(), "err", err)
		return h.show(c, http.StatusBadRequest, title, words.New("openid.broken", "Issuer", name))
	}
	return err
}

func (h *Handler) show(c echo.Context, status int, title, detail words.Text) error {
	ctx := c.Request().Context()
	again := beginPath
	if status == http.StatusForbidden { // the issuer would return the same person at once
		again += "?again=yes"
	}
	next := []ui.Action{{Label: words.T(ctx, "openid.again"), URL: again, Main: true},
		{Label: words.T(ctx, "openid.local"), URL: localPath}}
	if _, err := h.core.Sessions.Full(ctx); err == nil {
		next = []ui.Action{{Label: words.T(ctx, "error.home"), URL: "/", Main: true}}
	}
	return h.core.Show(c, status, title.T(ctx), failedPage(title.T(ctx), detail.T(ctx), next))
}

// signedOut ends the sessions of somebody who has signed out at the issuer (OpenID Connect Back-Channel Logout 1.0).
func (h *Handler) signedOut(c echo.Context) error {
	ctx := c.Request().Context()
	c.Response().Header().Set("Cache-Control", "no-store")
	out, err := h.issuer.SignedOut(ctx, c.FormValue("logout_token"))
	if err != nil {
		h.core.Log.Warn("the issuer's word that somebody signed out doesn't fit", "address", c.RealIP(), "err", err)
		return c.JSON(http.StatusBadRequest, map[string]string{"error": "invalid_request"})
	}
	var whose []int64
	if out.Subject != "" {
		u, err := h.store.UserOfIdentity(ctx, out.Issuer, out.Subject)
		if err == nil {
			whose = []int64{u.ID}
		} else if !errors.Is(err, accounts.ErrUnknown) {
			return err
		}
	} else if whose, err = h.core.Sessions.WhoseThere(ctx, out.Issuer, out.Session); err != nil {
		return err
	}
	for _, user := range whose {
		if _, err := h.core.Sessions.EndThere(ctx, user, out.Issuer, out.Session); err != nil {
			return err
		}
	}
	return c.NoContent(http.StatusOK)
}

// Away returns where a browser goes whose session has ended here, so that it ends at the issuer as well; empty for
// nowhere.
func (h *Handler) Away(ctx context.Context, by accounts.Arrival) string {
	if by.Way != accounts.ByIssuer || by.Issuer != h.issuer.Settings().Issuer {
		return ""
	}
	return h.issuer.SignOut(ctx, by.Token, h.core.URL().String()+localPath)
}
