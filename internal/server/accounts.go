package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
)

type credentials struct {
	Code     string `json:"code" form:"code"`
	Name     string `json:"name" form:"name"`
	Password string `json:"password" form:"password"`
	Role     string `json:"role" form:"role"`
}

// userView is an account in the API.
type userView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	CreatedAt string `json:"created_at"`
}

func viewUser(u accounts.User) userView {
	return userView{ID: strconv.FormatInt(u.ID, 10), Name: u.Name, Role: u.Role, CreatedAt: library.Stamp(u.CreatedAt)}
}

// body reads the JSON or form that came with a request.
func body[T any](c echo.Context) (v T, err error) {
	if err = c.Bind(&v); err != nil {
		status := http.StatusBadRequest
		if he, ok := errors.AsType[*echo.HTTPError](err); ok {
			status = he.Code
		}
		return v, httpProblem(status)
	}
	return v, nil
}

var errCode = &problem{Status: http.StatusForbidden, Title: "This link is not good",
	Detail: "Open the link that the server printed when it started. A new one is printed at every start, until there is an account."}

func (s *Server) firstAccount(ctx context.Context, in credentials) error {
	if !s.setup.open() {
		return accounts.ErrNotFirst
	}
	if !s.setup.is(in.Code) {
		return errCode
	}
	u, err := s.Accounts.Create(ctx, in.Name, in.Password, accounts.Admin, true)
	if err == nil || errors.Is(err, accounts.ErrNotFirst) {
		s.setup.used()
	}
	if err != nil {
		return err
	}
	if err := s.Courier.Adopt(ctx, s.NamedChannels); err != nil {
		s.Log.Error("channels of the settings cannot be stored", "err", err)
	}
	return s.signIn(ctx, u.ID)
}

type setupView struct {
	Code, Name, Problem string
}

func (s *Server) setupPage(c echo.Context) error {
	switch {
	case !s.setup.open():
		return c.Redirect(http.StatusSeeOther, "/login")
	case c.QueryParam("code") == "":
		return s.render(c, http.StatusOK, "setup", "Welcome", setupView{})
	case !s.setup.is(c.QueryParam("code")):
		return s.render(c, http.StatusForbidden, "setup", "Welcome", setupView{Problem: errCode.Detail})
	}
	return s.render(c, http.StatusOK, "setup", "Welcome", setupView{Code: c.QueryParam("code")})
}

func (s *Server) setupForm(c echo.Context) error {
	in, err := body[credentials](c)
	if err == nil {
		err = s.firstAccount(c.Request().Context(), in)
	}
	if err != nil {
		p := s.problemOf(c, err)
		if !s.setup.is(in.Code) { // the form would not serve
			in.Code = ""
		}
		return s.render(c, p.Status, "setup", "Welcome", setupView{Code: in.Code, Name: in.Name, Problem: p.Detail})
	}
	return c.Redirect(http.StatusSeeOther, "/")
}

func (s *Server) setupAPI(c echo.Context) error {
	in, err := body[credentials](c)
	if err == nil {
		err = s.firstAccount(c.Request().Context(), in)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusCreated)
}

type loginView struct {
	Name, Problem string
	After         string // the page that the person wanted to see
}

