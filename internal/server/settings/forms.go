package settings

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"reprise/internal/words"
)

func (h *Handler) passwordForm(c echo.Context) error {
	err := h.people.ChangePassword(c, c.FormValue("old"), c.FormValue("new"))
	return h.settled(c, pageView{Form: "password"}, err,
		"Your password has been changed. Other browsers have to sign in again."+h.tokens.AfterPassword(c))
}

// settled ends a form of the page: with a sentence, or with the problem and what was typed.
func (h *Handler) settled(c echo.Context, v pageView, err error, done string) error {
	if err != nil {
		return h.failed(c, v, err)
	}
	return h.core.Done(c, "/settings", words.Plain(done))
}

// failed shows the page with the problem of a form and what was typed.
func (h *Handler) failed(c echo.Context, v pageView, err error) error {
	p := h.core.Problem(c, err)
	v.Problem = p.Detail
	return h.show(c, p.Status, v)
}

// tokenForm makes a token, and shows it this once.
func (h *Handler) tokenForm(c echo.Context) error {
	var expires time.Time
	if days, err := strconv.Atoi(c.FormValue("days")); err == nil && days > 0 {
		expires = time.Now().AddDate(0, 0, days)
	}
	name, scope := c.FormValue("name"), c.FormValue("scope")
	v, err := h.tokens.Make(c, name, scope, expires)
	if err != nil {
		return h.failed(c, pageView{Form: "token", Name: name, Role: scope}, err)
	}
	return h.core.Render(c, http.StatusOK, "token", "A new access token", v)
}
