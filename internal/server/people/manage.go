package people

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
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
		return core.NotFound(words.New("problem.not_found.account"))
	}
	return err
}

// one returns the account that a request's path names, by its number or by its name.
func (h *Users) one(c echo.Context) (u accounts.User, err error) {
	ctx, name := c.Request().Context(), c.Param("id")
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		u, err = h.store.UserByID(ctx, id)
		return u, nobody(err)
	}
	if name, err = url.PathUnescape(name); err != nil {
		return u, nobody(accounts.ErrUnknown)
	}
	if u, err = h.store.UserByName(ctx, name); err == nil {
		u, err = h.store.UserByID(ctx, u.ID) // which knows none that is leaving
	}
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

// changeAPI changes the role of an account, its name, or both.
func (h *Users) changeAPI(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	in, err := core.Body[struct {
		Role *string `json:"role"`
		Name *string `json:"name"`
	}](c)
	if err != nil {
		return err
	}
	if in.Role == nil && in.Name == nil {
		return accounts.InputError{Text: words.New("input.change_what")}
	}
	v := changedUser{changed: changed{u.Role, u.Role}, PreviousName: u.Name}
	if in.Name != nil { // first, because it is what can be refused
		if u, err = h.rename(c, u, *in.Name); err != nil {
			return err
		}
	}
	if in.Role != nil {
		if v.Previous, err = h.setRole(c, u, *in.Role); err != nil {
			return err
		}
		v.New, u.Role = *in.Role, *in.Role
	}
	v.View = view(u)
	return c.JSON(http.StatusOK, v)
}

// changedUser is an account that was changed, with what it was before.
type changedUser struct {
	View
	changed
	PreviousName string `json:"previous_name"`
}

// signOutAPI ends the sessions of an account.
func (h *Users) signOutAPI(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	n, err := h.signOut(c, u)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]int{"ended": n})
}

// signOut ends the sessions of an account, except the one that asks, and returns their number.
func (h *Users) signOut(c echo.Context, u accounts.User) (n int, err error) {
	ctx := c.Request().Context()
	if u.ID == core.UserOf(c).ID {
		n, err = h.core.Sessions.EndOthers(ctx, u.ID)
	} else {
		n, err = h.core.Sessions.EndAll(ctx, u.ID)
	}
	if err == nil {
		h.noteFor(c, u.ID, activity.Entry{Action: activity.SignedOut, Subject: u.Name})
	}
	return n, err
}

// rename changes the name of an account.
func (h *Users) rename(c echo.Context, u accounts.User, name string) (accounts.User, error) {
	before, err := h.accounts.Rename(c.Request().Context(), u.ID, name)
	if err != nil {
		return u, nobody(err)
	}
	u.Name = strings.TrimSpace(name)
	if u.Name != before {
		h.noteFor(c, u.ID, activity.Entry{Action: activity.Renamed, Subject: before,
			Detail: words.New("activity.renamed_to", "Name", u.Name)})
	}
	return u, nil
}

// RenameSelf changes the name of the user of a request, and returns the new one.
func (h *Users) RenameSelf(c echo.Context, name string) (string, error) {
	u, err := h.rename(c, core.UserOf(c), name)
	return u.Name, err
}

func (h *Users) removeAPI(c echo.Context) error {
	u, err := h.one(c)
	if p, ok := errors.AsType[*core.Refusal](err); ok && p.Status == http.StatusNotFound {
		return c.JSON(http.StatusOK, changed{presence(false), presence(false)})
	}
	if err != nil {
		return err
	}
	if _, err = h.remove(c, u.ID); err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, changed{presence(true), "removing"})
}
