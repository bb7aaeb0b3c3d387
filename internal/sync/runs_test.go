package sync_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// logbook is a log that can be read.
type logbook struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// lines are what was logged with that message.
func (l *logbook) lines(t *testing.T, message string) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.String()) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		if m["msg"] == message {
			all = append(all, m)
		}
	}
	return all
}

// logged lets the guard write where a test can read.
func logged(e *enginetest.Engine) *logbook {
	l := &logbook{}
	e.LogTo(l)
	return l
}

// stumble is where an adapter goes wrong.
func stumble(*http.Request) (*http.Response, error) { panic("index out of range") }

func TestAPanicInAnAdapterIsThatRunsFailure(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		log := logged(e)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", stumble)
		began := time.Now()
		time.Sleep(time.Hour)
		s := e.Status(user, "spotify")
		require.Equal(t, resilience.Unknown, s.State.Category)
		require.NotContains(t, s.Detail, "index out of range", "a person can do nothing with that")
		require.GreaterOrEqual(t, len(attempts(up.Calls("listenbrainz"), "/1/user/alice/listens", began)), 10)
		panics := log.lines(t, "adapter panicked")
		require.NotEmpty(t, panics)
		for _, line := range panics {
			require.Equal(t, []any{"spotify", float64(user), "index out of range"},
				[]any{line["provider"], line["user_id"], line["err"]})
			require.Contains(t, line["stack"], "sync_test.stumble",
				"where it happened, also when it read ahead at that moment")
		}
		up.Fail("spotify", nil)
		time.Sleep(time.Hour)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
	})
}

// TestARunEndsAtItsDeadline: an upstream answers every call in time, and never comes to an end.
func TestARunEndsAtItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		full := `{"total":1000000,"next":"more","items":[` +
			strings.Repeat(`{"id":"x","name":"x","snapshot_id":"s"},`, 49) + `{"id":"x","name":"x"}]}`
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/v1/me/playlists" {
				return nil, nil
			}
			select {
			case <-time.After(20 * time.Second):
				return enginetest.Answer(req, 200, full), nil
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		})
		began := time.Now()
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		reading := syncer.Key{User: user, Connection: "spotify", Stream: library.Playlists}
		time.Sleep(10*time.Minute - 5*time.Second)
		require.True(t, e.Syncer.Running(reading))
		time.Sleep(10 * time.Second)
		require.False(t, e.Syncer.Running(reading))
		require.Equal(t, syncer.Waiting, e.Status(user, "spotify").Condition)
		require.NotEmpty(t, attempts(up.Calls("spotify"), recent, began), "listens were read meanwhile")
		up.Fail("spotify", nil)
		up.SetPlaylist("alice", "Rain", "Song 1")
		time.Sleep(time.Minute)
		lists, err := e.Store.ConnectionPlaylists(context.Background(), user, "spotify")
		require.NoError(t, err)
		require.Len(t, lists, 1, "and the next run is a new one")
	})
}

// A run under way has begun too early for a person who asks now.
func TestSyncNowDuringARunLeadsToAnother(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second) // each answer
			return nil, nil
		})
		ctx := context.Background()
		followed, err := e.Connections.Sync(ctx, user, "spotify")
		require.NoError(t, err)
		require.False(t, followed)
		time.Sleep(5 * time.Second)
		began := time.Now()
		for range 3 {
			followed, err = e.Connections.Sync(ctx, user, "spotify")
			require.NoError(t, err)
			require.True(t, followed)
		}
		time.Sleep(2 * time.Minute)
		require.Len(t, attempts(up.Calls("spotify"), recent, began), 1, "one more, however often it is pressed")
	})
}

// A tick during a run asks for nothing that the run doesn't do: the next run begins with the next tick.
func TestATickDuringARunLeadsToNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		const takes = 7 * time.Minute // the loop turns every five
		var mu sync.Mutex
		var begun, ended []time.Time
		note := func(at *[]time.Time) {
			mu.Lock()
			defer mu.Unlock()
			*at = append(*at, time.Now())
		}
		up.FailPath("spotify", recent, func(req *http.Request) (*http.Response, error) {
			note(&begun)
			time.Sleep(takes)
			note(&ended)
			return enginetest.Answer(req, 200, `{"items":[]}`), nil
		})
		time.Sleep(3 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		require.InDelta(t, 18, len(begun), 1, "every second tick")
		for n := 1; n < len(begun); n++ {
			require.Greater(t, begun[n].Sub(ended[n-1]), time.Minute, "run %d", n+1)
		}
	})
}

