package sync

import (
	"context"
	"errors"

	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/resilience"
)

// UplinkChanged tells the administrators that our own connection to the internet is lost, or takes that back. Everybody's
// pages look again.
func (g *Guard) UplinkChanged(ctx context.Context, offline bool) {
	g.noteUplink(ctx, offline)
	var err error
	if offline {
		g.Log.Warn("uplink lost")
		admins, listErr := g.Store.Admins(ctx)
		err = listErr
		for _, id := range admins {
			words := notify.WhenOffline()
			err = errors.Join(err, g.Notifier.Open(ctx, notify.Notification{User: id, Cause: notify.CauseOffline, Severity: notify.Warning,
				Category: resilience.Network.String(), Title: words.Title, Message: words.Message, Action: notify.Action{Label: "Look at it", URL: "/"}}))
		}
	} else {
		g.Log.Info("uplink there")
		err = g.Notifier.Resolve(ctx, 0, "", notify.CauseOffline)
	}
	all, listErr := g.Store.Connections(ctx)
	for _, c := range all {
		g.Bus.Publish(c.User, events.Event{Type: events.Connection, Provider: c.Provider})
	}
	if err = errors.Join(err, listErr); err != nil {
		g.Log.Error("state of the uplink cannot be told", "err", err)
	}
}

// BreakerChanged logs a change of a breaker, and lets the administrators' pages look again.
func (g *Guard) BreakerChanged(ctx context.Context, c resilience.BreakerChange) {
	g.Log.Info("breaker changed", "endpoint", c.Endpoint, "from", c.From.String(), "to", c.To.String())
	switch { // one that a person resets is noted as theirs
	case c.From == resilience.BreakerClosed:
		g.note(ctx, activity.Entry{Action: activity.BreakerOpened, Provider: c.Provider, Subject: c.Endpoint})
	case c.From == resilience.BreakerHalfOpen && c.To == resilience.BreakerClosed:
		g.note(ctx, activity.Entry{Action: activity.BreakerClosed, Provider: c.Provider, Subject: c.Endpoint})
	}
	admins, err := g.Store.Admins(ctx)
	if err != nil {
		g.Log.Error("change of a breaker cannot be told", "endpoint", c.Endpoint, "err", err)
	}
	for _, id := range admins {
		g.Bus.Publish(id, events.Event{Type: events.Breakers})
	}
}
