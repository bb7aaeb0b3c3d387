package sync

import (
	"context"
	"errors"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// ends are the notices before an authorization ends by itself, the nearest first (product page: 30, 7 and 1 days).
var ends = []struct {
	ahead    time.Duration
	cause    string
	severity notify.Severity
}{
	{24 * time.Hour, notify.CauseEnds1, notify.Warning},
	{7 * 24 * time.Hour, notify.CauseEnds7, notify.Warning},
	{30 * 24 * time.Hour, notify.CauseEnds30, notify.Info},
}

// announceEnds tells people in time that an authorization will end. Each notice is opened once per credential, and
// takes the place of the one before it.
func (s *Syncer) announceEnds(ctx context.Context) error {
	connections, err := s.store.Connections(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range connections {
		p := s.guard.Registry.Get(c.Provider)
		left := time.Until(c.ExpiresAt)
		if p == nil || p.OAuth == nil || c.ExpiresAt.IsZero() || left <= 0 || s.guard.Backoff.State(keyOf(c, "")).Kind == resilience.Stopped {
			continue
		}
		errs = append(errs, s.announceEnd(ctx, p, c, left))
	}
	return errors.Join(errs...)
}

func (s *Syncer) announceEnd(ctx context.Context, p *providers.Provider, c library.Connection, left time.Duration) error {
	for i, end := range ends {
		if left > end.ahead {
			continue
		}
		w := notify.Ending(p, c)
		err := s.guard.Notifier.Open(ctx, notify.Notification{User: c.User, Provider: c.Provider, Cause: end.cause, Generation: c.Generation,
			Severity: end.severity, Category: "auth", Title: w.Title, Message: w.Message, Action: notify.Action{Label: "Reconnect", URL: "/connect/" + p.Name}})
		for _, earlier := range ends[i+1:] {
			err = errors.Join(err, s.guard.Notifier.Resolve(ctx, c.User, c.Provider, earlier.cause))
		}
		return err
	}
	return nil
}
