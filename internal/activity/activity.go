// Package activity is the log of what people and the server did: its entries, who acted, and the words for them.
//
// The context of a request carries the person who acts; without one it is the server that acts. Entries are for people
// to read: no decision depends on them, and a failure to store one stops nothing.
package activity

import (
	"context"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// Action says what was done. The names are those of the API.
type Action string

// What people do.
const (
	Connected       Action = "connected"   // Subject: the account there
	Reconnected     Action = "reconnected" // Subject: the account there
	Disconnected    Action = "disconnected"
	Paused          Action = "paused"
	Resumed         Action = "resumed"
	Synced          Action = "synced"
	Retried         Action = "retried"
	Redriven        Action = "redriven" // Subject: how many deliveries
	Discarded       Action = "discarded"
	ForwardingOn    Action = "forwarding_on"
	ForwardingOff   Action = "forwarding_off"
	Imported        Action = "imported"      // Subject: the file's name
	BreakerReset    Action = "breaker_reset" // Subject: the endpoint
	KeyReset        Action = "key_reset"     // Subject: the key's last four characters
	UserAdded       Action = "user_added"    // Subject: the name
	PasswordChanged Action = "password_changed"

	UserRemoved       Action = "user_removed" // Subject: the name
	RoleChanged       Action = "role_changed" // Subject: the name
	Invited           Action = "invited"      // Subject: the name that was proposed, or Somebody
	InvitationRevoked Action = "invitation_revoked"
	Joined            Action = "joined"          // Subject: the name
	ResetLinkMade     Action = "reset_link_made" // Subject: the name
	Exported          Action = "exported"        // Subject: the name
	Asked             Action = "asked"           // the administrators, for the service

	SignedIn      Action = "signed_in"      // Subject: the browser, and the address
	SignInFailed  Action = "sign_in_failed" // Subject: the address; without an actor
	ConfirmFailed Action = "confirm_failed" // by somebody who is signed in; Subject: the address; without an actor
	PasswordReset Action = "password_reset"
	SessionEnded  Action = "session_ended"  // Subject: the browser, and the address
	SessionsEnded Action = "sessions_ended" // all others

	CameIn           Action = "came_in"           // got an account without an invitation; Subject: the name
	IdentityLinked   Action = "identity_linked"   // Subject: the issuer
	IdentityUnlinked Action = "identity_unlinked" // Subject: the issuer

	TokenMade     Action = "token_made"     // Subject: its name
	TokenRevoked  Action = "token_revoked"  // Subject: its name
	PlayerAdded   Action = "player_added"   // Subject: its name
	PlayerRenewed Action = "player_renewed" // got another secret; Subject: its name
	PlayerRemoved Action = "player_removed" // Subject: its name
	ListShared    Action = "list_shared"    // Subject: the name of the playlist
	ListUnshared  Action = "list_unshared"  // Subject: the name of the playlist
	YearShared    Action = "year_shared"    // Subject: the year
	YearUnshared  Action = "year_unshared"  // Subject: the year

	ProfileShared   Action = "profile_shared" // with anybody who has its address
	ProfileUnshared Action = "profile_unshared"

	CompareShared   Action = "compare_shared"   // a link was made; Subject: for whom
	CompareUnshared Action = "compare_unshared" // Subject: for whom

	ListeningShared   Action = "listening_shared" // with everybody who has an account
	ListeningUnshared Action = "listening_unshared"

	ChannelAdded   Action = "channel_added"   // Subject: its name
	ChannelChanged Action = "channel_changed" // Subject: its name
	ChannelRemoved Action = "channel_removed" // Subject: its name

	SignedOut Action = "signed_out" // everywhere, by an administrator; Subject: the name
	Renamed   Action = "renamed"    // Subject: the name before; Detail: the new one

	SettingChanged Action = "setting_changed" // Subject: its path
	SettingReset   Action = "setting_reset"   // Subject: its path; back to the default

	BackupDownloaded Action = "backup_downloaded" // Subject: its name

	SecondStepOn      Action = "second_step_on"
	SecondStepOff     Action = "second_step_off"
	SecondStepReset   Action = "second_step_reset" // by an administrator or on the command line; Subject: the name
	RecoveryCodesMade Action = "recovery_codes_made"
	RecoveryCodeUsed  Action = "recovery_code_used"
	PasskeyAdded      Action = "passkey_added"   // Subject: its name
	PasskeyRemoved    Action = "passkey_removed" // Subject: its name
)

// What the server does, or notices.
const (
	Stopped       Action = "stopped"   // Subject: the stream, empty for all of them; Detail: why
	Recovered     Action = "recovered" // Subject: the stream, empty for all of them; Detail: when it stopped, RFC 3339
	Held          Action = "held"      // Detail: until when
	StillFailing  Action = "still_failing"
	BreakerOpened Action = "breaker_opened" // Subject: the endpoint
	BreakerClosed Action = "breaker_closed" // Subject: the endpoint
	UplinkLost    Action = "uplink_lost"
	UplinkBack    Action = "uplink_back"
	KeyRefused    Action = "key_refused" // Subject: the key's last four characters
)

// Subjects that are not names.
const (
	Somebody       = "somebody"
	OtherAddresses = "other addresses" // of many failed sign-ins
)

// Entry is one line of the log.
type Entry struct {
	ID         int64
	At         time.Time
	User       int64  // the person it is about; 0 for the installation
	ActorID    int64  // who did it; 0 for the server and for people without an account
	Actor      string // their name; empty for the server
	Action     Action
	Connection library.ConnectionID // the service it is about; empty for none
	Subject    string               // what else it is about; see the actions
	Times      int                  // how often it happened in an hour or a day; 0 and 1 for once
	Detail     words.Text           // whole sentences, unless the action says otherwise
}

// Filter selects entries. An empty field selects all.
type Filter struct {
	User         int64
	Installation bool // those about the installation, too
	Provider     string
	Connection   library.ConnectionID
}

// Actor is a person who acts.
type Actor struct {
	ID   int64 // of the account; 0 without one
	Name string
}

// Operator is the person who uses the installation's admin token.
var Operator = Actor{Name: "administrator's token"}

type actorKey struct{}

// WithActor returns a context whose actor is a. The zero Actor is the server.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context; the zero Actor for the server.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
