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
	"reprise/internal/words"
)

// Store is what this package reads and keeps of accounts.
type Store interface {
	UsersPart(context.Context, accounts.Part) (part []accounts.User, total int, err error)
	Admins(context.Context) ([]int64, error)
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	UserByName(ctx context.Context, name string) (accounts.User, error)
	LastSeen(ctx context.Context, users []int64) (map[int64]time.Time, error)
	Counts(ctx context.Context, user int64) (removal.Counts, error)
	Invitations(context.Context) ([]accounts.Link, error)
	DeleteInvitation(ctx context.Context, id int64) (there bool, err error)
	accounts.LinkStore
}

// Exporter sends everything that belongs to a person.
type Exporter interface {
	Send(c echo.Context, u accounts.User) error
}

// UsersOptions are what Users are made from.
type UsersOptions struct {
	Core     *core.Core
	Store    Store
	Accounts *accounts.Accounts
	Links    *accounts.Links
	Removals *removal.Remover
	Courier  *notify.Courier
	Export   Exporter
}

// Users answers for the accounts that there are.
type Users struct {
	core     *core.Core
	store    Store
	accounts *accounts.Accounts
	links    *accounts.Links
	removals *removal.Remover
	courier  *notify.Courier
	export   Exporter
}

// NewUsers returns Users.
func NewUsers(o UsersOptions) *Users {
	return &Users{core: o.Core, store: o.Store, accounts: o.Accounts, links: o.Links, removals: o.Removals,
		courier: o.Courier, export: o.Export}
}

// The addresses of the pages.
const (
	peoplePath  = "/settings/people"
	accountPath = "/settings/account"
)

// Pages adds the routes of the pages. The one of the own account belongs to the settings.
func (h *Users) Pages(g *echo.Group) {
	g.GET(accountPath+"/remove", h.selfPage)
	g.POST(accountPath+"/remove", h.selfForm)
	g.GET(peoplePath, h.listPage, core.MustBeAdmin)
	g.POST(peoplePath, h.addForm, core.MustBeAdmin)
	g.POST(peoplePath+"/invitations", h.inviteForm, core.MustBeAdmin)
	g.POST(peoplePath+"/invitations/:id/revoke", h.takeBackForm, core.MustBeAdmin)
	one := peoplePath + "/:id"
	g.GET(one, h.personPage, core.MustBeAdmin)
	g.GET(one+"/export", h.exportOther, core.MustBeAdmin)
	g.POST(one+"/name", h.nameForm, core.MustBeAdmin)
	g.POST(one+"/role", h.roleForm, core.MustBeAdmin)
	g.POST(one+"/reset", h.resetForm, core.MustBeAdmin)
	g.POST(one+"/signout", h.signOutForm, core.MustBeAdmin)
	g.GET(one+"/remove", h.removePage, core.MustBeAdmin)
	g.POST(one+"/remove", h.removeForm, core.MustBeAdmin)
	core.Moved(g, "/people", peoplePath)
	core.Moved(g, "/people/:id", one)
	core.Moved(g, "/account/export", accountPath+"/export")
	core.Moved(g, "/account/remove", accountPath+"/remove")
}

// API adds the routes of the API.
func (h *Users) API(g *echo.Group) {
	g.DELETE("/account", h.selfAPI)
	g.GET("/admin/users", h.list, core.MustBeAdmin)
	g.POST("/admin/users", h.addAPI, core.MustBeAdmin)
	g.GET("/admin/users/:id", h.oneAPI, core.MustBeAdmin)
	g.PATCH("/admin/users/:id", h.changeAPI, core.MustBeAdmin)
	g.DELETE("/admin/users/:id", h.removeAPI, core.MustBeAdmin)
	g.DELETE("/admin/users/:id/sessions", h.signOutAPI, core.MustBeAdmin)
	g.GET("/admin/users/:id/export", h.exportOther, core.MustBeAdmin)
	g.POST("/admin/users/:id/reset", h.resetAPI, core.MustBeAdmin)
	g.GET("/admin/invitations", h.invitationsAPI, core.MustBeAdmin)
	g.POST("/admin/invitations", h.inviteAPI, core.MustBeAdmin)
	g.DELETE("/admin/invitations/:id", h.takeBackAPI, core.MustBeAdmin)
}

// seen is an account with the time when it was last used; zero when that is not known.
type seen struct {
	accounts.User
	At time.Time
}

// part returns a part of the accounts, and how many there are whose names match.
func (h *Users) part(ctx context.Context, p accounts.Part) (all []seen, total int, err error) {
	users, total, err := h.store.UsersPart(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	at, err := h.store.LastSeen(ctx, core.ViewAll(users, func(u accounts.User) int64 { return u.ID }))
	return core.ViewAll(users, func(u accounts.User) seen { return seen{u, at[u.ID]} }), total, err
}

// add adds an account.
func (h *Users) add(c echo.Context, in Credentials) error {
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
		return accounts.InputError{Text: words.New("input.old_password")}
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
	limit, err := core.Limit(c)
	if err != nil {
		return err
	}
	p := accounts.Part{Like: c.QueryParam("q"), Limit: limit + 1}
	if cursor := c.QueryParam("before"); cursor != "" {
		if p.After, err = strconv.ParseInt(cursor, 36, 64); err != nil {
			return library.ErrBadCursor
		}
	}
	all, _, err := h.part(c.Request().Context(), p)
	if err != nil {
		return err
	}
	var next *string
	if len(all) > limit {
		all = all[:limit]
		next = core.Text(strconv.FormatInt(all[limit-1].ID, 36))
	}
	return c.JSON(http.StatusOK, map[string]any{"next": next, "users": core.ViewAll(all, func(p seen) SeenView {
		return SeenView{View: view(p.User), LastSeenAt: core.Moment(p.At)}
	})})
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
// guess like any other: adding accounts reveals nobody's password faster than signing in does.
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
