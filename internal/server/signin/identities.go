package signin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/config"
	"reprise/internal/library"
	"reprise/internal/openid"
	"reprise/internal/server/core"
	"reprise/internal/server/people"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Pages adds the routes of the forms, which belong to the page of the account, and of the administrators' test.
func (h *Handler) Pages(g *echo.Group) {
	g.POST(ownPath, h.linkOwnForm, h.core.MustProve)
	g.POST(ownPath+"/:id/remove", h.removeForm, h.core.MustProve)
	g.GET(testPath, h.testPage, core.MustBeAdmin)
	g.POST(testPath, h.testForm, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/identities", h.listAPI, core.Call{
		ID:      "listIdentities",
		Summary: "The accounts at OpenID Connect issuers by which the user signs in (a token needs the scope operate)",
		Answer:  "The identities, the oldest first. A browser adds one, under *Your account*.",
		Scope:   accounts.Operate,
	})
	core.Delete(a, "/identities/{id}", h.removeAPI, core.Call{
		ID:       "removeIdentity",
		Summary:  "Unlink an account at an issuer; the sessions that began with it end (not with a token)",
		Answer:   "It signs nobody in any more.",
		Refusals: map[int]string{http.StatusConflict: "It is the user's only way to sign in."},
		Scope:    core.BySession,
	})
}

// Identity is an account at an issuer.
type Identity struct {
	ID         string    `json:"id"`
	Issuer     string    `json:"issuer" format:"uri"`
	Name       string    `json:"name" doc:"As the issuer calls the user."`
	LinkedAt   core.Time `json:"linked_at"`
	LastUsedAt core.Time `json:"last_used_at"`
}

// idOf names an identity in addresses.
func idOf(i accounts.Identity) string { return accounts.HashToken(i.Issuer + "\x00" + i.Subject)[:16] }

type listIdentitiesAnswer struct {
	Identities []Identity `json:"identities"`
}

func (h *Handler) listAPI(c echo.Context, _ *core.None) (out listIdentitiesAnswer, _ error) {
	all, err := h.store.Identities(c.Request().Context(), core.UserOf(c).ID)
	out.Identities = core.ViewAll(all, func(i accounts.Identity) Identity {
		return Identity{ID: idOf(i), Issuer: i.Issuer, Name: i.Name, LinkedAt: core.Stamp(i.CreatedAt),
			LastUsedAt: core.Stamp(i.UsedAt)}
	})
	return out, err
}

// remove unlinks the identity that a request's path names, and ends what began with it.
func (h *Handler) remove(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, err := h.store.Identities(ctx, user)
	if err != nil {
		return err
	}
	for _, i := range all {
		if idOf(i) != c.Param("id") {
			continue
		}
		err := h.store.RemoveIdentity(ctx, user, i.Issuer, i.Subject, h.works())
		if errors.Is(err, accounts.ErrLastWay) {
			detail := words.New("openid.last_text")
			if core.UserOf(c).Role == accounts.Admin { // there may be no other one to ask
				detail = words.New("openid.last_admin")
			}
			return &core.Refusal{Status: http.StatusConflict, Title: words.New("openid.last"), Detail: detail,
				OfAccount: true}
		} else if err != nil {
			return err
		}
		h.core.NoteAccess(c, "identity unlinked", activity.Entry{User: user, Action: activity.IdentityUnlinked,
			Subject: h.NameOf(i.Issuer)})
		h.core.TellAccess(ctx, user, core.ToldIdentityUnlinked, "Issuer", words.Plain(h.NameOf(i.Issuer)))
		_, err = h.core.Sessions.EndThere(ctx, user, i.Issuer, "")
		return err
	}
	return library.ErrNotFound
}

// NameOf returns what people call an issuer; one that is not set up any more has its address.
func (h *Handler) NameOf(issuer string) string {
	if i := h.issuers.Named(issuer); i != nil {
		return i.Called()
	}
	return issuer
}

type removeIdentityRequest struct {
	ID string `path:"id"`
}

func (h *Handler) removeAPI(c echo.Context, _ *removeIdentityRequest) (out core.None, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	return out, h.remove(c)
}

