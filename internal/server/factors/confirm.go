package factors

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

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
	Cancel   string // where they go if they don't
	Problem  string
	Code     bool         // the problem is that of the code
	Passkeys *ui.Passkeys // nil: none that works here
	Step     bool         // the password needs a code, too
}

func (h *Handler) confirmPage(c echo.Context) error {
	return h.showConfirm(c, http.StatusOK, "", false)
}

func (h *Handler) showConfirm(c echo.Context, status int, problem string, code bool) error {
	ctx, u := userOf(c)
	v := confirmView{User: u, After: core.LocalPath(c.QueryParam("after")), Problem: problem, Code: code}
	v.Cancel = h.wayOut(c, v.After)
	state, err := h.core.Codes.State(ctx, u.ID)
	if err != nil {
		return err
	}
	v.Step = state.On
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

// wayOut returns where somebody goes who doesn't confirm: the page that they came from, unless that is the one that
// asks for it.
func (h *Handler) wayOut(c echo.Context, after string) string {
	back := h.core.CameFrom(c)
	if c.QueryParams().Has("cancel") { // the form was sent
		back = core.LocalPath(c.QueryParam("cancel"))
	}
	path, _, _ := strings.Cut(back, "?")
	wanted, _, _ := strings.Cut(after, "?")
	if path == "/" || path == wanted || path == core.ConfirmPath {
		return accountPath
	}
	return back
}

// byPassword checks the password of the user of a request, and a code if they have a second step, and notes that they
// have shown who they are.
func (h *Handler) byPassword(c echo.Context, password, code string) error {
	ctx, u := userOf(c)
	state, err := h.core.Codes.State(ctx, u.ID)
	if err != nil {
		return err
	}
	_, err = h.core.Guess(c, u.Name, func(ctx context.Context, _ bool) (accounts.User, error) {
		checked, err := h.accounts.Check(ctx, u.Name, password)
		switch {
		case err != nil || !state.On:
			return checked, err
		case strings.TrimSpace(code) == "":
			return checked, aboutCode("problem.code.needed")
		}
		_, err = h.core.Codes.Check(ctx, u.ID, code)
		return checked, err
	})
	switch {
	case errors.Is(err, accounts.ErrWrongRecovery):
		return aboutCode("problem.code.wrong_recovery")
	case errors.Is(err, accounts.ErrWrongCode):
		return aboutCode("problem.code.wrong")
	}
	if errors.Is(err, accounts.ErrWrong) {
		return accounts.InputError{Text: words.New("confirm.wrong")}
	}
	if err != nil {
		return err
	}
	return h.core.Prove(c)
}

// aboutCode returns the refusal of a code.
func aboutCode(key string) error {
	r := core.Check(words.New(key))
	r.Fields = map[string]words.Text{"code": r.Detail}
	return r
}

func (h *Handler) passwordForm(c echo.Context) error {
	if err := h.byPassword(c, c.FormValue("password"), c.FormValue("code")); err != nil {
		p := h.core.Problem(c, err)
		_, code := p.Fields["code"]
		return h.showConfirm(c, p.Status, p.Detail, code)
	}
	return h.core.Done(c, core.LocalPath(c.QueryParam("after")), words.New("confirm.done"))
}

// againForm has somebody sign in again who has neither a password nor a passkey here: at the issuer that they came by,
// which asks them who they are, or else here, signed out.
func (h *Handler) againForm(c echo.Context) error {
	after := core.LocalPath(c.QueryParam("after"))
	if to := h.again(h.core.Sessions.Arrival(c.Request().Context())); to != "" {
		return h.core.Onward(c, to+"&after="+url.QueryEscape(after))
	}
	if err := h.core.Sessions.SignOut(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login?after="+url.QueryEscape(after))
}

type confirmRequest struct {
	Body struct {
		Password   string `json:"password,omitempty"`
		Code       string `json:"code,omitempty" doc:"Beside the password, if the second step is on: of the app, or a recovery code."`
		Credential string `json:"credential,omitempty" doc:"What a passkey answered to the options of beginPasskeySignIn."`
	}
}

func (h *Handler) confirmCall(c echo.Context, in *confirmRequest) (out core.None, _ error) {
	if in.Body.Credential == "" {
		return out, h.byPassword(c, in.Body.Password, in.Body.Code)
	}
	u, err := h.shown(c, in.Body.Credential)
	if err == nil && u.ID != core.UserOf(c).ID {
		err = errAlien
	}
	if err != nil {
		return out, err
	}
	if err := h.core.Prove(c); err != nil {
		return out, err
	}
	h.core.Sessions.Flash(c.Request().Context(), words.New("confirm.done")) // for the page that follows
	return out, nil
}

// path is where the form of the page posts to, which leads on to the page that somebody wants.
func (v confirmView) path(of string) string {
	return of + "?" + url.Values{"after": {v.After}, "cancel": {v.Cancel}}.Encode()
}

func (v confirmView) form(ctx context.Context) ui.Form {
	f := ui.Form{Post: v.path(core.ConfirmPath), Submit: words.T(ctx, "confirm.button"), Main: true, Cancel: v.Cancel,
		Username: v.User.Name, Fields: []ui.Field{{Name: "password", Label: words.T(ctx, "remove.password"),
			Type: "password", Autocomplete: "current-password", Required: true, Autofocus: true, Problem: v.Problem}}}
	if v.Step {
		f.Fields = append(f.Fields, ui.Field{Name: "code", Label: words.T(ctx, "confirm.code"),
			Autocomplete: "one-time-code", Exact: true, Required: true, MaxLength: "64"})
	}
	if v.Code {
		f.Fields[0].Problem, f.Fields[0].Autofocus = "", false
		f.Fields[1].Problem, f.Fields[1].Autofocus = v.Problem, true
	}
	return f
}
