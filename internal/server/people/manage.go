package people

import (
	"cmp"
	"context"
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

// Removed is what a call found, and what it left.
type Removed struct {
	Previous string `json:"previous_state" enum:"absent,present"`
	New      string `json:"new_state" enum:"absent,removing"`
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
func (h *Users) noteFor(ctx context.Context, user int64, e activity.Entry) {
	h.core.Note(ctx, e)
	if user != activity.ActorOf(ctx).ID { // an administrator reads both
		e.User = user
		h.core.Note(ctx, e)
	}
}

// SetRole changes the role of an account, and returns the one before.
func (h *Users) SetRole(ctx context.Context, u accounts.User, role string) (before string, err error) {
	before, err = h.accounts.SetRole(ctx, u.ID, role)
	if err != nil || before == role {
		return before, nobody(err)
	}
	h.noteFor(ctx, u.ID, activity.Entry{Action: activity.RoleChanged, Subject: u.Name, Detail: asRole[role]})
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

// Counts is what belongs to a person and goes with them.
type Counts struct {
	Listens     int `json:"listens" minimum:"0"`
	Playlists   int `json:"playlists" minimum:"0"`
	Connections int `json:"connections" minimum:"0"`
	Deliveries  int `json:"deliveries_waiting" minimum:"0"`
	Imports     int `json:"imports" minimum:"0"`
	Channels    int `json:"channels" minimum:"0"`
	Tokens      int `json:"tokens" minimum:"0"`
}

func viewCounts(n removal.Counts) Counts {
	return Counts{Listens: n.Listens, Playlists: n.Playlists, Connections: n.Connections, Deliveries: n.Deliveries,
		Imports: n.Imports, Channels: n.Channels, Tokens: n.Tokens}
}

type getUserAnswer struct {
	User
	Has Counts `json:"has"`
}

func (h *Users) oneAPI(c echo.Context, _ *core.UserID) (out getUserAnswer, _ error) {
	u, err := h.one(c)
	if err != nil {
		return out, err
	}
	n, err := h.store.Counts(c.Request().Context(), u.ID)
	if err != nil {
		return out, err
	}
	return getUserAnswer{view(u), viewCounts(n)}, nil
}

type changeUserRequest struct {
	core.UserID
	Body struct {
		Role *string `json:"role" required:"false" enum:"Role" nullable:"false"`
		Name *string `json:"name" required:"false" minLength:"1" maxLength:"64" nullable:"false"`
	}
}

// changeAPI changes the role of an account, its name, or both.
func (h *Users) changeAPI(c echo.Context, in *changeUserRequest) (out changedUser, _ error) {
	u, err := h.one(c)
	if err != nil {
		return out, err
	}
	body := in.Body
	if body.Role == nil && body.Name == nil {
		return out, accounts.InputError{Text: words.New("input.change_what")}
	}
	v := changedUser{Previous: u.Role, New: u.Role, PreviousName: u.Name}
	if body.Role != nil {
		if err := h.core.Proved(c); err != nil {
			return out, err
		}
	}
	if body.Name != nil { // first, because it is what can be refused
		if u, err = h.rename(c, u, *body.Name); err != nil {
			return out, err
		}
	}
	if body.Role != nil {
		if v.Previous, err = h.SetRole(c.Request().Context(), u, *body.Role); err != nil {
			return out, err
		}
		v.New, u.Role = *body.Role, *body.Role
	}
	v.User = view(u)
	return v, nil
}

// changedUser is an account that was changed, with what it was before.
type changedUser struct {
	User
	Previous     string `json:"previous_state" enum:"Role"`
	New          string `json:"new_state" enum:"Role"`
	PreviousName string `json:"previous_name" minLength:"1" maxLength:"64"`
}

type signUserOutAnswer struct {
	Ended int `json:"ended" minimum:"0"`
}

// signOutAPI ends the sessions of an account.
func (h *Users) signOutAPI(c echo.Context, _ *core.UserID) (out signUserOutAnswer, _ error) {
	u, err := h.one(c)
	if err != nil {
		return out, err
	}
	n, err := h.signOut(c, u)
	if err != nil {
		return out, err
	}
	return signUserOutAnswer{Ended: n}, nil
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
		h.noteFor(ctx, u.ID, activity.Entry{Action: activity.SignedOut, Subject: u.Name})
	}
	return n, err
}

// resetStep turns the second step of somebody else off, if there is one, and tells them.
func (h *Users) resetStep(c echo.Context, u accounts.User) error {
	me := core.UserOf(c)
	if u.ID == me.ID {
		return core.Check(words.New("person.step_own"))
	}
	ctx := c.Request().Context()
	was, err := h.core.Codes.TurnOff(ctx, u.ID)
	if err != nil || !was {
		return err
	}
	h.noteFor(ctx, u.ID, activity.Entry{Action: activity.SecondStepReset, Subject: u.Name})
	h.core.TellAccess(ctx, u.ID, core.ToldSecondStepReset, "Who", words.Plain(cmp.Or(me.Name, activity.Operator.Name)))
	return nil
}

func (h *Users) stepAPI(c echo.Context, _ *core.UserID) (out core.None, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	u, err := h.one(c)
	if err != nil {
		return out, err
	}
	return out, h.resetStep(c, u)
}

// rename changes the name of an account.
func (h *Users) rename(c echo.Context, u accounts.User, name string) (accounts.User, error) {
	before, err := h.accounts.Rename(c.Request().Context(), u.ID, name)
	if err != nil {
		return u, nobody(err)
	}
	u.Name = strings.TrimSpace(name)
	if u.Name != before {
		h.noteFor(c.Request().Context(), u.ID, activity.Entry{Action: activity.Renamed, Subject: before,
			Detail: words.New("activity.renamed_to", "Name", u.Name)})
	}
	return u, nil
}

// RenameSelf changes the name of the user of a request, and returns the new one.
func (h *Users) RenameSelf(c echo.Context, name string) (string, error) {
	if err := h.core.Sessions.MayRename(core.UserOf(c)); err != nil {
		return "", err
	}
	u, err := h.rename(c, core.UserOf(c), name)
	return u.Name, err
}

func (h *Users) removeAPI(c echo.Context, _ *core.UserID) (out core.Answer[Removed], _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	u, err := h.one(c)
	if p, ok := errors.AsType[*core.Refusal](err); ok && p.Status == http.StatusNotFound {
		return core.Answer[Removed]{Status: http.StatusOK, Body: Removed{presence(false), presence(false)}}, nil
	}
	if err != nil {
		return out, err
	}
	if _, err = h.remove(c, u.ID); err != nil {
		return out, err
	}
	return core.Answer[Removed]{Status: http.StatusAccepted, Body: Removed{presence(true), "removing"}}, nil
}
