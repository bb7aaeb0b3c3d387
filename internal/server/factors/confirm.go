package factors

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// confirmView is the page on which people show once more who they are.
type confirmView struct {
	User     accounts.User
	After    string // the page that they want
	Problem  string
	Passkeys *ui.Passkeys // nil: none that works here
}

func (h *Handler) confirmPage(c echo.Context) error { return h.showConfirm(c, http.StatusOK, "") }

func (h *Handler) showConfirm(c echo.Context, status int, problem string) error {
	ctx, u := userOf(c)
	v := confirmView{User: u, After: core.LocalPath(c.QueryParam("after")), Problem: problem}
	have, err := h.passkeys(ctx, u.ID)
	if err != nil {
		return err
	}
	for _, p := range have {
		if !p.Elsewhere {
			v.Passkeys = h.Button(v.After)
		}
	}
	if v.Passkeys != nil {
		v.Passkeys.Confirm = true
	}
	return h.core.Show(c, status, words.T(ctx, "confirm.title"), confirming(v))
}

// byPassword checks the password of the user of a request, and notes that they have shown who they are.
func (h *Handler) byPassword(c echo.Context, password string) error {
	u := core.UserOf(c)
	_, err := h.core.Guess(c, u.Name, func(ctx context.Context, _ bool) (accounts.User, error) {
		return h.accounts.Check(ctx, u.Name, password)
	})
	if errors.Is(err, accounts.ErrWrong) {
		return accounts.InputError{Text: words.New("confirm.wrong")}
	}
	if err != nil {
		return err
	}
	return h.core.Prove(c)
}

func (h *Handler) passwordForm(c echo.Context) error {
	if err := h.byPassword(c, c.FormValue("password")); err != nil {
		p := h.core.Problem(c, err)
		return h.showConfirm(c, p.Status, p.Detail)
	}
	return c.Redirect(http.StatusSeeOther, core.LocalPath(c.QueryParam("after")))
}

// againForm signs somebody out who has neither a password nor a passkey here, to sign in again.
func (h *Handler) againForm(c echo.Context) error {
	after := core.LocalPath(c.QueryParam("after"))
	if err := h.core.Sessions.SignOut(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login?after="+url.QueryEscape(after))
}

type confirmRequest struct {
	Body struct {
		Password   string `json:"password,omitempty"`
		Credential string `json:"credential,omitempty" doc:"What a passkey answered to the options of beginPasskeySignIn."`
	}
}

func (h *Handler) confirmCall(c echo.Context, in *confirmRequest) (out core.None, _ error) {
	if in.Body.Credential == "" {
		return out, h.byPassword(c, in.Body.Password)
	}
	u, err := h.shown(c, in.Body.Credential)
	if err == nil && u.ID != core.UserOf(c).ID {
		err = errAlien
	}
	if err != nil {
		return out, err
	}
	return out, h.core.Prove(c)
}

// path is where the form of the page posts to, which leads on to the page that somebody wants.
func (v confirmView) path(of string) string { return of + "?after=" + url.QueryEscape(v.After) }

func (v confirmView) form(ctx context.Context) ui.Form {
	return ui.Form{Post: v.path(core.ConfirmPath), Submit: words.T(ctx, "confirm.button"), Main: true,
		Username: v.User.Name, Fields: []ui.Field{{Name: "password", Label: words.T(ctx, "remove.password"),
			Type: "password", Autocomplete: "current-password", Required: true, Autofocus: true, Problem: v.Problem}}}
}
