package core

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/words"
)

// Who needs a second step, as the setting says.
const (
	needAdmins    = "administrators"
	needEverybody = "everybody"
)

// Where people show a code, and where they set the second step up.
const (
	CodePath       = "/login/code"
	SecondStepPath = "/settings/account/second-step"
)

const (
	halfKey = "half" // in a session: who has shown a right password, and still has to show a code
	mustKey = "must" // in a session: whether its user came without a second step, so that they may have to set it up

	halfLife = 5 * time.Minute
)

// halfway is somebody who has shown a right password, and still has to show a code.
type halfway struct {
	User  int64
	Stamp string // a fingerprint of that password
	Until time.Time
	After string // the page to go to
}

// RequireSecondStep says who needs a second step: nobody, administrators or everybody.
func (k *Core) RequireSecondStep(who string) { k.Sessions.required.Store(&who) }

// RequiresSecondStep reports whether a person needs a second step. Those without a password never do.
func (k *Core) RequiresSecondStep(u accounts.User) bool { return k.Sessions.requires(u) }

func (s *Sessions) requires(u accounts.User) bool {
	who := s.required.Load()
	return who != nil && u.PasswordHash != "" &&
		(*who == needEverybody || *who == needAdmins && u.Role == accounts.Admin)
}

// Enter signs somebody in whose password was right, unless a code is needed, too: then it reports false, and the
// session keeps for some minutes who it is, and which page they want.
func (k *Core) Enter(c echo.Context, u accounts.User, after string) (in bool, err error) {
	ctx := c.Request().Context()
	state, err := k.Codes.State(ctx, u.ID)
	if err != nil {
		return false, err
	}
	if !state.On {
		return true, k.SignIn(c, u, accounts.Arrival{Way: accounts.ByPassword})
	}
	if u, err = k.store.UserByID(ctx, u.ID); err != nil {
		return false, err
	}
	kept, err := json.Marshal(halfway{User: u.ID, Stamp: fingerprint(u.PasswordHash), Until: time.Now().Add(halfLife),
		After: after})
	// Nobody is signed in with the session from here on. A new password has ended it, if it was theirs: under its old
	// token, nothing more would be kept.
	if err == nil {
		err = k.Sessions.manager.RenewToken(ctx)
	}
	if err == nil {
		k.Sessions.manager.Remove(ctx, userKey)
		k.Sessions.manager.Put(ctx, halfKey, string(kept))
	}
	return false, err
}

// Halfway returns who has to show a code in this session, and which page they want; accounts.ErrUnknown for nobody. If
// that took too long, the next page says so.
func (k *Core) Halfway(ctx context.Context) (u accounts.User, after string, err error) {
	var half halfway
	kept := k.Sessions.manager.GetString(ctx, halfKey)
	if kept == "" || json.Unmarshal([]byte(kept), &half) != nil {
		return u, "", accounts.ErrUnknown
	}
	if !time.Now().Before(half.Until) {
		k.Sessions.manager.Remove(ctx, halfKey)
		k.Sessions.Flash(ctx, words.New("login.code_late"))
		return u, half.After, accounts.ErrUnknown
	}
	u, err = k.store.UserByID(ctx, half.User)
	if err == nil && fingerprint(u.PasswordHash) != half.Stamp {
		err = accounts.ErrUnknown
	}
	return u, half.After, err
}

// ErrCodeNeeded refuses a sign-in without the code that it needs.
var ErrCodeNeeded error = &Refusal{Status: http.StatusUnauthorized, Title: words.New("problem.code.title"),
	Detail: words.New("problem.code.needed"), Fields: map[string]words.Text{"code": words.New("problem.code.needed")}}

// EnterWith signs somebody in whose password was right, with a code if one is needed; ErrCodeNeeded without it.
func (k *Core) EnterWith(c echo.Context, u accounts.User, code string) error {
	state, err := k.Codes.State(c.Request().Context(), u.ID)
	switch {
	case err != nil:
		return err
	case !state.On:
		return k.SignIn(c, u, accounts.Arrival{Way: accounts.ByPassword})
	case strings.TrimSpace(code) == "":
		return ErrCodeNeeded
	}
	return k.ShowCode(c, u, code)
}

