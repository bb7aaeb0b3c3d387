package feed

import (
	"context"
	"time"

	"reprise/internal/events"
)

// lookEvery is how often the database is asked whether passwords have changed, while a stream is open.
const lookEvery = time.Second / 2

// Run ends the streams of those whose password another process has changed, as server reset-password does, until ctx
// ends. While no stream is open, it does nothing. What this process changes, the bus says at once.
func (h *Handler) Run(ctx context.Context) error {
	last, err := h.Store.PasswordChanges(ctx)
	if err != nil {
		h.Core.Log.Error("changes of passwords cannot be counted", "err", err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.opened:
			last = h.watchPasswords(ctx, last)
		}
	}
}

// watchPasswords has every stream ask for its session again after a change, while there are streams. It returns the
// number of changes that it has seen.
func (h *Handler) watchPasswords(ctx context.Context, last int64) int64 {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for h.Bus.Watchers() > 0 {
		select {
		case <-ctx.Done():
			return last
		case <-every.C:
		}
		now, err := h.Store.PasswordChanges(ctx)
		if err != nil || now == last { // each stream also asks with every ping
			continue
		}
		last = now
		h.Bus.PublishAll(events.Event{Type: events.Access})
	}
	return last
}
