// Package tokens answers for personal tokens, with which programs call the API.
package tokens

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/server/core"
	"reprise/internal/words"
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

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/settings/programs", h.page)
	g.POST("/settings/programs", h.makeForm)
	g.GET("/settings/programs/made", h.madePage)
	g.GET("/settings/programs/:id/revoke", h.revokePage)
	g.POST("/settings/programs/:id/revoke", h.revokeForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/tokens", h.list, core.Call{
		ID:      "listTokens",
		Summary: "The user's personal tokens (a token needs the scope operate)",
		Answer:  "Without the tokens themselves, which Reprise doesn't keep.",
		Scope:   accounts.Operate,
	})
	core.Post(a, "/tokens", h.makeAPI, core.Call{
		ID:       "makeToken",
		Summary:  "Create a personal token (with a session only)",
		Answer:   "The new token; only this answer contains it, in `token`.",
		Status:   http.StatusCreated,
		Refusals: map[int]string{http.StatusConflict: "There is already one of that name."},
		Scope:    core.BySession, // a token that makes tokens could never be revoked for good
	})
	core.Delete(a, "/tokens/{id}", h.revokeAPI, core.Call{
		ID:      "revokeToken",
		Summary: "Revoke a personal token; open streams of it end",
		Answer:  "It no longer works.",
	})
}

// Token is a personal token. Secret is set only right after it was made.
type Token struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Scope      string         `json:"scope" enum:"Scope"`
	LastFour   string         `json:"last_four"`
	CreatedAt  core.Time      `json:"created_at"`
	LastUsedAt core.MaybeTime `json:"last_used_at"`
	ExpiresAt  core.MaybeTime `json:"expires_at"`
	Expired    bool           `json:"expired"`
	Secret     string         `json:"token,omitempty" doc:"Only in the answer that created it."`
}

func view(t accounts.Token) Token {
	return Token{ID: strconv.FormatInt(t.ID, 10), Name: t.Name, Scope: string(t.Scope), LastFour: t.LastFour,
		CreatedAt:  core.Stamp(t.CreatedAt),
		LastUsedAt: core.Moment(t.LastUsedAt), ExpiresAt: core.Moment(t.ExpiresAt), Expired: t.Expired(time.Now())}
}

// input is the body of a call that makes a token.
type input struct {
	Name      string     `json:"name" minLength:"1" maxLength:"64"`
	Scope     string     `json:"scope" enum:"Scope"`
	ExpiresAt *time.Time `json:"expires_at" required:"false"`
}

// make makes a token of the user of a request, and returns it with its secret.
func (h *Handler) make(c echo.Context, req accounts.TokenRequest) (accounts.Token, string, error) {
	if req.Scope != accounts.Read {
		if err := h.core.Proved(c); err != nil {
			return accounts.Token{}, "", err
		}
	}
	t, secret, err := accounts.MakeToken(c.Request().Context(), h.store, core.UserOf(c), req)
	if err != nil {
		return t, "", err
	}
	h.core.NoteAccess(c, "token made", activity.Entry{User: t.User, Action: activity.TokenMade, Subject: t.Name,
		Detail: words.Each("activity.scope_", string(t.Scope))})
	return t, secret, nil
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

type listTokensAnswer struct {
	Tokens []Token `json:"tokens"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listTokensAnswer, _ error) {
	all, err := h.store.Tokens(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return listTokensAnswer{Tokens: core.ViewAll(all, view)}, nil
}

type makeTokenRequest struct {
	core.IdempotencyKey
	Body input
}

func (h *Handler) makeAPI(c echo.Context, in *makeTokenRequest) (out Token, _ error) {
	body := in.Body
	var expires time.Time
	if body.ExpiresAt != nil {
		expires = *body.ExpiresAt
	}
	t, secret, err := h.make(c, accounts.TokenRequest{Name: body.Name, Scope: accounts.Scope(body.Scope),
		Expires: expires})
	if err != nil {
		return out, err
	}
	v := view(t)
	v.Secret = secret
	return v, nil
}

func (h *Handler) revokeAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	_, err := h.revoke(c)
	return out, err
}

func (h *Handler) revokePage(c echo.Context) error {
	t, err := h.one(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	used := words.New("program.revoke_unused")
	if !t.LastUsedAt.IsZero() {
		used = words.New("program.revoke_used", "At", t.LastUsedAt)
	}
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "program.revoke_title", "Name", t.Name),
		Lead:   words.Join(used, words.New("program.revoke_lead")).T(ctx),
		Action: "/settings/programs/" + c.Param("id") + "/revoke", Button: words.T(ctx, "program.revoke_button"),
		Warn: true, Back: "/settings/programs"})
}

func (h *Handler) revokeForm(c echo.Context) error {
	t, err := h.revoke(c)
	if err != nil {
		return err
	}
	return h.core.Done(c, "/settings/programs", words.New("program.revoked", "Name", t.Name))
}

func (h *Handler) page(c echo.Context) error {
	return h.show(c, http.StatusOK, pageView{Name: c.QueryParam("name"), Scope: c.QueryParam("scope")})
}

func (h *Handler) show(c echo.Context, status int, v pageView) (err error) {
	ctx, u := c.Request().Context(), core.UserOf(c)
	v.Admin = u.Role == accounts.Admin
	if v.Tokens, err = h.store.Tokens(ctx, u.ID); err != nil {
		return err
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "program.title"), programs(v))
}

// makeForm makes a token, and leads to the page that shows it this once.
func (h *Handler) makeForm(c echo.Context) error {
	var expires time.Time
	if days, err := strconv.Atoi(c.FormValue("days")); err == nil && days > 0 {
		expires = time.Now().AddDate(0, 0, days)
	}
	name, scope := c.FormValue("name"), c.FormValue("scope")
	if accounts.Scope(scope) != accounts.Read && h.core.Proved(c) != nil {
		return h.core.ProveFirst(c, "/settings/programs?"+url.Values{"name": {name}, "scope": {scope}}.Encode())
	}
	t, secret, err := h.make(c, accounts.TokenRequest{Name: name, Scope: accounts.Scope(scope), Expires: expires})
	if err != nil {
		p := h.core.Problem(c, err)
		return h.show(c, p.Status, pageView{Problem: p.Detail, Name: name, Scope: scope})
	}
	return h.core.GoAndShow(c, "/settings/programs/made", madeView{t, secret, h.core.Demo()})
}

// madePage shows a token that has just been made, this once.
func (h *Handler) madePage(c echo.Context) error {
	var v madeView
	there, err := h.core.Shown(c, &v)
	if err != nil {
		return err
	}
	if !there {
		return c.Redirect(http.StatusSeeOther, "/settings/programs")
	}
	return h.core.ShowSettings(c, http.StatusOK, words.T(c.Request().Context(), "program.made_title", "Name", v.Name),
		made(v))
}

// AfterPassword returns the sentence that a new password ends no tokens; zero if the user has none.
func (h *Handler) AfterPassword(c echo.Context) words.Text {
	all, err := h.store.Tokens(c.Request().Context(), core.UserOf(c).ID)
	if err != nil || len(all) == 0 {
		return words.Text{}
	}
	return words.New("program.kept", "Count", len(all))
}
