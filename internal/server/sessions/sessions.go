// Package sessions shows people where they are signed in, and ends that.
package sessions

import (
	"context"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Handler answers for the sessions of a person.
type Handler struct{ core *core.Core }

// New returns a Handler.
func New(k *core.Core) *Handler { return &Handler{k} }

// Pages adds the routes of the forms, which belong to the page of the account.
func (h *Handler) Pages(g *echo.Group) {
	g.POST("/settings/account/sessions/end", h.endOthersForm)
	g.POST("/settings/account/sessions/:id/end", h.endForm)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.GET("/sessions", h.list)
	g.DELETE("/sessions", h.endOthersAPI)
	g.DELETE("/sessions/:id", h.endAPI)
}

// View is a session.
type View struct {
	ID         string `json:"id"`
	Browser    string `json:"browser"`
	Address    string `json:"address"`
	SignedInAt string `json:"signed_in_at"`
	LastUsedAt string `json:"last_used_at"`
	Current    bool   `json:"current"`
}

// all returns the views of the sessions of a user, the latest sign-in first.
func (h *Handler) all(ctx context.Context, user int64) ([]View, error) {
	all, err := h.core.Sessions.Of(ctx, user)
	current := h.core.Sessions.Current(ctx)
	return core.ViewAll(all, func(s accounts.Session) View {
		return View{ID: s.ID, Browser: s.Agent, Address: s.Address, SignedInAt: library.Stamp(s.SignedInAt),
			LastUsedAt: library.Stamp(s.UsedAt), Current: s.ID == current}
	}), err
}

func (h *Handler) list(c echo.Context) error {
	all, err := h.all(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"sessions": all})
}

// end ends the session that a request's path names, and returns what it was.
func (h *Handler) end(c echo.Context) (v View, err error) {
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

func (h *Handler) endAPI(c echo.Context) error {
	if _, err := h.end(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *Handler) endOthersAPI(c echo.Context) error {
	n, err := h.endOthers(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]int{"ended": n})
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
	return part(all, h.core.Sessions.Current(ctx)), err
}