// ShowCode signs somebody in whose password was right, if a code of theirs is right, too. A wrong one counts like a
// wrong password.
func (k *Core) ShowCode(c echo.Context, u accounts.User, code string) error {
	ctx := c.Request().Context()
	var shown accounts.Shown
	_, err := k.Guess(c, u.Name, func(ctx context.Context, _ bool) (_ accounts.User, err error) {
		shown, err = k.Codes.Check(ctx, u.ID, code)
		return u, err
	})
	if err != nil {
		return err
	}
	k.Sessions.manager.Remove(ctx, halfKey)
	if err := k.SignIn(c, u, accounts.Arrival{Way: accounts.ByCode}); err != nil || !shown.Recovery {
		return err
	}
	k.Note(activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name}),
		activity.Entry{User: u.ID, Action: activity.RecoveryCodeUsed})
	k.Sessions.Flash(ctx, words.New("factors.recovery_used", "Count", shown.Left))
	return nil
}

// unhindered are the routes that are open to somebody who has to set up a second step first, by method.
var unhindered = map[string]bool{
	"POST /logout": true, "DELETE /api/v1/session": true, "GET /api/v1/account/factors": true,
	"POST /api/v1/account/second-step": true, "POST /api/v1/account/second-step/confirm": true,
	"GET " + SecondStepPath: true, "POST " + SecondStepPath: true, "POST " + SecondStepPath + "/confirm": true,
	"GET " + SecondStepPath + "/code.png": true,
	"GET " + ConfirmPath:                  true, "POST " + ConfirmPath: true, "POST " + ConfirmPath + "/again": true,
	"POST /api/v1/account/confirm": true,
}

// errSetUpFirst refuses a call of somebody who has to set up a second step first.
var errSetUpFirst = &Refusal{Status: http.StatusForbidden, Title: words.New("problem.second_step.title"),
	Detail: words.New("problem.second_step.text")}

// hindered reports whether the user of a session has to set up a second step first.
func (s *Sessions) hindered(ctx context.Context, u accounts.User) bool {
	return s.manager.GetBool(ctx, mustKey) && s.requires(u)
}

// secondStepFirst is middleware that leads people who need a second step, and have none, to the page that sets it up.
func (s *Sessions) secondStepFirst(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		switch {
		case !s.hindered(c.Request().Context(), UserOf(c)), unhindered[c.Request().Method+" "+c.Path()]:
			return next(c)
		case isAPI(c):
			return errSetUpFirst
		}
		return c.Redirect(http.StatusSeeOther, SecondStepPath)
	}
}

// HasShown notes that the user of a request has shown a code, too, and gives the session another token.
func (k *Core) HasShown(c echo.Context) error {
	ctx := c.Request().Context()
	by := k.Sessions.Arrival(ctx)
	if by.Way == accounts.ByPassword {
		by.Way = accounts.ByCode
	}
	return k.Sessions.SignIn(ctx, UserOf(c).ID, by)
}

// Lacks notes that the user of a request has no second step any more.
func (k *Core) Lacks(c echo.Context) {
	ctx := c.Request().Context()
	if by := k.Sessions.Arrival(ctx); by.Way == accounts.ByCode || by.Way == accounts.ByPassword {
		k.Sessions.manager.Put(ctx, wayKey, string(accounts.ByPassword))
		k.Sessions.manager.Put(ctx, mustKey, true)
	}
}

// MustStart ends the session of somebody who has to show a code that they have set up elsewhere meanwhile, and reports
// whether it did.
func (k *Core) MustStart(c echo.Context, state accounts.SecondStepState) (bool, error) {
	if !state.On || !k.Sessions.hindered(c.Request().Context(), UserOf(c)) {
		return false, nil
	}
	return true, errors.Join(k.Sessions.SignOut(c), c.Redirect(http.StatusSeeOther, "/login"))
}
