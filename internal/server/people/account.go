package people

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// removeSelf removes the account of the user of a request, who has to know its password.
func (h *Users) removeSelf(c echo.Context, password string) error {
	me := core.UserOf(c)
	if me.PasswordHash == "" { // they have shown who they are in another way
		if err := h.core.Proved(c); err != nil {
			return err
		}
		_, err := h.remove(c, me.ID)
		return err
	}
	_, err := h.core.Guess(c, me.Name, func(ctx context.Context, _ bool) (accounts.User, error) {
		return h.accounts.Check(ctx, me.Name, password)
	})
	if errors.Is(err, accounts.ErrWrong) {
		return accounts.InputError{Text: words.New("remove.wrong_password")}
	}
	if err == nil {
		_, err = h.remove(c, me.ID)
	}
	return err
}

func (h *Users) selfPage(c echo.Context) error {
	if core.UserOf(c).PasswordHash == "" && h.core.Proved(c) != nil {
		return h.core.ProveFirst(c, accountPath+"/remove")
	}
	return h.showRemoval(c, http.StatusOK, core.UserOf(c), "")
}

func (h *Users) selfForm(c echo.Context) error {
	me := core.UserOf(c)
	if me.PasswordHash == "" && h.core.Proved(c) != nil {
		return h.core.ProveFirst(c, accountPath+"/remove")
	}
	if me.PasswordHash == "" && !sameName(c.FormValue("name"), me) {
		return h.showRemoval(c, http.StatusUnprocessableEntity, me,
			words.T(c.Request().Context(), "remove.wrong_name"))
	}
	if err := h.removeSelf(c, c.FormValue("password")); err != nil {
		p := h.core.Problem(c, err)
		return h.showRemoval(c, p.Status, core.UserOf(c), p.Detail)
	}
	if err := h.core.Sessions.SignOut(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login")
}

type removeAccountRequest struct {
	Body struct {
		Password string `json:"password,omitempty" maxLength:"1024" doc:"Of an account that has one; others confirm first."`
	}
}

func (h *Users) selfAPI(c echo.Context, in *removeAccountRequest) (out Removed, _ error) {
	if err := h.removeSelf(c, in.Body.Password); err != nil {
		return out, err
	}
	if err := h.core.Sessions.SignOut(c); err != nil {
		return out, err
	}
	return Removed{presence(true), "removing"}, nil
}
