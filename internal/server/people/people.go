// Package people answers for accounts: the first one, signing in and out, and adding more.
package people

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Options are what a Handler is made from.
type Options struct {
	Core     *core.Core
	Accounts *accounts.Accounts
	Courier  *notify.Courier
	Steps    Steps
}

// Steps leads a person through their first steps.
type Steps interface {
	Begin(ctx context.Context, user int64) error
}

// Handler answers for making the first account, and for signing in and out.
type Handler struct {
	core     *core.Core
	accounts *accounts.Accounts
	courier  *notify.Courier
	steps    Steps
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{core: o.Core, accounts: o.Accounts, courier: o.Courier, steps: o.Steps}
}

// Open adds the routes for people who are not signed in.
func (h *Handler) Open(g *echo.Group) {
	slow := core.SlowDown()
	g.GET("/setup", h.setupPage)
	g.POST("/setup", h.setupPost, slow)
	g.GET("/login", h.loginPage)
	g.POST("/login", h.loginPost)
	g.POST("/api/v1/setup", h.setupAPI, slow)
	g.POST("/api/v1/session", h.loginAPI)
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) { g.POST("/logout", h.logoutForm) }

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) { g.DELETE("/session", h.logoutAPI) }

// Credentials are what a person types about an account.
type Credentials struct {
	Code     string `json:"code" form:"code"`
	Name     string `json:"name" form:"name"`
	Password string `json:"password" form:"password"`
	Role     string `json:"role" form:"role"`
}

// firstAccount makes the first account and signs in with it.
func (h *Handler) firstAccount(ctx context.Context, in Credentials) (accounts.User, error) {
	if !h.core.Sessions.Setup.Open() {
		return accounts.User{}, accounts.ErrNotFirst
	}
	if !h.core.Sessions.Setup.Is(in.Code) {
		return accounts.User{}, wrongCode()
	}
	u, err := h.accounts.Create(ctx, in.Name, in.Password, accounts.Admin, true)
	if err == nil || errors.Is(err, accounts.ErrNotFirst) {
		h.core.Sessions.Setup.Use()
	}
	if err != nil {
		return u, err
	}
	if err := h.courier.AdoptAgain(ctx); err != nil {
		h.core.Log.Error("channels of the settings cannot be stored", "err", err)
	}
	return u, h.core.Sessions.SignIn(ctx, u.ID)
}

func (h *Handler) setupAPI(c echo.Context) error {
	in, err := core.Body[Credentials](c)
	if err == nil {
		_, err = h.firstAccount(c.Request().Context(), in)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusCreated)
}

func (h *Handler) loginPage(c echo.Context) error {
	if h.core.Sessions.Setup.Open() {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	if _, err := h.core.Sessions.User(c.Request().Context()); err == nil {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	return h.showLogin(c, http.StatusOK, loginView{After: c.QueryParam("after")})
}

func (h *Handler) showLogin(c echo.Context, status int, v loginView) error {
	return h.core.Show(c, status, words.T(c.Request().Context(), "login.title"), loginForm(v))
}

func (h *Handler) login(c echo.Context) (Credentials, error) {
	in, err := core.Body[Credentials](c)
	if err != nil {
		return in, err
	}
	u, err := h.core.Guess(c, in.Name, func(ctx context.Context, known bool) (accounts.User, error) {
		if known {
			return h.accounts.Check(ctx, in.Name, in.Password)
		}
		return h.accounts.CheckStranger(ctx, in.Name, in.Password)
	})
	if err != nil {
		return in, err
	}
	return in, h.core.SignIn(c, u)
}

func (h *Handler) loginPost(c echo.Context) error {
	in, err := h.login(c)
	if err != nil {
		p := h.core.Problem(c, err)
		return h.showLogin(c, p.Status, loginView{Name: in.Name, Problem: p.Detail,
			After: c.FormValue("after")})
	}
	after := core.LocalPath(c.FormValue("after"))
	if strings.HasPrefix(after, "/connect/") {
		// It redirects to the provider's page, and the content policy of our pages lets no form lead to another
		// site. So the form ends here, and the browser goes on by itself.
		return h.core.Onward(c, after)
	}
	return c.Redirect(http.StatusSeeOther, after)
}

func (h *Handler) loginAPI(c echo.Context) error {
	if _, err := h.login(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusCreated)
}

func (h *Handler) logoutForm(c echo.Context) error {
	if err := h.core.Sessions.SignOut(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login")
}

func (h *Handler) logoutAPI(c echo.Context) error {
	if err := h.core.Sessions.SignOut(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
