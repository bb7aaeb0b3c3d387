// Package tokens answers for personal tokens, with which programs call the API.
package tokens

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web"
)

// Store keeps personal tokens.
type Store interface {
	accounts.TokenStore
	Tokens(ctx context.Context, user int64) ([]accounts.Token, error)
	TokenByID(ctx context.Context, user, id int64) (accounts.Token, error)
	DeleteToken(ctx context.Context, user, id int64) error
}

// Handler answers for personal tokens, with which programs call the API.
type Handler struct {
	core  *core.Core
	store Store
	bus   *events.Bus
}

// New returns a Handler.
func New(k *core.Core, store Store, bus *events.Bus) *Handler {
	return &Handler{core: k, store: store, bus: bus}
}

// Pages adds the routes of the pages. The form that makes a token belongs to the settings page.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/settings/tokens/:id/revoke", h.revokePage)
	g.POST("/settings/tokens/:id/revoke", h.revokeForm)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.GET("/tokens", h.list)
	g.POST("/tokens", h.makeAPI)
	g.DELETE("/tokens/:id", h.revokeAPI)
}

// View is a personal token. Secret is set only right after it was made.
type View struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Scope      string  `json:"scope"`
	LastFour   string  `json:"last_four"`
	CreatedAt  string  `json:"created_at"`
	LastUsedAt *string `json:"last_used_at"`
	ExpiresAt  *string `json:"expires_at"`
	Expired    bool    `json:"expired"`
	Secret     string  `json:"token,omitempty"`
	GoodFor    string  `json:"-"` // in a table
	Lead       string  `json:"-"` // on its own page
}

func view(t accounts.Token) View {
	return View{ID: strconv.FormatInt(t.ID, 10), Name: t.Name, Scope: string(t.Scope), LastFour: t.LastFour,
		CreatedAt:  library.Stamp(t.CreatedAt),
		LastUsedAt: core.Moment(t.LastUsedAt), ExpiresAt: core.Moment(t.ExpiresAt), Expired: t.Expired(time.Now()),
		GoodFor: goodFor[t.Scope], Lead: leads[t.Scope]}
}

// goodFor says what each scope allows, in a table.
var goodFor = map[accounts.Scope]string{
	accounts.Read:    "reading",
	accounts.Operate: "reading and changing",
	accounts.Full:    "administration, too",
}

// leads says what each scope allows, in a sentence.
var leads = map[accounts.Scope]string{
	accounts.Read:    "It is good for reading.",
	accounts.Operate: "It is good for reading and for changing what is yours.",
	accounts.Full:    "It is good for everything that you may do here, while you are an administrator.",
}

// input is the body of a call that makes a token.
type input struct {
	Name      string  `json:"name"`
	Scope     string  `json:"scope"`
	ExpiresAt *string `json:"expires_at"`
}

func (h *Handler) Make(c echo.Context, name, scope string, expires time.Time) (View, error) {
	ctx := c.Request().Context()
	t, secret, err := accounts.MakeToken(ctx, h.store, core.UserOf(c), accounts.TokenRequest{
		Name: name, Scope: accounts.Scope(scope), Expires: expires,
	})
	if err != nil {
		return View{}, err
	}
	h.core.NoteAccess(c, "token made", activity.Entry{User: t.User, Action: activity.TokenMade, Subject: t.Name,
		Detail: words.Each("activity.scope_", string(t.Scope))})
	v := view(t)
	v.Secret = secret
	return v, nil
}

// revoke ends a token of the user, and the streams that were opened with it.
func (h *Handler) revoke(c echo.Context) (accounts.Token, error) {
	t, err := h.one(c)
	if err != nil {
		return t, err
	}
	ctx := c.Request().Context()
	if err := h.store.DeleteToken(ctx, t.User, t.ID); err != nil {
		return t, err
	}
	h.bus.Publish(t.User, events.Event{Type: events.SessionEnd, ID: core.EndOf(t.ID)})
	h.core.NoteAccess(c, "token revoked", activity.Entry{User: t.User, Action: activity.TokenRevoked, Subject: t.Name})
	return t, nil
}

// one returns the token that a request's path names.
func (h *Handler) one(c echo.Context) (accounts.Token, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return accounts.Token{}, err
	}
	return h.store.TokenByID(c.Request().Context(), core.UserOf(c).ID, id)
}

// All returns the views of the tokens of a user.
func (h *Handler) All(ctx context.Context, user int64) ([]View, error) {
	all, err := h.store.Tokens(ctx, user)
	return core.ViewAll(all, view), err
}

func (h *Handler) list(c echo.Context) error {
	all, err := h.All(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"tokens": all})
}

func (h *Handler) makeAPI(c echo.Context) error {
	in, err := core.Body[input](c)
	if err != nil {
		return err
	}
	var expires time.Time
	if in.ExpiresAt != nil {
		if expires, err = time.Parse(time.RFC3339, *in.ExpiresAt); err != nil {
			return accounts.InputError("expires_at is a time such as 2027-01-31T00:00:00Z, or null for never.")
		}
	}
	v, err := h.Make(c, in.Name, in.Scope, expires)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, v)
}

func (h *Handler) revokeAPI(c echo.Context) error {
	if _, err := h.revoke(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *Handler) revokePage(c echo.Context) error {
	t, err := h.one(c)
	if err != nil {
		return err
	}
	lead := "Whatever uses it cannot sign in any more, from this moment on. A revoked token cannot be taken " +
		"back; you can make another."
	if t.LastUsedAt.IsZero() {
		lead = "It has never been used. " + lead
	} else {
		lead = "It was last used at " + library.Stamp(t.LastUsedAt) + ". " + lead
	}
	return h.core.Confirm(c, core.Confirmation{Title: "Revoke the token “" + t.Name + "”?", Lead: lead,
		Action: "/settings/tokens/" + c.Param("id") + "/revoke",
		Button: "Revoke", Warn: true, Back: "/settings#tokens"})
}

func (h *Handler) revokeForm(c echo.Context) error {
	t, err := h.revoke(c)
	if err != nil {
		return err
	}
	return h.core.Done(c, "/settings#tokens", words.Plain("The token “"+t.Name+"” is revoked."))
}

// AfterPassword returns the sentence that a new password ends no tokens; empty if the user has none.
func (h *Handler) AfterPassword(c echo.Context) string {
	all, err := h.store.Tokens(c.Request().Context(), core.UserOf(c).ID)
	if err != nil || len(all) == 0 {
		return ""
	}
	return " Your " + web.Count(len(all), "access token goes", "access tokens go") + " on working; revoke below " +
		"what should not."
}
