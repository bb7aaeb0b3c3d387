package connections

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

func TestRhythmInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Second: "every second",
		90 * time.Second: "every 90 seconds", time.Minute: "every minute", 2 * time.Hour: "every 2 hours", 0: ""} {
		require.Equal(t, want, rhythm(d).String())
	}
}

func TestReconnectLeadsToTheSameConnection(t *testing.T) {
	t.Parallel()
	actions := actionsFor(t.Context(), syncer.Status{Condition: syncer.NeedsReconnect,
		Connection: library.Connection{ID: "navidrome-2"},
		Provider:   &providers.Provider{Description: providers.Description{Name: "navidrome"}},
		State:      resilience.State{Kind: resilience.Stopped, Category: resilience.Auth}})
	require.Equal(t, "/connect/navidrome-2", actions[0].URL)
}
