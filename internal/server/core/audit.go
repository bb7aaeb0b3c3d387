package core

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/throttle"
)

// The messages and outcomes about access in the server's log. Programs such as fail2ban read them (docs/signing-in.md),
// so they do not change. The name that was typed is never logged: people type their password there.
const (
	logSignedIn = "signed in"
	logFailed   = "sign-in failed"
	logRefused  = "token refused"
	logAccess   = "access refused"

	wrongPassword = "wrong_password"
	wrongCode     = "wrong_code"
	tooManyTries  = "too_many_tries"
)

// These bound the lines about those who are refused, which a flood would write: about one address, and about all.
var (
	refusedEvery = throttle.Rate{Burst: 1, Every: time.Minute}
	linesOfOne   = throttle.Limit{Name: "address", Rate: refusedEvery}
	linesOfAll   = throttle.Limit{Name: "all", Rate: throttle.Rate{Burst: 60, Every: time.Second}}
)

// noteWithin is how long the same thing is one entry of the log of activity.
const (
	noteFailuresWithin = time.Hour
	noteSignInsWithin  = 24 * time.Hour
)

// failedTry writes that somebody typed a wrong password or code, as err says. u is the account of that name; zero for
// none. That is written too, because an answer that came sooner would tell that there is none.
func (k *Core) failedTry(c echo.Context, u accounts.User, err error) {
	outcome := wrongPassword
	if errors.Is(err, accounts.ErrWrongCode) {
		outcome = wrongCode
	}
	k.Log.Warn(logFailed, "address", c.RealIP(), "user_id", u.ID, "outcome", outcome)
	e := activity.Entry{User: u.ID, Action: activity.SignInFailed, Subject: c.RealIP()}
	if u.ID != 0 && UserOf(c).ID == u.ID { // who is in already, and has to show once more who they are
		e.Action = activity.ConfirmFailed
	}
	ctx := activity.WithActor(c.Request().Context(), activity.Actor{})
	if err := k.store.NoteOften(ctx, e, noteFailuresWithin); err != nil {
		k.Log.Error("activity cannot be noted", "err", err)
	}
}

// refusedTry writes that somebody was not let try, once a minute for each address and once a second in all.
func (k *Core) refusedTry(c echo.Context, u accounts.User) {
	near, _ := throttle.Networks(c.RealIP())
	if take(c.Request().Context(), &k.lines, linesOfOne.Of(near), linesOfAll.Of("")) == nil {
		k.Log.Warn(logFailed, "address", c.RealIP(), "user_id", u.ID, "outcome", tooManyTries)
	}
}

// refusedAccess writes that a request was forbidden, because its sender lacks the right or it came from another site,
// or that it named another host. It does so once a minute for each address.
func (k *Core) refusedAccess(c echo.Context, status int) {
	if status != http.StatusForbidden && status != http.StatusMisdirectedRequest {
		return
	}
	near, _ := throttle.Networks(c.RealIP())
	if take(c.Request().Context(), &k.lines, linesOfOne.Of("access "+near)) == nil {
		k.Log.Warn(logAccess, "address", c.RealIP(), "user_id", UserOf(c).ID,
			"endpoint", c.Request().Method+" "+c.Path(), "status", status)
	}
}

// SignIn gives the session of a request to a user who has shown who they are, and writes that down.
func (k *Core) SignIn(c echo.Context, u accounts.User, by accounts.Arrival) error {
	ctx := c.Request().Context()
	if err := k.Sessions.SignIn(ctx, u.ID, by); err != nil {
		return err
	}
	v := visitOf(ctx)
	k.tellNewDevice(c, u.ID, accounts.Visit(accounts.Agent(v.request.UserAgent()), v.address))
	k.Sessions.arrived(ctx, u, by.Way)
	return nil
}

// arrived writes down that somebody has come in with the request of a context.
func (s *Sessions) arrived(ctx context.Context, u accounts.User, by accounts.Way) {
	v := visitOf(ctx)
	s.log.Info(logSignedIn, "address", v.address, "user_id", u.ID, "way", string(by))
	e := activity.Entry{User: u.ID, Action: activity.SignedIn,
		Subject: accounts.Visit(accounts.Agent(v.request.UserAgent()), v.address)}
	err := s.store.NoteOften(activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name}), e, noteSignInsWithin)
	if err != nil {
		s.log.Error("activity cannot be noted", "err", err)
	}
}

// NoteAccess writes down what the user of a request did about access, in the log of activity and in the server's. The
// message is a constant.
func (k *Core) NoteAccess(c echo.Context, message string, e activity.Entry) {
	k.Log.Info(message, "address", c.RealIP(), "user_id", e.User)
	k.Note(c.Request().Context(), e)
}