func (h *Handler) removeForm(c echo.Context) error {
	if err := h.remove(c); err != nil {
		return err
	}
	return h.core.Done(c, accountPath+"#identities", words.New("openid.unlinked"))
}

// linkOwnForm sends who is signed in to an issuer, to come back as somebody there.
func (h *Handler) linkOwnForm(c echo.Context) error { return h.send(c, toLink) }

func (h *Handler) testForm(c echo.Context) error { return h.send(c, toTest) }

// send ends a form whose next page is the issuer's of the slot that it names; without one, the first issuer's.
func (h *Handler) send(c echo.Context, to string) error {
	i := h.issuers.At(cmp.Or(c.FormValue(slotField), config.Slots[0]))
	if i == nil {
		return library.ErrNotFound
	}
	p := purpose{to, i.Slot, core.UserOf(c).ID, time.Now().Add(openid.PendingFor)}
	if err := h.core.Sessions.Keep(c.Request().Context(), keptPurpose, p); err != nil {
		return err
	}
	return h.core.Onward(c, beginOf(i))
}

// slotField is the field of a form that names an issuer.
const slotField = "issuer"

// to returns the button of a form that leads to an issuer.
func to(i *openid.Issuer, label, post string) ui.Action {
	return ui.Action{Label: label, Post: post, Fields: []ui.Hidden{{Name: slotField, Value: i.Slot}}}
}

// Part returns the identities of a user as a part of a page; nil if there are none and none can be linked.
func (h *Handler) Part(ctx context.Context, user int64) (templ.Component, error) {
	all, err := h.store.Identities(ctx, user)
	on := h.issuers.On()
	if err != nil || len(all) == 0 && len(on) == 0 {
		return nil, err
	}
	v := identitiesView{}
	for _, i := range on {
		if slices.ContainsFunc(all, func(id accounts.Identity) bool { return id.Issuer == i.Settings().Issuer }) {
			v.Linked = append(v.Linked, i.Called())
			continue
		}
		v.Others = append(v.Others, i.Called())
		v.Link = append(v.Link, to(i, words.T(ctx, "openid.link", "Issuer", i.Called()), ownPath))
	}
	v.Table = ui.Grid{Columns: []string{words.T(ctx, "openid.issuer_column"), words.T(ctx, "openid.name"),
		words.T(ctx, "openid.since"), words.T(ctx, "account.used"), words.T(ctx, "account.action")}}
	for _, i := range all {
		v.Table.Rows = append(v.Table.Rows, ui.Line{Cells: []templ.Component{
			ui.Labelled("identity-"+idOf(i), h.NameOf(i.Issuer)), ui.Name(i.Name), ui.Time(i.CreatedAt, ui.Ago),
			ui.Time(i.UsedAt, ui.Ago), ui.Button(ui.Action{Label: words.T(ctx, "openid.unlink"),
				Post: ownPath + "/" + idOf(i) + "/remove", DescribedBy: "identity-" + idOf(i)}),
		}})
	}
	return identities(v), nil
}

// identitiesView is the part of the account's page.
type identitiesView struct {
	Linked, Others []string    // what people call the issuers that are set up
	Link           []ui.Action // to the others
	Table          ui.Grid
}

// lead says what can be done.
func (v identitiesView) lead(ctx context.Context) string {
	switch {
	case len(v.Linked) > 0:
		return words.T(ctx, "openid.linked_lead", "Issuer", anyOf(ctx, v.Linked))
	case len(v.Others) > 0:
		return words.T(ctx, "openid.link_lead", "Issuer", anyOf(ctx, v.Others))
	}
	return words.T(ctx, "openid.off_lead")
}

// anyOf returns names of which each will do.
func anyOf(ctx context.Context, names []string) string {
	return strings.Join(names, " "+words.T(ctx, "openid.or")+" ")
}

// Outside returns the issuers as the sign-in page shows them.
func (h *Handler) Outside() (o people.Outside) {
	form := h.issuers.Settings().Form
	for _, i := range h.issuers.On() {
		o.Doors = append(o.Doors, people.Door{Name: i.Called(), Path: beginOf(i)})
	}
	o.Beside, o.Skips = form == config.FormShown, form == config.FormSkipped && len(o.Doors) == 1
	return o
}
