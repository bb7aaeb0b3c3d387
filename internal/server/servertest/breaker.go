package servertest

import (
	"fmt"
	"net/http"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

// OpenBreaker opens the breaker of an endpoint of Spotify, through a transport whose far side fails.
func (h *Household) OpenBreaker() {
	h.T.Helper()
	breakers := transport.NewBreakers(transport.BreakerOptions{Failures: 2, Changed: h.Rollup.Breaker})
	h.Breakers = breakers
	h.Restart()
	client := transport.NewClient(&transport.Transport{Base: failing{}, Breakers: breakers})
	for range 2 {
		call := resilience.Call{Client: client, User: h.User, Provider: "spotify"}
		req, err := http.NewRequestWithContext(h.T.Context(), http.MethodGet, "https://api.spotify.com/v1/me", nil)
		require.NoError(h.T, err)
		_, err = call.Send(req, resilience.Endpoint{Name: "GET /v1/me"})
		require.Error(h.T, err)
	}
}

// failing is a network on which nothing can be reached.
type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("connection refused")
}
