// Package signin lets people come in who have an account at an issuer of OpenID Connect, and those whom a reverse proxy
// names. Who somebody is, the issuer and the subject say together; an account that is here already is linked only by
// somebody who is signed in to it.
package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
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
	Core    *core.Core
	Issuers *openid.Issuers
	Store   Store
	Links   *accounts.Links
	Steps   Steps
	// SetRole changes a role as an administrator does.
	SetRole func(ctx context.Context, u accounts.User, role string) (before string, err error)
	Named   func(ctx context.Context, name string) (accounts.User, error)
	// Works says which ways in work now.
	Works func() accounts.Works
	// ByName reports whether a proxy opens accounts by their names.
	ByName func() bool
}

// Store keeps identities and grants.
type Store interface {
	accounts.IdentityStore
	accounts.GrantStore
}

// Handler answers for coming in from an issuer.
type Handler struct {
	core    *core.Core
	issuers *openid.Issuers
	store   Store
	links   *accounts.Links
	steps   Steps
	setRole func(ctx context.Context, u accounts.User, role string) (before string, err error)
	named   func(ctx context.Context, name string) (accounts.User, error)
	works   func() accounts.Works
	byName  func() bool
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{core: o.Core, issuers: o.Issuers, store: o.Store, links: o.Links, steps: o.Steps,
		setRole: o.SetRole, named: o.Named, works: o.Works, byName: o.ByName}
}

// The addresses. Those below signInPath are of one issuer, which its slot names.
const (
	signInPath  = "/sign-in/:slot"
	newPath     = "/sign-in/oidc/account" // of all issuers
	localPath   = "/login?local"
	accountPath = "/settings/account"
	ownPath     = accountPath + "/identities"
	testPath    = "/settings/server/sign-in"
)

// beginOf is the path at which people begin to sign in with an issuer.
func beginOf(i *openid.Issuer) string { return "/sign-in/" + i.Slot }

// Open adds the routes for people who are not signed in.
func (h *Handler) Open(g *echo.Group) {
	slow := h.core.SlowDown("openid")
	g.GET(signInPath, h.begin, slow)
	g.GET(signInPath+"/callback", h.callback, slow)
	g.GET(newPath, h.newPage)
	g.POST(newPath, h.newForm, slow)
	g.POST(newPath+"/link", h.linkForm)
}

// BackChannel adds the route by which an issuer tells that somebody has signed out there. It has no session. All
// messages of an issuer come from one address.
func (h *Handler) BackChannel(e *echo.Echo) {
	e.POST(signInPath+"/back-channel", h.signedOut, core.Visitors())
}

// What somebody goes to the issuer for.
const (
	toSignIn = ""
	toLink   = "link" // to what they are signed in to
	toTest   = "test" // what an administrator has set up
)

// purpose is what a form has sent a browser to an issuer for.
type purpose struct {
	For, Slot string
	User      int64 // who sent it
	Until     time.Time
}

