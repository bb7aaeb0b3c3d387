package sync_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/postgrestest"
)

// commits counts the transactions that have written, by the name of the database.
var commits struct {
	mu sync.Mutex
	of map[string]int
}

func init() {
	commits.of = map[string]int{}
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		file, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
		conn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
			commits.mu.Lock()
			defer commits.mu.Unlock()
			commits.of[file]++
			return 0
		})
		return nil
	})
}

// committed returns how many transactions have written to the engine's database.
func committed(e *enginetest.Engine) int {
	commits.mu.Lock()
	defer commits.mu.Unlock()
	return commits.of[e.Store.String()]
}

// Somebody's memory card wears out with each transaction. A run that finds nothing new stores its position, its success
// and its outcome, and nothing else.
func TestATickWithoutNewsWritesLittle(t *testing.T) {
	if postgrestest.On() {
		t.Skip("it counts SQLite's transactions")
	}
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		time.Sleep(3 * time.Hour)
		enginetest.Settle()
		connections := []library.ConnectionID{"spotify", "listenbrainz"}
		for range 3 {
			for _, stream := range []string{library.Listens, library.Playlists} {
				time.Sleep(17 * time.Second)
				enginetest.Settle()
				before, listens, began := committed(e), e.Listens(user), time.Now()
				require.NoError(t, e.Syncer.Tick(t.Context(), stream))
				enginetest.Settle()
				require.Equal(t, listens, e.Listens(user))
				require.Positive(t, before)
				written := committed(e) - before
				require.Positive(t, written, stream)
				require.LessOrEqual(t, written, 3*len(connections), stream)
				for _, conn := range connections {
					runs, _, err := e.Store.Runs(t.Context(), user, conn, began, "", 10)
					require.NoError(t, err)
					require.Len(t, runs, 1)
				}
				all, err := e.Store.Streams(t.Context(), user)
				require.NoError(t, err)
				for _, r := range all {
					require.True(t, r.Stream != stream || !r.LastSuccessAt.Before(began), r.Connection)
				}
			}
		}
	})
}

// What is known of the last page must not outlive what was stored of it.
func TestDeletedPlaysComeBackWithAReconnect(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.Play("alice", "One", time.Now().Add(-time.Hour))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		require.NoError(t, e.Connections.SyncNow(t.Context(), user, "listenbrainz"))
		enginetest.Settle()
		all := e.Listens(user)
		require.NotZero(t, all)
		require.NoError(t, e.Connections.Disconnect(t.Context(), user, "listenbrainz", true))
		require.Zero(t, e.Listens(user))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		require.Equal(t, all, e.Listens(user))
	})
}
