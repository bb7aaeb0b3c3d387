package sync

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/events"
	"reprise/internal/resilience/backoff"
)

// TestARunPutOffMidwayFreesTheOthers: others waited for what it would find out, and now find out themselves.
func TestARunPutOffMidwayFreesTheOthers(t *testing.T) {
	t.Parallel()
	s := NewSyncer(Options{}, NewGuard(GuardOptions{Log: slog.New(slog.DiscardHandler)}), nil, &events.Bus{})
	listens, playlists := Key{1, "spotify", "listens"}, Key{1, "spotify", "playlists"}
	s.runs[listens] = &run{}
	s.requeueLocked(playlists, &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Waiting}})
	require.True(t, s.behind[playlists])
	delete(s.runs, listens) // its second call met an open breaker
	s.requeueLocked(listens, &backoff.NotBeforeError{Endpoint: "GET /v1/me",
		State: backoff.State{Kind: backoff.Waiting, Until: time.Now().Add(time.Minute)}})
	require.Contains(t, s.queue.at, listens)
	require.Contains(t, s.queue.at, playlists)
}
