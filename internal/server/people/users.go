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
	OpenLink(ctx context.Context, kind string, id int64) (accounts.Link, error)
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
	g.GET(peoplePath+"/invitations", h.backToList, core.MustBeAdmin)
	g.POST(peoplePath+"/invitations", h.inviteForm, core.MustBeAdmin)
	g.GET(peoplePath+"/invitations/:id", h.invitationPage, core.MustBeAdmin)
	g.POST(peoplePath+"/invitations/:id/revoke", h.takeBackForm, core.MustBeAdmin)
	one := peoplePath + "/:id"
	g.GET(one, h.personPage, core.MustBeAdmin)
	g.GET(one+"/export", h.exportOther, core.MustBeAdmin)
	g.POST(one+"/name", h.nameForm, core.MustBeAdmin)
	g.POST(one+"/role", h.roleForm, core.MustBeAdmin, h.core.MustProve)
	g.GET(one+"/reset", h.resetPage, core.MustBeAdmin)
	g.POST(one+"/reset", h.resetForm, core.MustBeAdmin, h.core.MustProve)
	g.POST(one+"/signout", h.signOutForm, core.MustBeAdmin)
	g.GET(one+"/second-step", h.stepPage, core.MustBeAdmin, h.core.MustProve)
	g.POST(one+"/second-step", h.stepForm, core.MustBeAdmin, h.core.MustProve)
	g.GET(one+"/remove", h.removePage, core.MustBeAdmin, h.core.MustProve)
	g.POST(one+"/remove", h.removeForm, core.MustBeAdmin, h.core.MustProve)
	core.Moved(g, "/people", peoplePath)
	core.Moved(g, "/people/:id", one)
	core.Moved(g, "/account/export", accountPath+"/export")
	core.Moved(g, "/account/remove", accountPath+"/remove")
}

