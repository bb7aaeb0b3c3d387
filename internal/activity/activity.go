// Package activity is the log of what people and the server did: its entries, who acted, and the words for each.
//
// Whoever does something notes it with the context of the request that asked for it; the context carries who asked.
// Without an actor it was the server itself. An entry is news for people: it never decides anything, and that one could
// not be noted stops nothing.
package activity

import (
	"context"
	"time"
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
	TokenMade       Action = "token_made"      // Subject: its name
	TokenRevoked    Action = "token_revoked"   // Subject: its name
	ChannelAdded    Action = "channel_added"   // Subject: its name
	ChannelChanged  Action = "channel_changed" // Subject: its name
	ChannelRemoved  Action = "channel_removed" // Subject: its name
)

// What the server does, or finds out.
const (
	Stopped       Action = "stopped"   // Subject: the stream, empty for all of them; Detail: why
	Recovered     Action = "recovered" // Subject: the stream, empty for all of them; Detail: since when it had not worked
	Held          Action = "held"      // Detail: until when
	StillFailing  Action = "still_failing"
	BreakerOpened Action = "breaker_opened" // Subject: the endpoint
	BreakerClosed Action = "breaker_closed" // Subject: the endpoint
	UplinkLost    Action = "uplink_lost"
	UplinkBack    Action = "uplink_back"
	KeyRefused    Action = "key_refused" // Subject: the key's last four characters
)

// Entry is one line of the log.
type Entry struct {
	ID       int64
	At       time.Time
	User     int64  // whom it is about; 0 for the installation
	ActorID  int64  // who did it; 0 for the server, and for somebody without an account
	Actor    string // their name; empty for the server
	Action   Action
	Provider string // the service it is about; empty for none
	Subject  string // what else it is about; see the actions
	Detail   string // whole sentences, or what the action says
}

// Actor is who does something.
type Actor struct {
	ID   int64 // of the account; 0 for somebody without one
	Name string
}

// Operator is whoever holds the installation's admin token.
var Operator = Actor{Name: "administrator's token"}

type actorKey struct{}

// WithActor returns a context in which whatever is done is done by that person. The zero Actor is the server.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns who acts; the zero Actor for the server.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
