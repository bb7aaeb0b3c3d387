package connections

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

func TestRhythmInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Second: "every second", 90 * time.Second: "every 90 seconds",
		time.Minute: "every minute", 2 * time.Hour: "every 2 hours", 0: ""} {
		require.Equal(t, want, rhythm(t.Context(), d))
	}
	require.Equal(t, "alle 5 Minuten", rhythm(german(t), 5*time.Minute))
}

func TestReconnectLeadsToTheSameConnection(t *testing.T) {
	t.Parallel()
	actions := actionsFor(t.Context(), syncer.Status{Condition: syncer.NeedsReconnect,
		Connection: library.Connection{ID: "navidrome-2"},
		Provider:   &providers.Provider{Description: providers.Description{Name: "navidrome"}},
		State:      resilience.State{Kind: resilience.Stopped, Category: resilience.Auth}})
	require.Equal(t, "/connect/navidrome-2", actions[0].URL)
}

// reads returns a provider that reads streams.
func reads(streams ...string) *providers.Provider {
	p := &providers.Provider{Description: providers.Description{Name: "spotify", DisplayName: "Spotify"}}
	p.Streams = streams
	return p
}

func TestPausedSaysWhatWaits(t *testing.T) {
	t.Parallel()
	st := syncer.Status{Condition: syncer.Paused, Provider: reads(library.Listens),
		Waiting: delivery.Waiting{Listens: 1200, Playlists: 1}}
	m, ok := plainMessage(t.Context(), st)
	require.True(t, ok)
	require.Contains(t, m, "Waiting to be sent: 1,200 listens, 1 playlist.")
	_, ok = plainMessage(t.Context(), syncer.Status{Condition: syncer.Held, Provider: reads()})
	require.False(t, ok, "its failure has a sentence")
}

func TestNextAttemptInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		st    syncer.StreamStatus
		every time.Duration
		want  string
	}{
		{syncer.StreamStatus{Condition: syncer.NeedsReconnect}, 0, "after you reconnect"},
		{syncer.StreamStatus{Condition: syncer.NeedsAdmin}, 0, "after the administrator has acted"},
		{syncer.StreamStatus{Condition: syncer.Paused}, 0, "after you resume"},
		{syncer.StreamStatus{Condition: syncer.Syncing}, 0, "now"},
		{syncer.StreamStatus{Stream: library.Deliveries}, 0, "when there is something to send"},
		{syncer.StreamStatus{}, 5 * time.Minute, "about every 5 minutes"},
		{syncer.StreamStatus{}, 0, "when you press Sync now"},
	} {
		require.Equal(t, c.want, nextWords(t.Context(), c.st, c.every))
	}
}
