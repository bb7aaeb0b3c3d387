package alerts

import (
	"context"
	"errors"
	"slices"
	"time"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Note adds an entry to the activity log. A failure to do so is logged and stops nothing.
func (a *Alerts) Note(ctx context.Context, e activity.Entry) { a.journal.note(ctx, e) }

// Acted notes that a person has done something about a trouble of a connection or, without a user, of a provider. If
// the trouble goes on, that is noted once more.
func (a *Alerts) Acted(ctx context.Context, e activity.Entry) {
	a.journal.renew(e.User, e.Connection)
	a.journal.note(ctx, e)
}

// Connected closes every alert about a connection that has been made or renewed, and about its app, which that has
// proved to work.
func (a *Alerts) Connected(ctx context.Context, p *providers.Provider, c library.Connection) error {
	app := library.ConnectionID(p.Name)
	a.journal.forget(c.User, c.ID)
	a.journal.forget(0, app)
	a.memory.forget(c.User, c.ID)
	return errors.Join(a.teller.closeAll(ctx, p, c.User, c.ID), a.notifier.Resolve(ctx, 0, app, appCauses...))
}

// Disconnected closes every alert about a connection that has been removed, and about its app if that was its last one.
func (a *Alerts) Disconnected(
	ctx context.Context, p *providers.Provider, user int64, conn library.ConnectionID,
) error {
	a.journal.forget(user, conn)
	a.memory.forget(user, conn)
	err := a.teller.closeAll(ctx, p, user, conn)
	all, listErr := a.store.Connections(ctx)
	if listErr == nil && !slices.ContainsFunc(all, func(c library.Connection) bool { return c.Provider() == p.Name }) {
		err = errors.Join(err, a.notifier.Resolve(ctx, 0, library.ConnectionID(p.Name), appCauses...))
	}
	return err
}

// closeAll closes the alerts about one connection.
func (t teller) closeAll(
	ctx context.Context, p *providers.Provider, user int64, conn library.ConnectionID,
) error {
	err := t.notifier.Resolve(ctx, user, conn)
	for _, stream := range p.Guarded() {
		_, admins := causesOf(user, stream)
		err = errors.Join(err, t.notifier.Resolve(ctx, 0, conn, admins...))
	}
	return err
}

// notice is one that is opened some time before an authorization ends by itself.
type notice struct {
	ahead    time.Duration
	cause    string
	severity notify.Severity
}

// notices are ordered by time, the nearest to the end first.
var notices = []notice{
	{24 * time.Hour, notify.CauseEnds1, notify.Warning},
	{7 * 24 * time.Hour, notify.CauseEnds7, notify.Warning},
	{30 * 24 * time.Hour, notify.CauseEnds30, notify.Info},
}

// Ending tells a person in time that an authorization will end. Each notice is opened once per credential, and takes
// the place of the one before it.
func (a *Alerts) Ending(ctx context.Context, p *providers.Provider, c library.Connection) error {
	left := time.Until(c.ExpiresAt)
	i := slices.IndexFunc(notices, func(n notice) bool { return left <= n.ahead })
	if i < 0 {
		return nil
	}
	w := notify.Ending(p, c)
	err := a.notifier.Open(ctx, notify.Notification{User: c.User, Connection: c.ID, Cause: notices[i].cause,
		Generation: c.Generation, Severity: notices[i].severity, Category: resilience.Auth.String(), Title: w.Title,
		Message: w.Message, Action: notify.Action{Label: words.New("alert.action.reconnect"),
			URL: "/connect/" + string(c.ID)}})
	for _, earlier := range notices[i+1:] {
		err = errors.Join(err, a.notifier.Resolve(ctx, c.User, c.ID, earlier.cause))
	}
	return err
}
