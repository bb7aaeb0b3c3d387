package alerts

import (
	"context"
	"errors"

	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
)

// UplinkChanged tells the administrators that our own connection to the internet is lost, or takes that back.
// Everybody's pages are refreshed.
func (a *Alerts) UplinkChanged(ctx context.Context, offline bool) {
	a.journal.uplink(ctx, offline)
	var err error
	if offline {
		a.log.Warn("uplink lost")
		err = a.teller.offline(ctx)
	} else {
		a.log.Info("uplink back")
		err = a.notifier.Resolve(ctx, 0, "", notify.CauseOffline)
	}
	all, listErr := a.store.Outlines(ctx)
	for _, c := range all {
		a.bus.Publish(c.User, events.Event{Type: events.Connection, Connection: c.ID})
	}
	if err = errors.Join(err, listErr); err != nil {
		a.log.Error("state of the uplink cannot be announced", "err", err)
	}
}

func (t teller) offline(ctx context.Context) error {
	w := notify.WhenOffline()
	told := notify.Notification{Cause: notify.CauseOffline, Severity: notify.Warning,
		Category: resilience.Network.String(), Title: w.Title, Message: w.Message,
		Action: notify.Action{Label: words.New("alert.action.details"), URL: "/"}}
	return t.notifier.OpenForAdmins(ctx, func(int64) notify.Notification { return told })
}

// BreakerChanged logs a change of a breaker, and refreshes the administrators' pages.
func (a *Alerts) BreakerChanged(ctx context.Context, c transport.BreakerChange) {
	a.log.Info("breaker changed", "endpoint", c.Endpoint, "from", c.From.String(), "to", c.To.String())
	switch { // a reset by a person is noted as theirs
	case c.From == transport.BreakerClosed:
		a.Note(ctx, activity.Entry{Action: activity.BreakerOpened, Connection: library.ConnectionID(c.Provider),
			Subject: c.Endpoint})
	case c.From == transport.BreakerHalfOpen && c.To == transport.BreakerClosed:
		a.Note(ctx, activity.Entry{Action: activity.BreakerClosed, Connection: library.ConnectionID(c.Provider),
			Subject: c.Endpoint})
	}
	admins, err := a.store.Admins(ctx)
	if err != nil {
		a.log.Error("change of a breaker cannot be announced", "endpoint", c.Endpoint, "err", err)
	}
	for _, id := range admins {
		a.bus.Publish(id, events.Event{Type: events.Breakers})
	}
}
