package sync

import (
	"context"
	"errors"
	"slices"
	"sync"

	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// alerts is what the guard remembers of what it has told.
type alerts struct {
	// telling keeps opening and closing apart: a success of one connection must not close, or take for settled, what a
	// failure of another that shares its app is opening at that moment.
	telling sync.Mutex

	mu sync.Mutex
	// settled are the streams whose alerts have been closed since their latest failure, or since the start: their
	// successes need no look at the database.
	settled map[resilience.Key]bool
	// owed are consequences that could not be stored, to be drawn when their stream is next asked for.
	owed map[resilience.Key]func(context.Context) error
	// advice is what the latest failure of an app said should be done about it, for all its users.
	advice map[resilience.Key]string
	// down are the troubles that stand in the log of activity, each with what was noted last; nothing when a person has done
	// something about it since.
	down map[resilience.Key]activity.Action
	// uplinkLost says that the loss of our own connection to the internet stands there.
	uplinkLost bool
}

// alert is something that a person or the administrators have to be told.
type alert struct {
	provider   *providers.Provider
	connection library.Connection
	cause      string
	category   resilience.Category
	severity   notify.Severity
	words      notify.Words
	detail     string
	page       string // where administrators see to it; the settings by default
}

func (a alert) notification(user, generation int64, action notify.Action) notify.Notification {
	return notify.Notification{User: user, Provider: a.provider.Name, Cause: a.cause, Generation: generation, Severity: a.severity,
		Category: a.category.String(), Title: a.words.Title, Message: a.words.Message, Detail: a.detail, Action: action}
}

func (g *Guard) tell(ctx context.Context, a alert) error {
	action := lookAt(a.provider)
	if a.category == resilience.Auth || a.category == resilience.Config {
		action = notify.Action{Label: "Reconnect", URL: "/connect/" + a.provider.Name}
	}
	return g.Notifier.Open(ctx, a.notification(a.connection.User, a.connection.Generation, action))
}

func lookAt(p *providers.Provider) notify.Action {
	return notify.Action{Label: "Look at it", URL: "/connections/" + p.Name}
}

// tellAdmins tells every administrator once, whoever's connection met the cause.
func (g *Guard) tellAdmins(ctx context.Context, a alert) error {
	admins, err := g.Store.Admins(ctx)
	action := notify.Action{Label: "Open settings", URL: "/settings"}
	if a.page != "" {
		action = notify.Action{Label: "Look at it", URL: a.page}
	}
	for _, id := range admins {
		n := a.notification(id, 0, action)
		if id == a.connection.User && a.category == resilience.Contract { // their own, where they can have it tried again
			n.Action = lookAt(a.provider)
		}
		err = errors.Join(err, g.Notifier.Open(ctx, n))
	}
	return err
}

// consequence draws what has to be drawn once. What cannot be stored now is owed.
func (g *Guard) consequence(ctx context.Context, key resilience.Key, draw func(context.Context) error) error {
	err := draw(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.owed, key)
	if err != nil {
		if g.owed == nil {
			g.owed = map[resilience.Key]func(context.Context) error{}
		}
		g.owed[key] = draw
	}
	return err
}

// settle draws the consequence that is owed for a stream.
func (g *Guard) settle(ctx context.Context, key resilience.Key) error {
	g.mu.Lock()
	draw := g.owed[key]
	g.mu.Unlock()
	if draw == nil {
		return nil
	}
	return g.consequence(ctx, key, draw)
}

// unsettle notes that the alerts of everything that a failure concerns may be open from now on.
func (g *Guard) unsettle(p *providers.Provider, c library.Connection, ch resilience.Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ch.State.Scope == resilience.ScopeApp {
		clear(g.settled)
		return
	}
	for _, stream := range p.Guarded() {
		delete(g.settled, keyOf(c, stream))
	}
}

// disprove closes the alerts that a success of one stream disproves: those about that stream, about the connection as
// a whole, and about the app.
func (g *Guard) disprove(ctx context.Context, p *providers.Provider, c library.Connection, key resilience.Key) error {
	g.mu.Lock()
	done := g.settled[key]
	delete(g.owed, key)
	g.mu.Unlock()
	if done {
		return nil
	}
	g.telling.Lock()
	defer g.telling.Unlock()
	if g.Backoff.State(key).Kind != resilience.Ready { // a failure has come between
		return nil
	}
	own, admins := causesOf(c.User, key.Stream)
	if !slices.ContainsFunc(p.Guarded(), func(stream string) bool { return g.Backoff.State(keyOf(c, stream)).Kind != resilience.Ready }) {
		own = append(own, notify.CauseStill) // one warning for all streams goes when the last of them works again
	}
	err := errors.Join(g.Notifier.Resolve(ctx, c.User, p.Name, own...), g.Notifier.Resolve(ctx, 0, p.Name, append(admins, appCauses...)...))
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.settled == nil {
		g.settled = map[resilience.Key]bool{}
	}
	g.settled[key] = true
	return nil
}

// causesOf are the causes of alerts about one stream of a connection and about the connection as a whole: its person's
// own, and the administrators'.
func causesOf(user int64, stream string) (own, admins []string) {
	for _, what := range []string{resilience.Auth.String(), resilience.Permission.String(), resilience.Config.String(), resilience.Contract.String()} {
		for _, scope := range []resilience.Scope{resilience.ScopeConnection, resilience.ScopeStream} {
			cause := notify.Cause(what, scope, stream)
			own, admins = append(own, cause), append(admins, notify.Of(cause, user))
		}
	}
	return own, admins
}

// appCauses are the causes that speak about the installation as a whole; any call that succeeds disproves them.
var appCauses = []string{"config:app", "auth:app", "permission:app", notify.CauseQuota}

// closeAll closes every alert about a connection that has been renewed or removed.
func (g *Guard) closeAll(ctx context.Context, p *providers.Provider, user int64) error {
	err := g.Notifier.Resolve(ctx, user, p.Name)
	for _, stream := range p.Guarded() {
		_, admins := causesOf(user, stream)
		err = errors.Join(err, g.Notifier.Resolve(ctx, 0, p.Name, admins...))
	}
	return err
}

// publishToAll tells everybody who shares the app of a connection that its state has changed.
func (g *Guard) publishToAll(ctx context.Context, c library.Connection) error {
	all, err := g.Store.Connections(ctx)
	for _, other := range all {
		if other.Provider == c.Provider && other.App == c.App {
			g.Bus.Publish(other.User, events.Event{Type: events.Connection, Provider: c.Provider})
		}
	}
	return err
}

func appKey(c library.Connection) resilience.Key {
	return resilience.Key{Provider: c.Provider, App: c.App}
}

func (g *Guard) adviseApp(c library.Connection, advice string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.advice == nil {
		g.advice = map[resilience.Key]string{}
	}
	g.advice[appKey(c)] = advice
}

func (g *Guard) appAdvice(c library.Connection) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.advice[appKey(c)]
}
