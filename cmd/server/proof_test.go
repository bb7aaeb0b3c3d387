package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/resilience/transport"
)

// Somebody mistypes the address of their server again and again, and hears so each time: afterwards no service is ill.
func TestAMistakeInAFormIsNoIllness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := wired(t)
		u, err := a.accounts.Create(t.Context(), "Ann", "a long enough password", accounts.Admin, true)
		require.NoError(t, err)
		for range 6 {
			_, err := a.connections.Connect(t.Context(), a.registry.Get("navidrome"), library.Connection{User: u.ID,
				ID: "navidrome", Credentials: library.Credentials{"url": "http://musik.example.org", "username": "ann",
					"password": "secret"}})
			require.Error(t, err)
		}
		endpoints, _, err := a.counters.Rollup.Health(t.Context())
		require.NoError(t, err)
		require.Empty(t, endpoints)
		for _, b := range a.server.Breakers.Status() {
			require.Equal(t, transport.BreakerClosed, b.State, b.Endpoint)
		}
	})
}
