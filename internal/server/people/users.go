package people

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/removal"
	"reprise/internal/server/core"
)

// Store is what this package reads and keeps of accounts.
type Store interface {
	Users(context.Context) ([]accounts.User, error)
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	LastSeen(context.Context) (map[int64]time.Time, error)
	Counts(ctx context.Context, user int64) (removal.Counts, error)
	Invitations(context.Context) ([]accounts.Link, error)
	DeleteInvitation(ctx context.Context, id int64) (there bool, err error)
	accounts.LinkStore
	exportStore
}

// exportStore is what an export reads.
type exportStore interface {
	Listens(ctx context.Context, user int64, before string,
		limit int) (page []library.StoredListen, next string, err error)
	PlaylistsPart(ctx context.Context, user int64, offset, limit int) ([]library.StoredPlaylist, error)
	PlaylistTracks(ctx context.Context, user, id int64, offset, limit int) ([]library.Track, error)
	AllSkipped(ctx context.Context, user int64) ([]library.Skipped, error)
}

// UsersOptions are what Users are made from.
type UsersOptions struct {
	Core     *core.Core
	Store    Store
	Accounts *accounts.Accounts
	Links    *accounts.Links
	Removals *removal.Remover
	Courier  *notify.Courier
}

// Users answers for the accounts that there are.
type Users struct {
	core     *core.Core
	store    Store
	accounts *accounts.Accounts
	links    *accounts.Links
	removals *removal.Remover
	courier  *notify.Courier
}

// NewUsers returns Users.
func NewUsers(o UsersOptions) *Users {
	return &Users{core: o.Core, store: o.Store, accounts: o.Accounts, links: o.Links, removals: o.Removals,
		courier: o.Courier}
}

// Pages adds the routes of the pages. The form that changes a password belongs to the settings page.
func (h *Users) Pages(g *echo.Group) {
	g.GET("/account/export", h.exportOwn)
	g.GET("/account/remove", h.selfPage)
	g.POST("/account/remove", h.selfForm)
	g.GET("/people", h.listPage, core.MustBeAdmin)
	g.POST("/people", h.addForm, core.MustBeAdmin)
	g.POST("/people/invitations", h.inviteForm, core.MustBeAdmin)
	g.POST("/people/invitations/:id/revoke", h.takeBackForm, core.MustBeAdmin)
	g.GET("/people/:id", h.personPage, core.MustBeAdmin)
	g.GET("/people/:id/export", h.exportOther, core.MustBeAdmin)
	g.POST("/people/:id/role", h.roleForm, core.MustBeAdmin)
	g.POST("/people/:id/reset", h.resetForm, core.MustBeAdmin)
	g.GET("/people/:id/remove", h.removePage, core.MustBeAdmin)
	g.POST("/people/:id/remove", h.removeForm, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Users) API(g *echo.Group) {
	g.GET("/export/all.zip", h.exportOwn)
	g.DELETE("/account", h.selfAPI)
	g.GET("/admin/users", h.list, core.MustBeAdmin)
	g.POST("/admin/users", h.addAPI, core.MustBeAdmin)
	g.GET("/admin/users/:id", h.oneAPI, core.MustBeAdmin)
	g.PATCH("/admin/users/:id", h.roleAPI, core.MustBeAdmin)
	g.DELETE("/admin/users/:id", h.removeAPI, core.MustBeAdmin)
	g.GET("/admin/users/:id/export", h.exportOther, core.MustBeAdmin)
	g.POST("/admin/users/:id/reset", h.resetAPI, core.MustBeAdmin)
	g.GET("/admin/invitations", h.invitationsAPI, core.MustBeAdmin)
	g.POST("/admin/invitations", h.inviteAPI, core.MustBeAdmin)
	g.DELETE("/admin/invitations/:id", h.takeBackAPI, core.MustBeAdmin)
}

// All returns the views of all accounts.
func (h *Users) All(ctx context.Context) ([]SeenView, error) {
	users, err := h.store.Users(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := h.store.LastSeen(ctx)
	all := make([]SeenView, len(users))
	for i, u := range users {
		all[i] = SeenView{View: view(u), LastSeenAt: core.Moment(seen[u.ID])}
	}
	return all, err
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

// SeenView is an account with the time when it was last used; nil when that is not known.
type SeenView struct {
	View
	LastSeenAt *string `json:"last_seen_at"`
}

func view(u accounts.User) View {
	return View{ID: strconv.FormatInt(u.ID, 10), Name: u.Name, Role: u.Role, CreatedAt: library.Stamp(u.CreatedAt)}
}

func (h *Users) list(c echo.Context) error {
	views, err := h.All(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"users": views})
}

func (h *Users) addAPI(c echo.Context) error {
	in, err := core.Body[Credentials](c)
	if err != nil {
		return err
	}
	u, existed, err := h.ensure(c, in)
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

// ensure makes an account, or returns the one that has the same name, password and role already; existed says which.
// For an account of that name with another password or role it returns accounts.ErrTaken. Comparing the password is a
// guess like any other: whoever adds accounts learns nobody's password faster than a stranger does.
func (h *Users) ensure(c echo.Context, in Credentials) (u accounts.User, existed bool, err error) {
	u, err = h.accounts.Create(c.Request().Context(), in.Name, in.Password, in.Role, false)
	if !errors.Is(err, accounts.ErrTaken) {
		return u, false, err
	}
	u, err = h.core.Guess(c, in.Name, func(ctx context.Context, _ bool) (accounts.User, error) {
		return h.accounts.Check(ctx, in.Name, in.Password)
	})
	if errors.Is(err, accounts.ErrWrong) || err == nil && u.Role != in.Role {
		return accounts.User{}, false, accounts.ErrTaken
	}
	return u, true, err
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