// errand is what a browser has gone to an issuer for. The session keeps the latest few.
type errand struct {
	openid.Pending
	Slot  string // of the issuer: nobody comes back from another one
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

// issuerOf returns the issuer whose address was asked for.
func (h *Handler) issuerOf(c echo.Context) (*openid.Issuer, error) {
	if i := h.issuers.At(c.Param("slot")); i != nil {
		return i, nil
	}
	return nil, library.ErrNotFound
}

// address is an address of this server that belongs to an issuer.
func (h *Handler) address(i *openid.Issuer, path string) string {
	return h.core.URL().String() + beginOf(i) + path
}

func (h *Handler) back(i *openid.Issuer) string { return h.address(i, "/callback") }

// begin sends a browser to an issuer.
func (h *Handler) begin(c echo.Context) error {
	ctx := c.Request().Context()
	i, err := h.issuerOf(c)
	if err != nil {
		return err
	}
	if open, err := h.core.Sessions.Setup.Open(ctx); err != nil {
		return err
	} else if open {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	e := errand{Slot: i.Slot, After: core.LocalPath(c.QueryParam("after"))}
	var p purpose
	said := h.core.Sessions.Kept(ctx, keptPurpose, &p) // a form has said what for
	h.core.Sessions.Drop(ctx, keptPurpose)
	if said && p.Slot == i.Slot && time.Now().Before(p.Until) {
		u, err := h.core.Sessions.Full(ctx)
		if err != nil || u.ID != p.User {
			return c.Redirect(http.StatusSeeOther, "/login")
		}
		e.For, e.User = p.For, u.ID
	}
	to, pending, err := i.Begin(ctx, h.back(i), c.QueryParam("again") != "" || e.For == toLink)
	if err != nil && e.For == toTest {
		return h.untested(c, i, err)
	}
	if err != nil {
		return h.failed(c, i, err)
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

// callback is where an issuer sends a browser back to. Each has an address of its own: an answer at another one's is
// forged, by an issuer that wants to be taken for another.
func (h *Handler) callback(c echo.Context) error {
	ctx, answer := c.Request().Context(), c.QueryParams()
	i, err := h.issuerOf(c)
	if err != nil {
		return err
	}
	var all []errand
	h.core.Sessions.Kept(ctx, keptErrands, &all)
	at := slices.IndexFunc(all, func(e errand) bool { return e.State == answer.Get("state") })
	if at < 0 {
		return h.over(c, i)
	}
	e := all[at]
	if err := h.core.Sessions.Keep(ctx, keptErrands, slices.Delete(all, at, at+1)); err != nil { // it is good once
		return err
	}
	if e.Slot != i.Slot {
		return h.failed(c, i, fmt.Errorf("%w: it was begun with %s", openid.ErrBroken, e.Slot))
	}
	claims, err := i.Finish(ctx, h.back(i), e.Pending, answer)
	if err != nil && e.For == toTest {
		return h.untested(c, i, err)
	}
	if err != nil {
		return h.failed(c, i, err)
	}
	if e.For != toSignIn {
		u, err := h.core.Sessions.Full(ctx)
		if err != nil || u.ID != e.User { // who sent it has signed out meanwhile
			return h.failed(c, i, openid.ErrStale)
		}
		if e.For == toTest {
			return h.tested(c, i, u, claims)
		}
		return h.link(c, u, personOf(i, claims))
	}
	return h.arrive(c, i, claims, e)
}

// failed shows why somebody could not come in, with the ways that are left. i is nil where it isn't known from which
// issuer.
func (h *Handler) failed(c echo.Context, i *openid.Issuer, err error) error {
	name, slot := words.T(c.Request().Context(), "openid.issuer"), ""
	if i != nil {
		slot = i.Slot
		name = cmp.Or(i.Called(), name)
	}
	show := func(status int, title, detail words.Text) error { return h.show(c, i, status, title, detail) }
	title := words.New("openid.failed", "Issuer", name)
	refused, isRefused := errors.AsType[*openid.RefusedError](err)
	_, isDown := errors.AsType[*openid.DownError](err)
	switch {
	case errors.Is(err, openid.ErrOff):
		return show(http.StatusNotFound, title, words.New("openid.off"))
	case errors.Is(err, accounts.ErrEmpty):
		return c.Redirect(http.StatusSeeOther, "/setup")
	case errors.Is(err, accounts.ErrOthers):
		return show(http.StatusConflict, title, words.New("openid.others", "Issuer", name))
	case isDown:
		h.core.Log.Warn("the issuer can't be asked", "provider", slot, "err", err)
		return show(http.StatusBadGateway, title, words.New("openid.down", "Issuer", name))
	case isRefused && refused.Code == "access_denied":
		return show(http.StatusForbidden, title, words.New("openid.denied", "Issuer", name))
	case isRefused:
		h.core.Log.Warn("the issuer refuses", "provider", slot, "code", bounded(refused.Code), "text",
			bounded(refused.Text))
		return show(http.StatusBadGateway, title,
			words.New("openid.refused", "Issuer", name, "Code", bounded(refused.Code)))
	case errors.Is(err, openid.ErrStale):
		return show(http.StatusBadRequest, title, words.New("openid.stale", "Base", h.core.URL().String()))
	case errors.Is(err, openid.ErrBroken):
		h.core.Log.Warn("an answer of the issuer doesn't fit", "provider", slot, "address", c.RealIP(), "err", err)
		return show(http.StatusBadRequest, title, words.New("openid.broken", "Issuer", name))
	}
	return err
}

func (h *Handler) show(c echo.Context, i *openid.Issuer, status int, title, detail words.Text) error {
	ctx := c.Request().Context()
	again := "/login"
	if i != nil {
		again = beginOf(i)
	}
	if i != nil && status == http.StatusForbidden { // the issuer would return the same person at once
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
	i, err := h.issuerOf(c)
	if err != nil {
		return err
	}
	out, err := i.SignedOut(ctx, c.FormValue("logout_token"))
	if err != nil {
		h.core.Log.Warn("the issuer's word that somebody signed out doesn't fit", "provider", i.Slot,
			"address", c.RealIP(), "err", err)
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
	i := h.issuers.Of(by.Issuer, by.Client)
	if by.Way != accounts.ByIssuer || i == nil {
		return ""
	}
	return i.SignOut(ctx, by.Token, h.core.URL().String()+localPath)
}

// Again returns the path at which who came by an issuer comes from there again, after it has asked them who they are;
// empty for another way, and where that issuer isn't set up any more.
func (h *Handler) Again(by accounts.Arrival) string {
	i := h.issuers.Of(by.Issuer, by.Client)
	if by.Way != accounts.ByIssuer || i == nil {
		return ""
	}
	return beginOf(i) + "?again=yes"
}
