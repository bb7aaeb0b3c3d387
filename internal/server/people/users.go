package people

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// Store lists the accounts.
type Store interface {
	Users(context.Context) ([]accounts.User, error)
}

// Users answers for the accounts that there are.
type Users struct {
	core     *core.Core
	store    Store
	accounts *accounts.Accounts
}

// NewUsers returns Users.
func NewUsers(k *core.Core, store Store, a *accounts.Accounts) *Users {
	return &Users{core: k, store: store, accounts: a}
}

// Pages adds no routes: the forms that add an account and change a password belong to the settings page.
func (h *Users) Pages(*echo.Group) {}

// API adds the routes of the API.
func (h *Users) API(g *echo.Group) {
	g.GET("/admin/users", h.list, core.MustBeAdmin)
	g.POST("/admin/users", h.addAPI, core.MustBeAdmin)
}

// All returns the views of all accounts.
func (h *Users) All(ctx context.Context) ([]View, error) {
	users, err := h.store.Users(ctx)
	return core.ViewAll(users, view), err
}

// Add adds an account.
func (h *Users) Add(c echo.Context, in Credentials) error {
	u, err := h.accounts.Create(c.Request().Context(), in.Name, in.Password, in.Role, false)
	if err == nil {
		h.noteAdded(c, u)
	}
	return err
}

// ChangePassword changes the password of the user of a request, and ends all other sessions of that user.
func (h *Users) ChangePassword(c echo.Context, old, password string) error {
	ctx, u := c.Request().Context(), core.UserOf(c)
	_, err := h.core.Guess(c, u.Name, func(ctx context.Context, _ bool) (accounts.User, error) {
		return u, h.accounts.ChangePassword(ctx, u.Name, old, password)
	})
	if err == nil {
		err = h.core.Sessions.SignIn(ctx, u.ID) // the session of this request has ended, too
	}
	if err == nil {
		h.core.Sessions.Recheck(u.ID)
		h.core.NoteAccess(c, "password changed", activity.Entry{User: u.ID, Action: activity.PasswordChanged})
	}
	if errors.Is(err, accounts.ErrWrong) {
		return accounts.InputError("The old password is not right. Nothing was changed.")
	}
	return err
}

// View is an account in the API.
type View struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	CreatedAt string `json:"created_at"`
}

func view(u accounts.User) View {
	return View{ID: strconv.FormatInt(u.ID, 10), Name: u.Name, Role: u.Role, CreatedAt: library.Stamp(u.CreatedAt)}
}

func (h *Users) list(c echo.Context) error {
	users, err := h.store.Users(c.Request().Context())
	if err != nil {
		return err
	}
	views := make([]View, len(users))
	for i, u := range users {
		views[i] = view(u)
	}
	return c.JSON(http.StatusOK, map[string]any{"users": views})
}

func (h *Users) addAPI(c echo.Context) error {
	in, err := core.Body[Credentials](c)
	if err != nil {
		return err
	}
	u, existed, err := h.accounts.Ensure(c.Request().Context(), in.Name, in.Password, in.Role)
	if err != nil {
		return err
	}
	v := addedUser{View: view(u), Previous: "present", New: "present"}
	if existed {
		return c.JSON(http.StatusOK, v)
	}
	v.Previous = "absent"
	h.noteAdded(c, u)
	return c.JSON(http.StatusCreated, v)
}

// addedUser is an account that was asked for, and whether it existed before.
type addedUser struct {
	View
	Previous string `json:"previous_state"`
	New      string `json:"new_state"`
}

func (h *Users) noteAdded(c echo.Context, u accounts.User) {
	h.core.Note(c.Request().Context(), activity.Entry{Action: activity.UserAdded, Subject: u.Name})
}
