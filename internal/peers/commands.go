package peers

import (
	"context"
	"log/slog"

	"reprise/internal/events"
)

// HearCommands has open pages ask whether their session is still good each time that a command such as reset-password
// has changed who may sign in, until ctx ends. What servers change, the bus says.
func HearCommands(ctx context.Context, hear func(ctx context.Context, changed func()) error, bus *events.Bus,
	log *slog.Logger) error {
	err := hear(ctx, func() { bus.Relay(0, events.Event{Type: events.Access}) })
	if err != nil {
		log.Warn("open pages notice only after minutes what a command such as reset-password changes", "err", err)
	}
	return nil
}
