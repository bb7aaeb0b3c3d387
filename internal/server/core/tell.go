package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/notify"
	"reprise/internal/words"
)

// What people are told about access to their account. The names are the causes of the notifications, and with them
// the ids of their sentences.
const (
	ToldSecondStepOn    = "second_step_on"
	ToldSecondStepOff   = "second_step_off"
	ToldSecondStepReset = "second_step_reset" // Who: the administrator
	ToldPasskeyAdded    = "passkey_added"     // Name: of the passkey
	ToldPasskeyRemoved  = "passkey_removed"   // Name: of the passkey
	ToldNewDevice       = "new_device"        // Visit: the browser and the address

	ToldIdentityLinked   = "identity_linked"   // Issuer: what people call it
	ToldIdentityUnlinked = "identity_unlinked" // Issuer: what people call it
)

// told are the causes of all of these, and how urgent each is.
var told = map[string]notify.Severity{
	ToldSecondStepOn: notify.Info, ToldSecondStepOff: notify.Warning, ToldSecondStepReset: notify.Warning,
	ToldPasskeyAdded: notify.Info, ToldPasskeyRemoved: notify.Warning, ToldNewDevice: notify.Info,
	ToldIdentityLinked: notify.Info, ToldIdentityUnlinked: notify.Warning,
}

// TellAccess tells a person, once, what has happened to the access to their account. A failure is logged: what they are
// told of has happened.
func (k *Core) TellAccess(ctx context.Context, user int64, what string, pairs ...any) {
	ctx, text := context.WithoutCancel(ctx), what
	if what == ToldSecondStepOn {
		if u, err := k.store.UserByID(ctx, user); err == nil && u.Role == accounts.Admin {
			text = "second_step_on_admin" // there may be no other one to ask
		}
	}
	at := time.Now().UnixMilli()
	n := notify.Notification{User: user, Cause: what, Generation: at, Severity: told[what],
		Title: words.Each("told.title.", what), Message: words.Each("told.text.", text, pairs...),
		Action: notify.Action{Label: words.New("told.look"), URL: "/settings/account#sessions"}}
	if err := errors.Join(k.Sessions.didItself(ctx, user, at), k.notifier.Open(ctx, n)); err != nil {
		k.Log.Error("a person cannot be told about the access to their account", "user_id", user, "err", err)
	}
}

// tellNewDevice tells a person who signs in with a browser that the account was not used with, unless it is the first
// time at all. A program that signs in again and again keeps no cookie, but comes by the same visit.
func (k *Core) tellNewDevice(c echo.Context, user int64, visit string) {
	ctx := c.Request().Context()
	u, err := k.store.UserByID(ctx, user)
	// Without a password there is no mark of a device, and the issuer tells of its own.
	if err == nil && (u.PasswordHash == "" || k.Sessions.device(c.Request(), u) != "") {
		return
	}
	ever, same := false, false
	if err == nil {
		ever, same, err = k.store.SignedInBefore(ctx, user, visit)
	}
	if err != nil {
		k.Log.Error("a person cannot be told about the access to their account", "user_id", user, "err", err)
	}
	if ever && !same {
		k.TellAccess(ctx, user, ToldNewDevice, "Visit", accounts.VisitOf(visit))
	}
}

// SeenAccess closes the notifications about access to an account, which its person is looking at now. An intruder can't
// close a warning about themselves: a session closes nothing that it caused, and a warning about a new device only if
// the session began before it.
func (k *Core) SeenAccess(ctx context.Context, user int64) error {
	open, err := k.store.Notifications(ctx, user, true)
	if err != nil {
		return err
	}
	var own []int64
	k.Sessions.Kept(ctx, ownKey, &own)
	since := k.Sessions.signedInAt(ctx)                   // in whole seconds
	closing := notify.Closing{User: user, MendedBy: user} // so no channel says that it is over
	for _, n := range open {
		late := n.Cause == ToldNewDevice && !since.Before(n.CreatedAt.Truncate(time.Second))
		if told[n.Cause] != "" && !late && !slices.Contains(own, n.Generation) {
			closing.Causes, closing.IDs = append(closing.Causes, n.Cause), append(closing.IDs, n.ID)
		}
	}
	if len(closing.IDs) == 0 {
		return nil
	}
	return k.notifier.Close(ctx, closing)
}

const (
	ownKey  = "own" // in a session: the generations of what its user was told of its acts
	mostOwn = 100
)

// didItself notes in the session of a user that it caused the notification with this generation.
func (s *Sessions) didItself(ctx context.Context, user, generation int64) error {
	if s.Current(ctx) == "" || s.manager.GetInt64(ctx, userKey) != user {
		return nil
	}
	var own []int64
	s.Kept(ctx, ownKey, &own)
	own = append(own, generation)
	return s.Keep(ctx, ownKey, own[max(0, len(own)-mostOwn):])
}
