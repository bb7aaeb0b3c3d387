// Package people answers for accounts: the first one, signing in and out, and adding more.
package people

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Options are what a Handler is made from.
type Options struct {
	Core     *core.Core
	Accounts *accounts.Accounts
	Courier  *notify.Courier
	Steps    Steps
	// Outside returns the issuers at which people can sign in as well.
	Outside func() Outside
	// Away returns where a browser goes after signing out, so that a session elsewhere ends as well; empty for nowhere.
	Away func(context.Context, accounts.Arrival) string
	// Passkeys returns the button that signs in with a passkey, and leads to a page; nil where none can be used.
	Passkeys func(after string) *ui.Passkeys
}

// Outside are the issuers at which people can sign in as well.
type Outside struct {
	Doors  []Door
	Beside bool // the form of the password is beside their buttons, not behind a link
	Skips  bool // browsers go on to the only one by themselves
}

// Door is the button of an issuer.
type Door struct{ Name, Path string }

// Steps leads a person through their first steps.
type Steps interface {
	Begin(ctx context.Context, user int64) error
	// First returns the step on which a person of this role makes their account.
	First(role string) *ui.Way
}

// Handler answers for making the first account, and for signing in and out.
type Handler struct {
	core     *core.Core
	accounts *accounts.Accounts
	courier  *notify.Courier
	steps    Steps
	outside  func() Outside
	away     func(context.Context, accounts.Arrival) string
	passkeys func(after string) *ui.Passkeys
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{core: o.Core, accounts: o.Accounts, courier: o.Courier, steps: o.Steps,
		outside: o.Outside, away: o.Away, passkeys: o.Passkeys}
}

// Open adds the routes for people who are not signed in.
func (h *Handler) Open(g *echo.Group) {
	slow := h.core.SlowDown("setup")
	g.GET("/setup", h.setupPage)
	g.POST("/setup", h.setupPost, slow)
	g.GET("/login", h.loginPage)
	g.POST("/login", h.loginPost)
	g.GET(core.CodePath, h.codePage)
	g.POST(core.CodePath, h.codePost)
}

// OpenAPI adds the calls for people who are not signed in.
func (h *Handler) OpenAPI(a *core.API) {
	core.Post(a.With(h.core.SlowDown("setup call")), "/setup", h.setupAPI, core.Call{
		ID:          "setUp",
		Summary:     "Create the first account, an administrator's, and sign in",
		Description: "Needs the one-time code that the server prints when it starts without any account.",
		Answer:      "The account exists now; the cookie is set.",
		Status:      http.StatusCreated,
		Open:        true,
	})
	core.Post(a, "/session", h.loginAPI, core.Call{
		ID:      "signIn",
		Summary: "Sign in",
		Description: "Somebody with a second step sends `code` as well, from their app or one of their recovery " +
			"codes. Without it, the problem names `code` in `fields`.",
		Answer:   "Signed in; the cookie is set.",
		Status:   http.StatusCreated,
		Open:     true,
		Refusals: map[int]string{http.StatusTooManyRequests: "Too many tries from one address; see Retry-After."},
	})
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) { g.POST("/logout", h.logoutForm) }

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Delete(a, "/session", h.logoutAPI, core.Call{
		ID:      "signOut",
		Summary: "Sign out; open streams of this session end",
		Answer:  "Signed out.",
		Scope:   core.BySession,
	})
}

// byPassword is how people come in who type one.
var byPassword = accounts.Arrival{Way: accounts.ByPassword}

// Credentials are what a person types about an account.
type Credentials struct {
	Code     string `form:"code"`
	Name     string `form:"name"`
	Password string `form:"password"`
	Role     string `form:"role"`
}