// API adds the routes of the API.
func (h *Users) API(a *core.API) {
	core.Delete(a, "/account", h.selfAPI, core.Call{
		ID:       "removeAccount",
		Summary:  "Remove your own account with everything that belongs to it; needs a session and the password",
		Answer:   "It is being removed, and the session has ended.",
		Status:   http.StatusAccepted,
		Refusals: map[int]string{http.StatusConflict: "This is the only administrator."},
		Scope:    core.BySession,
	})
	core.Get(a, "/admin/users", h.list, core.Call{
		ID:      "listUsers",
		Summary: "Accounts, the oldest first (administrators only)",
		Answer:  "A page of accounts.",
	})
	core.Post(a, "/admin/users", h.addAPI, core.Call{
		ID:      "addUser",
		Summary: "Create an account (administrators only); may be repeated",
		Description: "The same name, password and role again return 200 with `previous_state` present. Another " +
			"password or role returns 409.",
		Answer: "It existed already.",
		Also:   map[int]string{http.StatusCreated: "Created."},
		Refusals: map[int]string{
			http.StatusConflict: "There is one of that name with another password or role.",
		},
	})
	core.Get(a, "/admin/users/{id}", h.oneAPI, core.Call{
		ID:      "getUser",
		Summary: "An account, and what belongs to it (administrators only)",
		Answer:  "The account.",
	})
	core.Patch(a, "/admin/users/{id}", h.changeAPI, core.Call{
		ID:      "changeUser",
		Summary: "Change the role or the name of an account (administrators only); may be repeated",
		Description: "It takes effect at once, for sessions and tokens. Open invitations of a former administrator " +
			"end.",
		Answer:   "The account, with the role before and after, and the name before.",
		Refusals: map[int]string{http.StatusConflict: "This is the only administrator."},
	})
	core.Delete(a, "/admin/users/{id}", h.removeAPI, core.Call{
		ID:      "removeUser",
		Summary: "Remove an account with everything that belongs to it (administrators only); may be repeated",
		Description: "The person's sessions, tokens and streams end at once; the data goes within seconds to " +
			"minutes, even across a restart. This can't be undone. Afterwards, the same call returns 200 with " +
			"`absent` twice.",
		Answer:   "There is no such account, or no longer.",
		Also:     map[int]string{http.StatusAccepted: "Reprise is removing it."},
		Refusals: map[int]string{http.StatusConflict: "This is the only administrator."},
	})
	core.Delete(a, "/admin/users/{id}/sessions", h.signOutAPI, core.Call{
		ID:          "signUserOut",
		Summary:     "Sign a person out everywhere (administrators only); may be repeated",
		Description: "The session of this call stays signed in. Personal tokens keep working.",
		Answer:      "How many sessions ended.",
	})
	core.Delete(a, "/admin/users/{id}/second-step", h.stepAPI, core.Call{
		ID:      "resetSecondStep",
		Summary: "Turn a person's second step off (administrators only); may be repeated",
		Description: "They sign in with the password alone then, and can set it up again. They're told. Your own is " +
			"turned off under `/account/second-step`.",
		Answer: "It's off.",
	})
	core.Get(a, "/admin/users/{id}/export", h.exportAPI, core.Call{
		ID:      "exportUser",
		Summary: "A person's listens and playlists as a file (administrators only); their activity shows it",
		Answer: "A ZIP file, streamed: `listens.jsonl` (one object of the schema Listen per line, newest first), " +
			"`playlists/0001.jspf` for each playlist, `skipped.csv` with what services list but don't return, " +
			"`README.txt`, and `manifest.json` with the counts and checksums of all files. Importing it with " +
			"`provider=reprise` gives the same listens.",
		Types: []string{"application/zip"},
	})
	core.Post(a, "/admin/users/{id}/reset", h.resetAPI, core.Call{
		ID:          "resetPassword",
		Summary:     "Create a link that lets a person choose a new password (administrators only)",
		Description: "It works once, for 24 hours, and replaces an earlier one. Only this answer contains the code.",
		Answer:      "The link.",
		Status:      http.StatusCreated,
	})
	core.Get(a, "/admin/invitations", h.invitationsAPI, core.Call{
		ID:      "listInvitations",
		Summary: "Open invitations (administrators only)",
		Answer:  "Newest first, without their codes.",
	})
	core.Post(a, "/admin/invitations", h.inviteAPI, core.Call{
		ID:      "invite",
		Summary: "Create an invitation link (administrators only)",
		Description: "It works once, for 7 days. Only this answer contains the code. At most 100 can be open at " +
			"once.",
		Answer: "The link.",
		Status: http.StatusCreated,
	})
	core.Delete(a, "/admin/invitations/{id}", h.takeBackAPI, core.Call{
		ID:      "withdrawInvitation",
		Summary: "Withdraw an invitation (administrators only); may be repeated",
		Answer:  "Whether it was open. It no longer is.",
	})
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
		// the session of this request has ended, too
		err = h.core.Sessions.SignIn(ctx, u.ID, h.core.Sessions.Arrival(ctx))
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

// User is an account in the API.
type User struct {
	ID        string    `json:"id"`
	Name      string    `json:"name" minLength:"1" maxLength:"64"`
	Role      string    `json:"role" enum:"Role"`
	CreatedAt core.Time `json:"created_at"`
}

// SeenUser is an account with the time when it was last used; nil when that is not known.
type SeenUser struct {
	User
	LastSeenAt core.MaybeTime `json:"last_seen_at"`
}

func view(u accounts.User) User {
	return User{ID: strconv.FormatInt(u.ID, 10), Name: u.Name, Role: u.Role, CreatedAt: core.Stamp(u.CreatedAt)}
}

type listUsersRequest struct {
	core.Paged
	Q string `query:"q" doc:"Part of a name."`
}

type listUsersAnswer struct {
	Next  *string    `json:"next" doc:"Where the next page begins; null on the last."`
	Users []SeenUser `json:"users"`
}

func (h *Users) list(c echo.Context, in *listUsersRequest) (out listUsersAnswer, _ error) {
	limit, err := core.Limit(c)
	if err != nil {
		return out, err
	}
	p := accounts.Part{Like: in.Q, Limit: limit + 1}
	if cursor := in.Before; cursor != "" {
		if p.After, err = strconv.ParseInt(cursor, 36, 64); err != nil {
			return out, library.ErrBadCursor
		}
	}
	all, _, err := h.part(c.Request().Context(), p)
	if err != nil {
		return out, err
	}
	var next *string
	if len(all) > limit {
		all = all[:limit]
		next = core.Text(strconv.FormatInt(all[limit-1].ID, 36))
	}
	return listUsersAnswer{Next: next, Users: core.ViewAll(all, func(p seen) SeenUser {
		return SeenUser{User: view(p.User), LastSeenAt: core.Moment(p.At)}
	})}, nil
}

type addUserRequest struct {
	core.IdempotencyKey
	Body struct {
		Name     string `json:"name" minLength:"1" maxLength:"64"`
		Password string `json:"password" minLength:"10" maxLength:"1024"`
		Role     string `json:"role" enum:"Role"`
	}
}

func (h *Users) addAPI(c echo.Context, in *addUserRequest) (out core.Answer[addedUser], _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	u, existed, err := h.ensure(c, Credentials{Name: in.Body.Name, Password: in.Body.Password, Role: in.Body.Role})
	if err != nil {
		return out, err
	}
	v := addedUser{User: view(u), Previous: "present", New: "present"}
	if existed {
		return core.Answer[addedUser]{Status: http.StatusOK, Body: v}, nil
	}
	v.Previous = "absent"
	h.noteAdded(c, u)
	return core.Answer[addedUser]{Status: http.StatusCreated, Body: v}, nil
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
	User
	Previous string `json:"previous_state" enum:"absent,present"`
	New      string `json:"new_state" enum:"present"`
}

func (h *Users) noteAdded(c echo.Context, u accounts.User) {
	h.core.Note(c.Request().Context(), activity.Entry{Action: activity.UserAdded, Subject: u.Name})
}
