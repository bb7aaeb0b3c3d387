package sync_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

// saying answers every request with a body.
func saying(body string) enginetest.Fault {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
			ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// TestAHostileServerStopsItsOwnStream: its answer would fill the server's memory; everybody else is served.
func TestAHostileServerStopsItsOwnStream(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, alice int64) {
		bob := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectListenBrainz(alice, "alice"))
		require.NoError(t, e.ConnectSpotify(up, bob, "bob"))
		enginetest.Settle()
		hostile := `{"payload":{"count":1,"listens":[` + strings.Repeat("{},", 3_400_000) + `{}]}}`
		up.FailPath("listenbrainz", "/1/user/alice/listens", saying(hostile))
		time.Sleep(time.Hour)
		s := e.Status(alice, "listenbrainz")
		require.Equal(t, syncer.NeedsAdmin, s.Streams[0].Condition)
		require.Equal(t, resilience.Contract, s.State.Category)
		require.Contains(t, s.Detail, "unexpected answer: a list of more than 20,000 elements")
		require.Len(t, e.Open(alice), 1)
		up.Play("bob", "Hyperballad", time.Now())
		time.Sleep(10 * time.Minute)
		require.Equal(t, 1, e.Listens(bob))
		require.Equal(t, syncer.Healthy, e.Status(bob, "spotify").Condition)
	})
}