// firstAccount makes the first account and signs in with it.
func (h *Handler) firstAccount(ctx context.Context, in Credentials) (accounts.User, error) {
	if open, err := h.core.Sessions.Setup.Open(ctx); err != nil {
		return accounts.User{}, err
	} else if !open {
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
	return u, h.core.Sessions.SignIn(ctx, u.ID, byPassword)
}

type setUpRequest struct {
	Body struct {
		Code     string `json:"code"`
		Name     string `json:"name" minLength:"1" maxLength:"64"`
		Password string `json:"password" minLength:"10" maxLength:"1024"`
	}
}

func (h *Handler) setupAPI(c echo.Context, in *setUpRequest) (core.None, error) {
	_, err := h.firstAccount(c.Request().Context(), Credentials{Code: in.Body.Code, Name: in.Body.Name,
		Password: in.Body.Password})
	return core.None{}, err
}

func (h *Handler) loginPage(c echo.Context) error {
	if open, err := h.core.Sessions.Setup.Open(c.Request().Context()); err != nil {
		return err
	} else if open {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	after := core.LocalPath(c.QueryParam("after"))
	if _, err := h.core.Sessions.User(c.Request().Context()); err == nil {
		return c.Redirect(http.StatusSeeOther, after)
	}
	if out := h.outside(); out.Skips && !c.QueryParams().Has("local") {
		return c.Redirect(http.StatusSeeOther, out.Doors[0].Path+"?after="+url.QueryEscape(after))
	}
	return h.showLogin(c, http.StatusOK, loginView{After: after, Local: c.QueryParams().Has("local")})
}

func (h *Handler) showLogin(c echo.Context, status int, v loginView) error {
	out := h.outside()
	v.Outside, v.Local = out.Doors, v.Local || len(out.Doors) == 0 || out.Beside || v.Problem != ""
	v.Passkeys = h.passkeys(v.After)
	return h.core.Show(c, status, words.T(c.Request().Context(), "login.title"), loginForm(v))
}

// check returns the account that a name and a password belong to.
func (h *Handler) check(c echo.Context, in Credentials) (accounts.User, error) {
	return h.core.Guess(c, in.Name, func(ctx context.Context, known bool) (accounts.User, error) {
		if known {
			return h.accounts.Check(ctx, in.Name, in.Password)
		}
		return h.accounts.CheckStranger(ctx, in.Name, in.Password)
	})
}

func (h *Handler) loginPost(c echo.Context) error {
	in, err := core.Filled[Credentials](c)
	after, entered := core.LocalPath(c.FormValue("after")), false
	var u accounts.User
	if err == nil {
		u, err = h.check(c, in)
	}
	if err == nil {
		entered, err = h.core.Enter(c, u, after)
	}
	if err != nil {
		p := h.core.Problem(c, err)
		return h.showLogin(c, p.Status, loginView{Name: in.Name, Problem: p.Detail,
			After: c.FormValue("after")})
	}
	if !entered {
		return c.Redirect(http.StatusSeeOther, core.CodePath)
	}
	return h.goOn(c, after)
}

// goOn leads somebody who has signed in to the page that they want.
func (h *Handler) goOn(c echo.Context, after string) error {
	if strings.HasPrefix(after, "/connect/") {
		// It redirects to the provider's page, and the content policy of our pages lets no form lead to another
		// site. So the form ends here, and the browser goes on by itself.
		return h.core.Onward(c, after)
	}
	return c.Redirect(http.StatusSeeOther, after)
}

type signInRequest struct {
	Body struct {
		Name     string `json:"name"` // a wrong one is a failed try, however long
		Password string `json:"password"`
		Code     string `json:"code,omitempty" doc:"Of the app or a recovery code, for somebody with a second step."`
	}
}

func (h *Handler) loginAPI(c echo.Context, in *signInRequest) (out core.None, _ error) {
	u, err := h.check(c, Credentials{Name: in.Body.Name, Password: in.Body.Password})
	if err != nil {
		return out, err
	}
	return out, h.core.EnterWith(c, u, in.Body.Code)
}

// codePage asks somebody whose password was right for a code.
func (h *Handler) codePage(c echo.Context) error {
	if _, after, err := h.core.Halfway(c.Request().Context()); err != nil {
		return h.startAgain(c, after, err)
	}
	return h.showCode(c, http.StatusOK, "")
}

// startAgain leads to the sign-in page, and from there to a page, if nobody has typed a password, or too long ago.
func (h *Handler) startAgain(c echo.Context, after string, err error) error {
	switch {
	case !errors.Is(err, accounts.ErrUnknown):
		return err
	case after == "" || after == "/":
		return c.Redirect(http.StatusSeeOther, "/login")
	}
	return c.Redirect(http.StatusSeeOther, "/login?local&after="+url.QueryEscape(after))
}

func (h *Handler) showCode(c echo.Context, status int, problem string) error {
	v := codeView{Recovery: c.QueryParam("recovery") != "", Problem: problem}
	return h.core.Show(c, status, words.T(c.Request().Context(), "login.code_title"), codeForm(v))
}

// recoveryQuery is what the address of the page has that asks for a recovery code.
const recoveryQuery = "?recovery=yes"

func (h *Handler) codePost(c echo.Context) error {
	u, after, err := h.core.Halfway(c.Request().Context())
	if err != nil {
		return h.startAgain(c, after, err)
	}
	if err := h.core.ShowCode(c, u, c.FormValue("code")); err != nil {
		p := h.core.Problem(c, err)
		return h.showCode(c, p.Status, p.Detail)
	}
	return h.goOn(c, after)
}

func (h *Handler) logoutForm(c echo.Context) error {
	ctx := c.Request().Context()
	away := h.away(ctx, h.core.Sessions.Arrival(ctx))
	if err := h.core.Sessions.SignOut(c); err != nil {
		return err
	}
	if away != "" {
		return h.core.Away(c, away)
	}
	return c.Redirect(http.StatusSeeOther, "/login?local")
}

func (h *Handler) logoutAPI(c echo.Context, _ *core.None) (out core.None, _ error) {
	return out, h.core.Sessions.SignOut(c)
}
