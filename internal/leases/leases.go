// Package leases shares out the calls to services between the servers of a database: all calls to one app are made
// by one server at a time. An app is what a service limits, such as a client of Spotify, or a server at somebody's
// home. So backoff, paces and breakers stay in the memory of one server, exact, without being shared. The imports of
// files are shared out in the same way, by person.
//
// A lease is a row of the database, by the clock of the database. Who holds one confirms it all the time, makes no call
// ten seconds after the last confirmation, and writes nothing under it once another server has it. When it moves, what
// was in memory is lost, as with a restart.
package leases

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// ConfirmEvery is how often leases are confirmed.
	ConfirmEvery = 2 * time.Second
	// For is how long calls may be made after the last confirmation was sent.
	For = 10 * time.Second
	// VacantAfter is when another server may take a lease that nobody confirms. It is longer than For, because clocks
	// run at slightly different speeds.
	VacantAfter = For + time.Second
	// answerWithin is how long the database may take.
	answerWithin = 5 * time.Second
	// keepFor is how long a server keeps its leases while it opens the database again.
	keepFor = 5 * time.Second
	// endWithin is how long what is under way may go on when its lease is given away.
	endWithin = 5 * time.Second
	// unusedFor is how long the lease of an app stays after its last use, when no connection has the app.
	unusedFor = 10 * time.Minute
	// patience is how long a request waits for an app that is moving.
	patience = 20 * time.Second
)

// OfLeader is the app of all calls that aren't shared out: the server that leads makes them.
const OfLeader = ""

// App returns the name of an app of a provider.
func App(provider, app string) string { return provider + " " + app }

// imports takes the place of a provider's name in the shares of the imports of files. There are importShares of them:
// several for each server of an installation, so that all get as much.
const (
	imports      = "import"
	importShares = 12
)

// ImportsOf returns the share of the imports that a person's files are in. One server reads them, as one makes the
// calls to an app.
func ImportsOf(user int64) string { return App(imports, strconv.FormatInt(user%importShares, 10)) }

// Imports returns all shares of the imports.
func Imports() (all []string) {
	for i := range int64(importShares) {
		all = append(all, ImportsOf(i))
	}
	return all
}

// OfImports reports whether an app is a share of the imports.
func OfImports(app string) bool { return strings.HasPrefix(app, App(imports, "")) }

// Lease is the right of one server to call an app. Its number grows each time that the app moves.
type Lease struct {
	App    string
	Number int64
}

// Holding is an app with the server that holds its lease, or held it last.
type Holding struct {
	Lease
	Server string        // empty for nobody
	Age    time.Duration // since it was confirmed
	State  string        // see [Holder.SaveState]
}

// vacant reports whether another server may take the lease.
func (h Holding) vacant() bool { return h.Server == "" || h.Age >= VacantAfter }

// Book keeps the leases. All of it is by the clock of the database.
type Book interface {
	// ConfirmLeases confirms the leases of a server, and returns them.
	ConfirmLeases(ctx context.Context, server string) ([]Lease, error)
	// Leases returns those of all apps, and the servers that work with theirs, with what each says. If this server
	// does, it says something.
	Leases(ctx context.Context, server, says string) (all []Holding, workers map[string]string, err error)
	// TakeLease has a server hold an app whose lease has that number and is vacant. It returns the next number; 0 if
	// another server was faster.
	TakeLease(ctx context.Context, server string, was Lease) (int64, error)
	// GiveLease gives a lease back.
	GiveLease(context.Context, Lease) error
	// RemoveLease removes an app, whose lease the server holds. If it comes back, its numbers are higher than before.
	RemoveLease(context.Context, Lease) error
	// GiveLeases gives back all of a server, which works no more.
	GiveLeases(ctx context.Context, server string) error
	// SaveAppState keeps what is known of an app until the lease moves.
	SaveAppState(ctx context.Context, l Lease, state string) error
	// NoteApps adds apps that are not there yet.
	NoteApps(ctx context.Context, apps []string) error
}

// Elsewhere is the error of what needs an app that another server holds, or none. It counts as a canceled context:
// nothing has been asked, so that nothing is learned.
type Elsewhere struct {
	App    string
	Server string // the id of the one that holds it; empty for none
}

func (e *Elsewhere) Error() string { return fmt.Sprintf("another server calls %q now", e.App) }

// Unwrap makes it a canceled context.
func (e *Elsewhere) Unwrap() error { return context.Canceled }

type (
	leaseKey struct{}
	slotKey  struct{}
)

// Watch returns a context in which [Holder.Claim] notes that what was asked for has to be asked of another server.
func Watch(ctx context.Context) (context.Context, *Elsewhere) {
	e := &Elsewhere{}
	return context.WithValue(ctx, slotKey{}, e), e
}

// With returns a context under a lease: nothing is called or written in it once another server holds the app.
func With(ctx context.Context, l Lease) context.Context { return context.WithValue(ctx, leaseKey{}, l) }

// Without returns a context without a lease, for writing what no other server can have changed meanwhile.
func Without(ctx context.Context) context.Context { return context.WithValue(ctx, leaseKey{}, nil) }

// Of returns the lease of a context.
func Of(ctx context.Context) (Lease, bool) {
	l, ok := ctx.Value(leaseKey{}).(Lease)
	return l, ok
}
