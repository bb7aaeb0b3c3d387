// Package factors answers for what people show beside or in place of their password: codes of an app, and passkeys.
package factors

import (
	"context"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// accountPath is the page of a person's own account; the factors are a part of it.
const accountPath = "/settings/account"

// Handler answers for the factors of a person.
type Handler struct {
	core     *core.Core
	store    accounts.FactorStore
	accounts *accounts.Accounts
	issuers  func() []string
	again    func(accounts.Arrival) string
}

// Options are what a Handler is made from.
type Options struct {
	Core     *core.Core
	Store    accounts.FactorStore
	Accounts *accounts.Accounts
	// Issuers returns the addresses of the issuers at which people can sign in.
	Issuers func() []string
	// Again returns the path at which who came by an issuer comes from there again; empty for nowhere.
	Again func(accounts.Arrival) string
}

// New returns a Handler.
func New(o Options) *Handler {
	k := o.Core
	h := &Handler{core: k, store: o.Store, accounts: o.Accounts, issuers: o.Issuers, again: o.Again}
	k.AddNotice(h.notice)
	return h
}

// OpenAPI adds the calls for people who are not signed in.
func (h *Handler) OpenAPI(a *core.API) {
	a = a.With(h.core.SlowDown("passkey"))
	core.Post(a, "/session/passkey/options", h.beginSignIn, core.Call{
		ID:      "beginPasskeySignIn",
		Summary: "Ask what a passkey has to answer to sign in",
		Answer:  "For the browser.",
		Open:    true,
	})
	core.Post(a, "/session/passkey", h.signIn, core.Call{
		ID:      "signInWithPasskey",
		Summary: "Sign in with a passkey, in the session in which its options were asked for",
		Answer:  "Signed in; the cookie is set.",
		Status:  http.StatusCreated,
		Open:    true,
	})
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET(core.SecondStepPath, h.setUpPage)
	g.GET(core.ConfirmPath, h.confirmPage)
	g.POST(core.ConfirmPath, h.passwordForm)
	g.POST(core.ConfirmPath+"/again", h.againForm)
	g.POST(core.SecondStepPath, h.beginForm, h.core.MustProve)
	g.GET(core.SecondStepPath+"/code.png", h.picture)
	g.POST(core.SecondStepPath+"/confirm", h.confirmForm)
	g.GET(recoveryPath, h.recoveryPage, h.core.MustProve)
	g.POST(recoveryPath, h.recoveryForm, h.core.MustProve)
	g.GET(offPath, h.offPage, h.core.MustProve)
	g.POST(offPath, h.offForm, h.core.MustProve)
	g.POST(passkeysPath+"/later", h.laterForm)
	g.GET(passkeysPath+"/:id", h.passkeyPage)
	g.POST(passkeysPath+"/:id", h.renameForm)
	g.POST(passkeysPath+"/:id/remove", h.removeForm, h.core.MustProve)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/account/factors", h.list, core.Call{
		ID:      "getFactors",
		Summary: "Your second step and your passkeys (a token needs the scope operate)",
		Answer:  "Without any secret.",
		Scope:   accounts.Operate,
	})
	core.Post(a, "/account/confirm", h.confirmCall, core.Call{
		ID:      "confirm",
		Summary: "Show once more who you are, with a passkey, or the password and a code (with a session only)",
		Description: "Calls for what can't be undone, and for what opens a way in, answer 403 with `confirm` in " +
			"`fields` when that, or signing in, was ten minutes ago. Calls with a token don't ask.",
		Answer: "For ten minutes, nothing asks again.",
		Scope:  core.BySession,
	})
	core.Post(a, "/account/second-step", h.beginAPI, core.Call{
		ID:      "beginSecondStep",
		Summary: "Make a key for an app that shows codes (with a session only)",
		Description: "It counts once `confirmSecondStep` got one of its codes. Calling this again makes another key " +
			"in its place.",
		Answer: "The key; nothing shows it again once it counts.",
		Status: http.StatusCreated,
		Scope:  core.BySession,
	})
	core.Post(a, "/account/second-step/confirm", h.confirmAPI, core.Call{
		ID:      "confirmSecondStep",
		Summary: "Turn the second step on with a code of the app (with a session only)",
		Answer:  "Recovery codes, each good once; nothing shows them again.",
		Scope:   core.BySession,
	})
	core.Post(a, "/account/second-step/recovery-codes", h.recoveryAPI, core.Call{
		ID:      "makeRecoveryCodes",
		Summary: "Make new recovery codes in place of the earlier ones (with a session only)",
		Answer:  "Recovery codes, each good once; nothing shows them again.",
		Scope:   core.BySession,
	})
	core.Delete(a, "/account/second-step", h.offAPI, core.Call{
		ID:      "turnOffSecondStep",
		Summary: "Turn the second step off (with a session only); may be repeated",
		Answer:  "It's off.",
		Scope:   core.BySession,
	})
	core.Post(a, "/account/passkeys/options", h.beginAdd, core.Call{
		ID:      "beginPasskey",
		Summary: "Ask how a browser makes a passkey for you (with a session only)",
		Answer:  "For the browser.",
		Scope:   core.BySession,
	})
	core.Post(a, "/account/passkeys", h.add, core.Call{
		ID:      "addPasskey",
		Summary: "Add the passkey that a browser made (with a session only)",
		Answer:  "The passkey.",
		Status:  http.StatusCreated,
		Scope:   core.BySession,
	})
	core.Patch(a, "/account/passkeys/{id}", h.renameAPI, core.Call{
		ID:      "renamePasskey",
		Summary: "Give a passkey another name (with a session only)",
		Answer:  "The passkey.",
		Scope:   core.BySession,
	})
	core.Delete(a, "/account/passkeys/{id}", h.removeAPI, core.Call{
		ID:      "removePasskey",
		Summary: "Remove a passkey (with a session only)",
		Answer:  "It signs nobody in any more.",
		Scope:   core.BySession,
	})
}

