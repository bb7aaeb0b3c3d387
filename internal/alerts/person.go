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
	a.Mending(ctx, e.User, e.Connection)
	a.journal.renew(e.User, e.Connection)
	a.journal.note(ctx, e)
}

// Mending notes that the actor of the context has done something about a trouble of a connection or, without a user,
// of a provider. If it is over soon, their channels do not say so: they have seen it.
func (a *Alerts) Mending(ctx context.Context, user int64, conn library.ConnectionID) {
	a.memory.mend(user, conn, activity.ActorOf(ctx).ID)
}

// Connected closes every alert about a connection that has been made or renewed, and about its app, which that has
// proved to work.
func (a *Alerts) Connected(ctx context.Context, p *providers.Provider, c library.Connection) error {
	app := library.ConnectionID(p.Name)
	a.journal.forget(c.User, c.ID)
	a.journal.forget(0, app)
	a.memory.forget(c.User, c.ID)
	a.Mending(ctx, c.User, c.ID) // its first run closes what is left
	by := activity.ActorOf(ctx).ID
	return a.notifier.Close(ctx, append(closings(p, c.User, c.ID, by), notify.Closing{Connection: app,
		Causes: appCauses, MendedBy: by})...)
}

// Disconnected closes every alert about a connection that has been removed, and about its app if that was its last one.
func (a *Alerts) Disconnected(ctx context.Context, p *providers.Provider, user int64,
	conn library.ConnectionID) error {
	a.journal.forget(user, conn)
	a.memory.forget(user, conn)
	by := activity.ActorOf(ctx).ID // a connection that is gone does not work again
	closed := closings(p, user, conn, by)
	closed = append(closed, notify.Closing{User: user, Connection: conn,
		Causes: []string{pastCause, notify.LostCause, lovesCause}},
		notify.Closing{User: user, Connection: conn, Begins: append([]string{lossCauses}, notify.CopyCauses...)})
	all, err := a.store.Outlines(ctx)
	if err == nil && !slices.ContainsFunc(all, func(l library.Outline) bool { return l.Provider() == p.Name }) {
		closed = append(closed, notify.Closing{Connection: library.ConnectionID(p.Name), Causes: appCauses,
			MendedBy: by})
	}
	return errors.Join(err, a.notifier.Close(ctx, closed...))
}

// closings are all alerts about one connection, mended by a person.
func closings(p *providers.Provider, user int64, conn library.ConnectionID, by int64) []notify.Closing {
	all := []notify.Closing{{User: user, Connection: conn, MendedBy: by}}
	for _, stream := range p.Guarded() {
		_, admins := causesOf(user, stream)
		all = append(all, notify.Closing{Connection: conn, Causes: admins, MendedBy: by})
	}
	return all
}

// notice is one that is opened some time before an authorization ends by itself.
type notice struct {
	ahead    time.Duration
	cause    string
	severity notify.Severity
}

// FirstNotice is how long before the end of an authorization Ending has something to say.
const FirstNotice = 30 * 24 * time.Hour

// notices are ordered by time, the nearest to the end first.
var notices = []notice{
	{24 * time.Hour, notify.CauseEnds1, notify.Warning},
	{7 * 24 * time.Hour, notify.CauseEnds7, notify.Warning},
	{FirstNotice, notify.CauseEnds30, notify.Info},
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
	var earlier []string
	for _, n := range notices[i+1:] {
		earlier = append(earlier, n.cause)
	}
	if len(earlier) > 0 {
		err = errors.Join(err, a.notifier.Resolve(ctx, c.User, c.ID, earlier...))
	}
	return err
}

// pastCause is the cause of the notification that a service has changed a person's past, so that they have to decide;
// see package ledger.
const pastCause = "past"

// Histories says what people have to decide about their histories.
type Histories interface {
	// AsksOfPast reports whether a person has to decide about a month of a connection's history.
	AsksOfPast(ctx context.Context, user int64, conn library.ConnectionID) (bool, error)
	// LostPlays returns the times whose plays of a connection were lost and that no imported export covers.
	LostPlays(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Gap, error)
}

// History tells a person that a service has changed their past, or that they need not decide any more.
func (a *Alerts) History(ctx context.Context, p *providers.Provider, c library.Connection, in Histories) error {
	asks, err := in.AsksOfPast(ctx, c.User, c.ID)
	if err != nil {
		return err
	}
	if !asks {
		return a.notifier.Resolve(ctx, c.User, c.ID, pastCause)
	}
	name := p.Label(c)
	return a.notifier.Open(ctx, notify.Notification{User: c.User, Connection: c.ID, Cause: pastCause,
		Severity: notify.Info, Title: words.New("ledger.alert.gone_title", "Name", name),
		Message: words.New("ledger.alert.gone", "Name", name),
		Action:  notify.Action{Label: words.New("ledger.alert.look"), URL: "/complete"}})
}

// Lost tells a person that plays of a time were lost, and what could bring them back.
func (a *Alerts) Lost(ctx context.Context, p *providers.Provider, c library.Connection, in Histories) error {
	all, err := in.LostPlays(ctx, c.User, c.ID)
	if err != nil || len(all) == 0 {
		return err
	}
	name := p.Label(c)
	return a.notifier.Open(ctx, notify.Notification{User: c.User, Connection: c.ID, Cause: notify.LostCause,
		Severity: notify.Warning, Title: words.New("ledger.alert.lost_title", "Name", name),
		Message: words.New("ledger.alert.lost", "Name", name, "From", all[0].From, "To", all[0].LostTo),
		Action:  notify.Action{Label: words.New("ledger.alert.look"), URL: "/complete"}})
}

// lovesCause is the cause of the notification that a service doesn't list much of what a person loves any more, so that
// they have to say what that means.
const lovesCause = "loves"

// Loves says what people have to decide about what they love.
type Loves interface {
	// GoneLoves returns what a connection's service doesn't list any more.
	GoneLoves(ctx context.Context, user int64, conn library.ConnectionID) ([]library.LoveThere, error)
}

// Unloved tells a person that a service doesn't list much of what they love any more, or that they need not decide.
func (a *Alerts) Unloved(ctx context.Context, p *providers.Provider, c library.Connection, in Loves) error {
	gone, err := in.GoneLoves(ctx, c.User, c.ID)
	if err != nil {
		return err
	}
	if len(gone) == 0 {
		return a.notifier.Resolve(ctx, c.User, c.ID, lovesCause)
	}
	name := p.Label(c)
	return a.notifier.Open(ctx, notify.Notification{User: c.User, Connection: c.ID, Cause: lovesCause,
		Severity: notify.Warning, Title: words.New("loves.alert.title", "Name", name),
		Message: words.New("loves.alert.message", "Name", name, "Count", len(gone)),
		Action:  notify.Action{Label: words.New("alert.action.decide"), URL: "/loved/at/" + string(c.ID)}})
}
