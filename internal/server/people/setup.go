package people

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// setupView is the page on which the first account is created.
type setupView struct {
	Code    string // of the link; empty if the form would not work
	Name    string // what was typed
	Problem string
	Wrong   string // why there is no form
	Way     *ui.Way
}

// wrongCode is the problem of a link whose code is not that of this start.
func wrongCode() error {
	return &core.Refusal{Status: http.StatusForbidden, Title: words.New("setup.wrong"),
		Detail: words.New("setup.wrong_text")}
}

func (h *Handler) showSetup(c echo.Context, status int, v setupView) error {
	v.Way = h.steps.First(accounts.Admin)
	return h.core.Show(c, status, words.T(c.Request().Context(), "setup.title"), setupForm(v))
}

func (h *Handler) setupPage(c echo.Context) error {
	ctx := c.Request().Context()
	open, err := h.core.Sessions.Setup.Open(ctx)
	switch {
	case err != nil:
		return err
	case !open:
		return c.Redirect(http.StatusSeeOther, "/login")
	case c.QueryParam("code") == "":
		return h.showSetup(c, http.StatusOK, setupView{Wrong: words.T(ctx, "setup.link")})
	case !h.core.Sessions.Setup.Is(c.QueryParam("code")):
		return h.showSetup(c, http.StatusForbidden, setupView{Wrong: words.T(ctx, "setup.wrong_text")})
	}
	return h.showSetup(c, http.StatusOK, setupView{Code: c.QueryParam("code")})
}

func (h *Handler) setupPost(c echo.Context) error {
	ctx := c.Request().Context()
	in, err := core.Filled[Credentials](c)
	if err == nil {
		u, failed := h.firstAccount(ctx, in)
		if err = failed; err == nil {
			err = h.steps.Begin(ctx, u.ID)
		}
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, "/welcome")
	}
	p := h.core.Problem(c, err)
	v := setupView{Code: in.Code, Name: in.Name, Problem: p.Detail}
	if !h.core.Sessions.Setup.Is(in.Code) {
		v = setupView{Wrong: p.Detail}
	}
	return h.showSetup(c, p.Status, v)
}