func TestLoopsTurnAtTheirPaceAndNotInStep(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		began := time.Now()
		time.Sleep(24 * time.Hour)
		for path, every := range map[string]time.Duration{recent: 5 * time.Minute,
			"/v1/me/playlists": 15 * time.Minute} {
			waits, before := map[time.Duration]bool{}, time.Duration(0)
			for i, at := range attempts(up.Calls("spotify"), path, began) {
				wait := at - before
				if before = at; i == 0 || wait < 5*time.Second { // the first of the loop; another page
					continue
				}
				require.InDelta(t, every.Seconds(), wait.Seconds(), every.Seconds()/10+2, path)
				waits[wait.Round(time.Second)] = true
			}
			require.Greater(t, len(waits), 20, "no two installations keep step")
		}
	})
}

func TestAWaitThatCannotBeUsedIsWarnedOfOnce(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		log := logged(e)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(429, "Retry-After", "soon"))
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		enginetest.Settle()
		warned := log.lines(t, "upstream named a wait that cannot be used")
		require.Len(t, warned, 1)
		require.Equal(t, []any{"WARN", "spotify"}, []any{warned[0]["level"], warned[0]["provider"]})
	})
}

// closing is a store at which a request ends as soon as its first change is made, as when somebody closes the tab.
type closing struct {
	*store.Store
	close context.CancelFunc
}

func (s closing) SaveConnection(ctx context.Context, c library.Connection) (library.Connection, error) {
	defer s.close()
	return s.Store.SaveConnection(ctx, c)
}

func (s closing) SetPaused(ctx context.Context, user int64, conn library.ConnectionID, paused bool) error {
	defer s.close()
	return s.Store.SetPaused(ctx, user, conn, paused)
}

func (s closing) ClearStops(ctx context.Context, user int64, conn library.ConnectionID) error {
	defer s.close()
	return s.Store.ClearStops(ctx, user, conn)
}

// TestClosingTheTabDoesNotInterruptChanges, so that nothing is left half done.
func TestClosingTheTabDoesNotInterruptChanges(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		up.Fail("listenbrainz", enginetest.Status(401))
		time.Sleep(time.Hour)
		require.Len(t, e.Open(user), 1)
		up.Fail("listenbrainz", nil)
		act := func(do func(context.Context, *syncer.Connections) error) {
			t.Helper()
			ctx, closed := context.WithCancel(context.Background())
			require.NoError(t, do(ctx, syncer.NewConnections(e.Guard, e.Syncer, e.Deliveries,
				closing{e.Store, closed}, e.Bus)))
			require.Error(t, ctx.Err(), "the tab is closed")
		}
		act(func(ctx context.Context, m *syncer.Connections) error {
			_, err := m.Connect(ctx, e.Registry.Get("listenbrainz"), library.Connection{User: user,
				ID: "listenbrainz", Credentials: library.Credentials{"token": up.ListenBrainz.Token("alice")}})
			return err
		})
		require.Empty(t, e.Open(user), "the alert is closed, and what was parked goes out")
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)

		up.Fail("listenbrainz", enginetest.Status(401))
		time.Sleep(time.Hour)
		up.Fail("listenbrainz", nil)
		act(func(ctx context.Context, m *syncer.Connections) error { return m.Retry(ctx, user, "listenbrainz") })
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)

		act(func(ctx context.Context, m *syncer.Connections) error { return m.Pause(ctx, user, "listenbrainz") })
		act(func(ctx context.Context, m *syncer.Connections) error { return m.Resume(ctx, user, "listenbrainz") })
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)

		act(func(ctx context.Context, m *syncer.Connections) error {
			return m.Disconnect(ctx, user, "listenbrainz", true)
		})
		_, err := e.Store.Connection(context.Background(), user, "listenbrainz")
		require.ErrorIs(t, err, library.ErrNotFound)
	})
}

// tardy is a store that says when it is asked for a connection, and answers after the question is withdrawn.
type tardy struct {
	*store.Store
	waits atomic.Bool // otherwise it answers at once
	asked chan struct{}
}

func (s *tardy) Connection(ctx context.Context, user int64, id library.ConnectionID) (library.Connection, error) {
	if s.waits.Load() {
		s.asked <- struct{}{}
		<-ctx.Done()
	}
	return s.Store.Connection(ctx, user, id)
}

// TestAStopAmidALookIsNoError: the server ends while a run looks up its connection.
func TestAStopAmidALookIsNoError(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, _ func() *enginetest.Engine) {
		kept := &tardy{asked: make(chan struct{}, 10)}
		e := enginetest.Start(t, t.TempDir(), up, syncer.Options{}, func(s *store.Store) enginetest.Store {
			kept.Store = s
			return kept
		})
		require.NoError(t, e.ConnectListenBrainz(e.AddUser("Alice", accounts.Admin), "alice"))
		enginetest.Settle()
		log := logged(e)
		kept.waits.Store(true)
		<-kept.asked
		e.Stop()
		require.NotContains(t, log.String(), `"level":"ERROR"`)
	})
}