// view is what a page shows of the factors of a person.
type view struct {
	User     accounts.User
	Step     accounts.SecondStepState
	Required bool
	Passkeys []passkey
	Unable   words.Text // what to do for passkeys to work; zero if they do
	Add      *ui.Passkeys
}

// of returns the view of the user of a request.
func (h *Handler) of(c echo.Context) (v view, err error) {
	v.User = core.UserOf(c)
	v.Required = h.core.RequiresSecondStep(v.User)
	if v.Add = h.Button(""); v.Add != nil {
		v.Add.Add = true
	}
	v.Unable = unable(h.core.URL())
	ctx := c.Request().Context()
	if v.Step, err = h.core.Codes.State(ctx, v.User.ID); err != nil {
		return v, err
	}
	v.Passkeys, err = h.passkeys(ctx, v.User.ID)
	return v, err
}

// Part returns the factors of the user of a request as parts of a page.
func (h *Handler) Part(c echo.Context) (templ.Component, error) {
	v, err := h.of(c)
	return parts(v), err
}

// SecondStep is the second step of a person.
type SecondStep struct {
	On       bool           `json:"on"`
	Required bool           `json:"required" doc:"Whether the administrators ask for it."`
	Since    core.MaybeTime `json:"since"`
	UsedAt   core.MaybeTime `json:"last_used_at"`
	Recovery int            `json:"recovery_codes_left" minimum:"0"`
}

type getFactorsAnswer struct {
	SecondStep SecondStep `json:"second_step"`
	Passkeys   []Passkey  `json:"passkeys"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out getFactorsAnswer, _ error) {
	v, err := h.of(c)
	if err != nil {
		return out, err
	}
	out.SecondStep = SecondStep{On: v.Step.On, Required: v.Required, Since: core.Moment(v.Step.Since),
		UsedAt: core.Moment(v.Step.UsedAt), Recovery: v.Step.Recovery}
	out.Passkeys = core.ViewAll(v.Passkeys, viewPasskey)
	return out, nil
}

// userOf returns the user of a request as the store has them now.
func userOf(c echo.Context) (context.Context, accounts.User) {
	return c.Request().Context(), core.UserOf(c)
}
