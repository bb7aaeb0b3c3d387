package sync_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
	syncer "reprise/internal/sync"
)

// told keeps what a Transport tells of the attempts at one route.
type told struct {
	route string

	mu  sync.Mutex
	all []transport.Attempt
}

func (l *told) add(_ context.Context, a transport.Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.HasSuffix(a.Endpoint, l.route) {
		l.all = append(l.all, a)
	}
}

func (l *told) numbers() (all []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.all {
		all = append(all, a.Number)
	}
	l.all = nil
	return all
}

// TestTriesOfReadingAreNumbered: a stream that is read again after a failure goes on counting, also over the tries
// inside a call, and the log says how long each run has waited and until when the next one will.
//
// Promise: Each try is a numbered attempt: the log shows what was really sent.
func TestTriesOfReadingAreNumbered(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		of := &told{route: recent}
		up.Tune = func(tr *transport.Transport, _ *backoff.Options) { tr.Told = of.add }
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		log := logged(e)
		of.numbers()
		up.FailPath("spotify", recent, enginetest.Status(503))
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		time.Sleep(10 * time.Minute)
		numbers := of.numbers()
		require.Greater(t, len(numbers), 7, "some in the first call, then one in each run")
		for i, n := range numbers {
			require.Equal(t, i+1, n)
		}
		runs := log.lines(t, "run ended")
		require.Greater(t, len(runs), 3)
		require.EqualValues(t, 1, runs[0]["attempt"])
		require.NotContains(t, runs[0], "waited_ms", "nothing failed before")
		for i, run := range runs[1:] {
			require.EqualValues(t, len(numbers)-len(runs)+i+2, run["attempt"])
			before, now := moment(t, runs[i], "time"), moment(t, run, "time")
			require.InDelta(t, now.Sub(before).Milliseconds(), run["waited_ms"], 50)
			require.InDelta(t, now.Sub(moment(t, runs[i], "until")), 0, float64(time.Second), "as it was said")
		}
		up.FailPath("spotify", recent, nil)
		time.Sleep(30 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		after := of.numbers()
		require.Equal(t, len(numbers)+1, after[0], "the try that succeeded is one of the row")
		require.Equal(t, 1, after[len(after)-1], "a success ends the row")
	})
}

func moment(t *testing.T, line map[string]any, name string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, line[name].(string))
	require.NoError(t, err)
	return at
}
