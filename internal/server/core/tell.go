package core

import (
	"context"
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
	ctx = context.WithoutCancel(ctx)
	err := k.notifier.Open(ctx, notify.Notification{User: user, Cause: what, Generation: time.Now().UnixMilli(),
		Severity: told[what], Title: words.Each("told.title.", what), Message: words.Each("told.text.", what, pairs...),
		Action: notify.Action{Label: words.New("told.look"), URL: "/settings/account#sessions"}})
	if err != nil {
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

// SeenAccess closes what a person was told about the access to their account, which they look at now.
func (k *Core) SeenAccess(ctx context.Context, user int64) error {
	open, err := k.store.Notifications(ctx, user, true)
	if err != nil || !slices.ContainsFunc(open, func(n notify.Notification) bool { return told[n.Cause] != "" }) {
		return err
	}
	closing := notify.Closing{User: user, MendedBy: user} // so no channel says that it is over
	for cause := range told {
		closing.Causes = append(closing.Causes, cause)
	}
	return k.notifier.Close(ctx, closing)
}
