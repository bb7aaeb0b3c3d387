package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// The pace, the uplink and the metrics follow a provider to its new address.
func TestCallsFollowAReplacedProvider(t *testing.T) {
	t.Parallel()
	a := wired(t)
	const moved = "api.new.example.org"
	a.registry.Replace(providertest.New(registry.Describe("listenbrainz"), "api_url", "https://"+moved, "rate", "0.01"))
	call := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+moved+"/1/validate-token", nil)
		require.NoError(t, err)
		_, err = resilience.Call{Client: a.client, User: 1, Provider: "listenbrainz"}.
			Send(req, resilience.Endpoint{Name: "GET /1/validate-token"})
		return err
	}
	require.Equal(t, resilience.Upstream, resilience.VerdictOf(call()).Category)
	late := resilience.VerdictOf(call())
	require.Equal(t, resilience.RateLimit, late.Category, "the new pace")
	require.Greater(t, time.Until(late.NotBefore), time.Minute)
	require.Equal(t, 1.0, a.scrape(t)[`upstream_attempts_total{endpoint="GET `+moved+
		`/1/validate-token",outcome="retriable",provider="listenbrainz"}`])
}
