package alerts_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/alerts"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

// TestAChangedBreakerIsLogged: who follows the log sees what a breaker did, also when a person resets it.
func TestAChangedBreakerIsLogged(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	m, bus := &memoryStore{}, &events.Bus{}
	log := slog.New(slog.NewTextHandler(&out, nil))
	told := alerts.New(alerts.Options{Store: m, Notifier: notify.New(m, bus, nil), Bus: bus, Log: log})
	changed := func(c transport.BreakerChange) { told.BreakerChanged(t.Context(), c) }
	breakers := transport.NewBreakers(transport.BreakerOptions{Failures: 1, Changed: changed})
	down := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
	client := transport.NewClient(&transport.Transport{Base: upstream(down), Breakers: breakers})
	call := resilience.Call{Client: client, User: admin, Provider: "spotify"}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.spotify.com/v1/me", nil)
	require.NoError(t, err)
	_, err = call.Send(req, resilience.Endpoint{Name: "GET /v1/me"})
	require.Error(t, err)
	_, ok := breakers.Reset("GET api.spotify.com/v1/me")
	require.True(t, ok)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	const line = `level=INFO msg="breaker changed" endpoint="GET api.spotify.com/v1/me" `
	require.Contains(t, lines[0], line+"from=closed to=open")
	require.Contains(t, lines[1], line+"from=open to=closed")
}

// upstream is the far side of the network.
type upstream func(*http.Request) (*http.Response, error)

func (u upstream) RoundTrip(req *http.Request) (*http.Response, error) { return u(req) }