func (s *Server) loginPage(c echo.Context) error {
	if s.setup.open() {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	if _, err := s.signedIn(c.Request().Context()); err == nil {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	return s.render(c, http.StatusOK, "login", "Sign in", loginView{After: c.QueryParam("after")})
}

func (s *Server) login(c echo.Context) (credentials, error) {
	in, err := body[credentials](c)
	if err != nil {
		return in, err
	}
	ctx := c.Request().Context()
	u, err := s.Accounts.Check(ctx, in.Name, in.Password)
	if err != nil {
		return in, err
	}
	return in, s.signIn(ctx, u.ID)
}

func (s *Server) loginForm(c echo.Context) error {
	in, err := s.login(c)
	if err != nil {
		p := s.problemOf(c, err)
		return s.render(c, p.Status, "login", "Sign in", loginView{Name: in.Name, Problem: p.Detail, After: c.FormValue("after")})
	}
	after := localPath(c.FormValue("after"))
	if strings.HasPrefix(after, "/connect/") {
		// It leads on to the provider's own page, and the policy of our pages lets no form lead to another site. So the form
		// ends here, and the browser goes on by itself.
		c.Response().Header().Set("Refresh", "0; url="+after)
		return s.render(c, http.StatusOK, "onward", "Signed in", after)
	}
	return c.Redirect(http.StatusSeeOther, after)
}

func (s *Server) loginAPI(c echo.Context) error {
	if _, err := s.login(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusCreated)
}

func (s *Server) logoutForm(c echo.Context) error {
	if err := s.signOut(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login")
}

func (s *Server) logoutAPI(c echo.Context) error {
	if err := s.signOut(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) usersAPI(c echo.Context) error {
	users, err := s.Store.Users(c.Request().Context())
	if err != nil {
		return err
	}
	views := make([]userView, len(users))
	for i, u := range users {
		views[i] = viewUser(u)
	}
	return c.JSON(http.StatusOK, map[string]any{"users": views})
}

func (s *Server) addUserAPI(c echo.Context) error {
	in, err := body[credentials](c)
	if err != nil {
		return err
	}
	u, existed, err := s.Accounts.Ensure(c.Request().Context(), in.Name, in.Password, in.Role)
	if err != nil {
		return err
	}
	v := addedUser{userView: viewUser(u), Previous: "present", New: "present"}
	if existed {
		return c.JSON(http.StatusOK, v)
	}
	v.Previous = "absent"
	s.noteUser(c, u)
	return c.JSON(http.StatusCreated, v)
}

// addedUser is an account that was asked for, with whether it was there before.
type addedUser struct {
	userView
	Previous string `json:"previous_state"`
	New      string `json:"new_state"`
}

func (s *Server) noteUser(c echo.Context, u accounts.User) {
	s.note(c.Request().Context(), activity.Entry{Action: activity.UserAdded, Subject: u.Name})
}

func (s *Server) userForm(c echo.Context) error {
	in, err := body[credentials](c)
	if err == nil {
		var u accounts.User
		if u, err = s.Accounts.Create(c.Request().Context(), in.Name, in.Password, in.Role, false); err == nil {
			s.noteUser(c, u)
		}
	}
	return s.settled(c, settingsView{Form: "user", Name: in.Name, Role: in.Role}, err, "The account "+in.Name+" has been made. Tell its owner the password; it can be changed on this page.")
}

func (s *Server) passwordForm(c echo.Context) error {
	ctx := c.Request().Context()
	err := s.Accounts.ChangePassword(ctx, userOf(c).Name, c.FormValue("old"), c.FormValue("new"))
	if err == nil {
		err = s.signIn(ctx, userOf(c).ID) // every other session of theirs has ended with the old password
	}
	if err == nil {
		s.note(ctx, activity.Entry{User: userOf(c).ID, Action: activity.PasswordChanged})
	}
	if errors.Is(err, accounts.ErrWrong) {
		err = accounts.InputError("The old password is not right. Nothing was changed.")
	}
	return s.settled(c, settingsView{Form: "password"}, err, "Your password has been changed. Other browsers have to sign in again."+s.afterPassword(c))
}

// settled ends a form of the settings page: with a sentence on it, or with the problem and what was typed.
func (s *Server) settled(c echo.Context, v settingsView, err error, done string) error {
	if err != nil {
		p := s.problemOf(c, err)
		v.Problem = p.Detail
		return s.showSettings(c, p.Status, v)
	}
	s.sessions.Put(c.Request().Context(), flashKey, done)
	return c.Redirect(http.StatusSeeOther, "/settings")
}
