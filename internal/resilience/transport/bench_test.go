package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

func TestTheDecisionsOfAGoodCallAllocateNothing(t *testing.T) {
	breakers, paces := NewBreakers(BreakerOptions{}), NewPaces(map[string]float64{"api.example.org": 1e9})
	uplink := NewUplink(UplinkOptions{Upstreams: map[string]string{"api.example.org": "spotify"}})
	permit, _, _ := backoff.New(backoff.Options{}).Acquire(backofftest.SpotifyOf(1, "listens"), 1)
	decide := func() {
		_ = permit.Ask("GET /v1/me", 1)
		p, _, _ := breakers.enter("spotify", "api.example.org", "GET /v1/me", false)
		trip, _, _ := uplink.enter("api.example.org")
		paces.reserve("api.example.org", "")
		trip.leave(resilience.Verdict{})
		p.done(resilience.Verdict{})
	}
	decide() // the first call makes the endpoint known
	require.Zero(t, testing.AllocsPerRun(100, decide))
}
