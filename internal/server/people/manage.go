package people

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/removal"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// changed is what a call found, and what it left.
type changed struct {
	Previous string `json:"previous_state"`
	New      string `json:"new_state"`
}

func presence(there bool) string {
	if there {
		return "present"
	}
	return "absent"
}

// nobody gives the error of an account that does not exist the words for one in a path.
func nobody(err error) error {
	if errors.Is(err, accounts.ErrUnknown) {
		return core.NotFound("There is no account of that number.")
	}
	return err
}

// one returns the account that a request's path names.
func (h *Users) one(c echo.Context) (accounts.User, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return accounts.User{}, err
	}
	u, err := h.store.UserByID(c.Request().Context(), id)
	return u, nobody(err)
}

// noteFor notes what an administrator did with an account, for the installation and for the person.
func (h *Users) noteFor(c echo.Context, user int64, e activity.Entry) {
	h.core.Note(c.Request().Context(), e)
	if user != core.UserOf(c).ID { // an administrator reads both
		e.User = user
		h.core.Note(c.Request().Context(), e)
	}
}

// setRole changes the role of an account, and returns the one before.
func (h *Users) setRole(c echo.Context, u accounts.User, role string) (before string, err error) {
	ctx := c.Request().Context()
	before, err = h.accounts.SetRole(ctx, u.ID, role)
	if err != nil || before == role {
		return before, nobody(err)
	}
	h.noteFor(c, u.ID, activity.Entry{Action: activity.RoleChanged, Subject: u.Name, Detail: asRole[role]})
	return before, h.courier.AdoptAgain(ctx) // the channels of the settings are the first administrator's
}

// remove begins the removal of an account.
func (h *Users) remove(c echo.Context, user int64) (accounts.User, error) {
	ctx := c.Request().Context()
	u, err := h.removals.Begin(ctx, user)
	if err != nil {
		return u, err
	}
	h.core.Note(ctx, activity.Entry{Action: activity.UserRemoved, Subject: u.Name})
	return u, h.courier.AdoptAgain(ctx)
}

// countsView is what belongs to a person and goes with them.
type countsView struct {
	Listens     int `json:"listens"`
	Playlists   int `json:"playlists"`
	Connections int `json:"connections"`
	Deliveries  int `json:"deliveries_waiting"`
	Imports     int `json:"imports"`
	Channels    int `json:"channels"`
	Tokens      int `json:"tokens"`
}

func viewCounts(n removal.Counts) countsView {
	return countsView{Listens: n.Listens, Playlists: n.Playlists, Connections: n.Connections, Deliveries: n.Deliveries,
		Imports: n.Imports, Channels: n.Channels, Tokens: n.Tokens}
}

func (h *Users) oneAPI(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	n, err := h.store.Counts(c.Request().Context(), u.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		View
		Has countsView `json:"has"`
	}{view(u), viewCounts(n)})
}

func (h *Users) roleAPI(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	in, err := core.Body[struct {
		Role string `json:"role"`
	}](c)
	if err != nil {
		return err
	}
	before, err := h.setRole(c, u, in.Role)
	if err != nil {
		return err
	}
	u.Role = in.Role
	return c.JSON(http.StatusOK, struct {
		View
		changed
	}{view(u), changed{before, in.Role}})
}

func (h *Users) removeAPI(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	_, err = h.remove(c, id)
	if errors.Is(err, accounts.ErrUnknown) {
		return c.JSON(http.StatusOK, changed{presence(false), presence(false)})
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, changed{presence(true), "removing"})
}

// listView is the page of all people.
type listView struct {
	People []SeenView
	Open   []LinkView

	Form, Problem string // the form that failed, and why
	Name, Role    string // what was typed in it
}

func (h *Users) listPage(c echo.Context) error { return h.showList(c, http.StatusOK, listView{}) }

func (h *Users) showList(c echo.Context, status int, v listView) (err error) {
	if v.People, err = h.All(c.Request().Context()); err != nil {
		return err
	}
	if v.Open, err = h.openInvitations(c); err != nil {
		return err
	}
	return h.core.Render(c, status, "people", "People", v)
}

// failed shows the page with the problem of a form and what was typed.
func (h *Users) failed(c echo.Context, v listView, err error) error {
	p := h.core.Problem(c, err)
	v.Problem = p.Detail
	return h.showList(c, p.Status, v)
}

func (h *Users) addForm(c echo.Context) error {
	in, err := core.Body[Credentials](c)
	if err == nil {
		err = h.Add(c, in)
	}
	if err != nil {
		return h.failed(c, listView{Form: "add", Name: in.Name, Role: in.Role}, err)
	}
	return h.core.Done(c, "/people", words.Plain("The account "+in.Name+" has been made. Tell its owner the password; "+
		"it can be changed on the settings page."))
}

// personView is the page of one person, and the one that asks before a removal.
type personView struct {
	View
	Has     countsView
	Self    bool // the person of the page looks at it
	Only    bool // nobody else administers
	Problem string
}

func (h *Users) personPage(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	return h.showPerson(c, http.StatusOK, "person", u, "")
}

func (h *Users) showPerson(c echo.Context, status int, page string, u accounts.User, problem string) error {
	ctx := c.Request().Context()
	n, err := h.store.Counts(ctx, u.ID)
	if err != nil {
		return err
	}
	all, err := h.store.Users(ctx)
	if err != nil {
		return err
	}
	v := personView{View: view(u), Has: viewCounts(n), Self: u.ID == core.UserOf(c).ID, Only: u.Role == accounts.Admin,
		Problem: problem}
	for _, other := range all {
		v.Only = v.Only && (other.ID == u.ID || other.Role != accounts.Admin)
	}
	title := u.Name
	if page == "remove" {
		title = "Remove " + u.Name
		if v.Self {
			title = "Remove your account"
		}
	}
	return h.core.Render(c, status, page, title, v)
}

func (h *Users) roleForm(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	role := c.FormValue("role")
	if _, err := h.setRole(c, u, role); err != nil {
		return err
	}
	if u.ID == core.UserOf(c).ID && role != accounts.Admin {
		return h.core.Done(c, "/settings", words.Plain("You are a member now."))
	}
	now := map[string]string{accounts.Admin: " is an administrator now.", accounts.Member: " is a member now."}
	return h.core.Done(c, "/people", words.Plain(u.Name+now[role]))
}

func (h *Users) removePage(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	if u.ID == core.UserOf(c).ID { // asks for the password, too
		return c.Redirect(http.StatusSeeOther, "/account/remove")
	}
	return h.showPerson(c, http.StatusOK, "remove", u, "")
}

func (h *Users) removeForm(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	if u.ID == core.UserOf(c).ID {
		return c.Redirect(http.StatusSeeOther, "/account/remove")
	}
	if !strings.EqualFold(strings.TrimSpace(c.FormValue("name")), u.Name) {
		return h.showPerson(c, http.StatusUnprocessableEntity, "remove", u,
			"That is not the name of this account. Nothing was removed.")
	}
	if _, err := h.remove(c, u.ID); err != nil {
		return nobody(err)
	}
	return h.core.Done(c, "/people", words.Plain(u.Name+
		" cannot sign in any more. What belongs to the account is being removed."))
}
