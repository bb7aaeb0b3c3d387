package sync_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience/keys"
	syncer "reprise/internal/sync"
)

// New settings take the place of the old ones while the server runs: a run that is under way finishes with those it
// began with.
func TestAProviderIsReplacedBetweenTwoRuns(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		slow := func(req *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return nil, nil // then as if nothing was wrong
		}
		up.Fail("listenbrainz", slow)
		up.Fail("lb.example.org", func(req *http.Request) (*http.Response, error) {
			return enginetest.Answer(req, http.StatusServiceUnavailable, `{}`), nil
		})
		before := len(up.Calls("listenbrainz"))
		require.NoError(t, e.Connections.SyncNow(t.Context(), user, "listenbrainz"))
		time.Sleep(time.Second)
		begun := len(up.Calls("listenbrainz"))
		require.Greater(t, begun, before, "a run is under way")

		old := e.Registry.Get("listenbrainz")
		moved := providertest.New(registry.Describe("listenbrainz"), "api_url", "https://lb.example.org")
		e.Registry.Replace(moved)
		require.Equal(t, "lb.example.org", moved.App(library.Credentials{}), "others share other limits from now on")
		require.NotEqual(t, old.App(library.Credentials{}), moved.App(library.Credentials{}))
		time.Sleep(time.Minute)
		finished := len(up.Calls("listenbrainz"))
		require.Greater(t, finished, begun, "it goes on where it began")
		require.Empty(t, up.Calls("lb.example.org"))

		require.NoError(t, e.Connections.SyncNow(t.Context(), user, "listenbrainz"))
		time.Sleep(time.Minute)
		require.NotEmpty(t, up.Calls("lb.example.org"), "the next one takes the new settings")
		require.Len(t, up.Calls("listenbrainz"), finished)
	})
}

// Nobody is stopped for keys that are no longer the installation's.
func TestNewKeysEndTheStopForTheOldOnes(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, member int64) {
		refuseAll(up, "invalid")
		up.Like("alice", "Another")
		time.Sleep(20 * time.Minute)
		require.Equal(t, syncer.NeedsAdmin, e.Status(admin, "youtube").Condition)
		require.Equal(t, syncer.NeedsAdmin, e.Status(member, "youtube").Condition)
		before := len(up.KeyCalls())
		p := e.NewYouTube([]keys.Key{{Secret: "youtube-key-dddd"}})
		require.NoError(t, e.Connections.Replace(t.Context(), e.Registry, p))
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
		require.Equal(t, syncer.Healthy, e.Status(member, "youtube").Condition)
		require.Equal(t, []string{"dddd"}, slices.Compact(up.KeyCalls()[before:]))
	})
}

func TestAReplacedProviderMovesItsConnections(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		up.Fail("listenbrainz", func(req *http.Request) (*http.Response, error) {
			resp := enginetest.Answer(req, http.StatusTooManyRequests, `{}`)
			resp.Header.Set("Retry-After", "3600")
			return resp, nil
		})
		require.NoError(t, e.Connections.SyncNow(t.Context(), user, "listenbrainz"))
		enginetest.Settle()
		require.Equal(t, syncer.Held, e.Status(user, "listenbrainz").Condition)
		up.Fail("lb.example.org", func(req *http.Request) (*http.Response, error) {
			return enginetest.Answer(req, http.StatusServiceUnavailable, `{}`), nil
		})
		moved := providertest.New(registry.Describe("listenbrainz"), "api_url", "https://lb.example.org")
		require.NoError(t, e.Connections.Replace(t.Context(), e.Registry, moved))
		enginetest.Settle()
		c, err := e.Store.Connection(t.Context(), user, "listenbrainz")
		require.NoError(t, err)
		require.Equal(t, "lb.example.org", c.App)
		require.NotEmpty(t, up.Calls("lb.example.org"), "the wait was for the old server")
	})
}
