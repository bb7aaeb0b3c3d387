// Package sessions shows people where they are signed in, and ends that.
package sessions

import (
	"context"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Handler answers for the sessions of a person.
type Handler struct {
	core   *core.Core
	called func(issuer string) string
}

// New returns a Handler. called returns what people call an issuer of OpenID Connect.
func New(k *core.Core, called func(issuer string) string) *Handler { return &Handler{k, called} }

// Pages adds the routes of the forms, which belong to the page of the account.
func (h *Handler) Pages(g *echo.Group) {
	g.POST("/settings/account/sessions/end", h.endOthersForm)
	g.POST("/settings/account/sessions/:id/end", h.endForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/sessions", h.list, core.Call{
		ID:      "listSessions",
		Summary: "Where the user is signed in, latest first (a token needs the scope operate)",
		Answer:  "The sessions of browsers. Tokens are listed under `/tokens`.",
		Scope:   accounts.Operate,
	})
	core.Delete(a, "/sessions", h.endOthersAPI, core.Call{
		ID:      "endOtherSessions",
		Summary: "Sign out everywhere else; open streams end (not with a token)",
		Answer:  "How many sessions have ended.",
		Scope:   core.BySession, // or who has stolen a token could keep its owner out
	})
	core.Delete(a, "/sessions/{id}", h.endAPI, core.Call{
		ID:      "endSession",
		Summary: "End a session; open streams of it end (not with a token)",
		Answer:  "That browser is signed out.",
		Scope:   core.BySession,
	})
}

// Session is a session.
type Session struct {
	ID         string    `json:"id"`
	Browser    string    `json:"browser" doc:"In words, such as Firefox on Linux."`
	Address    string    `json:"address" doc:"Where it was last used from."`
	SignedInAt core.Time `json:"signed_in_at"`
	LastUsedAt core.Time `json:"last_used_at"`
	Current    bool      `json:"current" doc:"Whether it is the session of this call."`
	Way        string    `json:"way" enum:",password,code,passkey,openid,proxy" doc:"How the user came in; empty before ways were noted."`
}

// all returns the views of the sessions of a user, the latest sign-in first.
func (h *Handler) all(ctx context.Context, user int64) ([]Session, error) {
	all, err := h.core.Sessions.Of(ctx, user)
	current := h.core.Sessions.Current(ctx)
	return core.ViewAll(all, func(s accounts.Session) Session {
		return Session{ID: s.ID, Browser: s.Agent, Address: s.Address, SignedInAt: core.Stamp(s.SignedInAt),
			LastUsedAt: core.Stamp(s.UsedAt), Current: s.ID == current, Way: string(s.Way)}
	}), err
}

type listSessionsAnswer struct {
	Sessions []Session `json:"sessions"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listSessionsAnswer, _ error) {
	all, err := h.all(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return listSessionsAnswer{Sessions: all}, nil
}

// end ends the session that a request's path names, and returns what it was.
func (h *Handler) end(c echo.Context) (v Session, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, err := h.all(ctx, user)
	if err != nil {
		return v, err
	}
	for _, one := range all {
		if one.ID == c.Param("id") {
			v = one
		}
	}
	if err := h.core.Sessions.End(ctx, user, c.Param("id")); err != nil {
		return v, err
	}
	h.core.NoteAccess(c, "session ended", activity.Entry{User: user, Action: activity.SessionEnded,
		Subject: accounts.Visit(v.Browser, v.Address)})
	return v, nil
}

func (h *Handler) endOthers(c echo.Context) (n int, err error) {
	user := core.UserOf(c).ID
	if n, err = h.core.Sessions.EndOthers(c.Request().Context(), user); err == nil {
		h.core.NoteAccess(c, "sessions ended", activity.Entry{User: user, Action: activity.SessionsEnded})
	}
	return n, err
}

type endSessionRequest struct {
	ID string `path:"id"`
}

func (h *Handler) endAPI(c echo.Context, _ *endSessionRequest) (out core.None, _ error) {
	_, err := h.end(c)
	return out, err
}

type endOtherSessionsAnswer struct {
	Ended int `json:"ended"`
}

func (h *Handler) endOthersAPI(c echo.Context, _ *core.None) (out endOtherSessionsAnswer, _ error) {
	n, err := h.endOthers(c)
	if err != nil {
		return out, err
	}
	return endOtherSessionsAnswer{Ended: n}, nil
}

func (h *Handler) endForm(c echo.Context) error {
	v, err := h.end(c)
	if err != nil {
		return err
	}
	return h.core.Done(c, page, words.New("account.ended", "Browser", accounts.Device(v.Browser)))
}

func (h *Handler) endOthersForm(c echo.Context) error {
	n, err := h.endOthers(c)
	if err != nil {
		return err
	}
	if n == 0 {
		return h.core.Done(c, page, words.New("account.ended_none"))
	}
	return h.core.Done(c, page, words.New("account.ended_others", "Count", n))
}

// page is where people see their sessions.
const page = "/settings/account#sessions"

// Part returns the sessions of the user of a request as a part of a page.
func (h *Handler) Part(ctx context.Context, user int64) (templ.Component, error) {
	all, err := h.core.Sessions.Of(ctx, user)
	return part(all, h.core.Sessions.Current(ctx), h.called), err
}
