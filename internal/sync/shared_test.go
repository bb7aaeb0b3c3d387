package sync_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
)

// TestTwoStreamsThatMeetTheSameRefusal: both wait for one token, whose endpoint is not asked now; each comes
// back at a time
// of its own.
func TestTwoStreamsThatMeetTheSameRefusal(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, _ int64) {
		tr := e.Client.Transport.(*transport.Transport)
		tr.Paces = transport.NewPaces(map[string]float64{"accounts.spotify.com": 0.001})
		user := e.AddUser("Zed", accounts.Member)
		access, refresh := up.Consent("zed")
		now := time.Now()
		_, err := e.Connections.ConnectOAuth(context.Background(), e.Registry.Get("spotify"), user, oauth.Grant{
			Credentials: oauth.Credentials(&oauth2.Token{AccessToken: access, RefreshToken: refresh,
				Expiry: now.Add(10 * time.Second)}), AuthorizedAt: now})
		require.NoError(t, err)
		time.Sleep(20 * time.Second)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://accounts.spotify.com/x", nil)
		require.NoError(t, err)
		// It takes the only turn for a long while.
		_, _ = resilience.Call{Client: e.Client}.Send(req, resilience.Endpoint{Name: "GET /x"})
		require.NoError(t, e.Connections.SyncNow(t.Context(), user, "spotify"))
		time.Sleep(20 * time.Second)
		s := e.Status(user, "spotify")
		require.Equal(t, backoff.Waiting, s.State.Kind)
		require.Equal(t, resilience.RateLimit, s.State.Category)
	})
}

func TestTheWordsOfAWaitAreThoseOfItsReason(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		time.Sleep(10 * time.Second)
		c, err := e.Store.Connection(t.Context(), user, "listenbrainz")
		require.NoError(t, err)
		refuse := func(why resilience.Category, offline bool) {
			err := e.Guard.Do(t.Context(), providers.OfConnection(c, library.Deliveries),
				func(context.Context, resilience.Call, providers.Adapter) error {
					return &backoff.NotBeforeError{Endpoint: "POST /1/submit-listens", Offline: offline,
						State: backoff.State{Kind: backoff.Waiting, Category: why,
							Scope: resilience.ScopeEndpoint,
							Until: time.Now().Add(time.Minute)}}
				})
			require.Error(t, err)
		}
		refuse(resilience.Network, true)
		require.Contains(t, e.Status(user, "listenbrainz").Sending.Words.Message.String(),
			"This server's own internet connection")
		time.Sleep(80 * time.Second)
		refuse(resilience.CircuitOpen, false)
		s := e.Status(user, "listenbrainz").Sending
		require.NotContains(t, s.Words.Message.String(), "This server's own internet connection")
		require.NotContains(t, s.Detail, "uplink")
	})
}
