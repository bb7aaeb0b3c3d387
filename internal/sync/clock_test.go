package sync

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
)

// TestASetClockHidesNoUnreadListens: a listen that was stored after the latest reading waits until the service has been
// read again, whatever happened to the clock in between. What was read after it does not.
func TestASetClockHidesNoUnreadListens(t *testing.T) {
	t.Parallel()
	for name, d := range clocktest.Moves {
		radio := &providers.Provider{Description: providers.Description{Name: "radio",
			Streams: []string{library.Listens}}}
		g := NewGuard(GuardOptions{Backoff: backoff.New(backoff.Options{}),
			Log: slog.New(slog.DiscardHandler), Registry: providers.NewRegistry(radio)})
		s := NewSyncer(Options{}, g, nil, &events.Bus{})
		c := library.Connection{User: 1, ID: "radio"}
		s.reader.last.finish(Key{1, "radio", library.Listens}, time.Now(), false)
		last := s.reader.last.of[Key{1, "radio", library.Listens}]
		clocktest.Set(&last, d)
		clocktest.Pass(&last, time.Minute)
		s.reader.last.of[Key{1, "radio", library.Listens}] = last
		ago := func(minutes time.Duration) time.Time { return time.Now().Add(-minutes * time.Minute).Round(0) }
		deliveries := DeliveryGuard{g, s}
		require.Error(t, deliveries.ReadSince(c, ago(0)), name)
		require.NoError(t, deliveries.ReadSince(c, ago(2)), name)
	}
}
