package sync_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

// TestImpossibleTimesAreCountedOnce: a play from the year 3000 neither stays on top nor hides what is played later.
func TestImpossibleTimesAreCountedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.PlayOn("listenbrainz", "alice", "Of old", time.Unix(1, 0))
		up.PlayOn("listenbrainz", "alice", "Jóga", time.Now().Add(-time.Minute))
		up.PlayOn("listenbrainz", "alice", "In the year 2525", time.Date(2525, 1, 1, 0, 0, 0, 0, time.UTC))
		up.PlayOn("listenbrainz", "alice", "3000", time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		note := func() string { return e.Status(user, "listenbrainz").Streams[0].Note.String() }
		require.Equal(t, 1, e.Listens(user))
		require.Equal(t, "3 listens were rejected: their times can't be right.", note())
		for i := range 5 {
			up.PlayOn("listenbrainz", "alice", fmt.Sprint("Later ", i), time.Now())
			time.Sleep(10 * time.Minute)
		}
		require.Equal(t, 6, e.Listens(user))
		require.Equal(t, "3 listens were rejected: their times can't be right.", note(), "each counts once")
		page, _, err := e.Store.Listens(t.Context(), user, "", 10)
		require.NoError(t, err)
		require.Equal(t, "Later 4", page[0].Title)
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)
	})
}

// TestAHugeTitleIsStoredCut and stays one listen, however often it is read.
func TestAHugeTitleIsStoredCut(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.Play("alice", "A\u202e "+strings.Repeat("very ", 20_000)+"long title", time.Now().Add(-time.Minute))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		time.Sleep(time.Hour)
		page, _, err := e.Store.Listens(t.Context(), user, "", 10)
		require.NoError(t, err)
		require.Len(t, page, 1, "%+v", e.Status(user, "listenbrainz"))
		require.Len(t, page[0].Sources, 2)
		require.Equal(t, 500, utf8.RuneCountInString(page[0].Title))
		require.Regexp(t, `^A very very .*…$`, page[0].Title)
	})
}
