package sync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
)

// Four accounts at a pace that is enough for one: who listens is read often, the others a few times a day, and "Sync
// now" at once. Nobody reads of a gap.
func TestManyAccountsShareAPaceByNeed(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, first int64) {
		e.Registry.Replace(providertest.New(registry.Describe("listenbrainz"), "rate", "0.01"))
		users := []int64{first}
		for n := range 3 {
			users = append(users, e.AddUser(fmt.Sprint("Person ", n), accounts.Member))
		}
		for n, user := range users {
			require.NoError(t, e.ConnectListenBrainz(user, fmt.Sprint("account", n)))
		}
		enginetest.Settle()
		for n := range 2 * 24 * 4 { // a song every quarter of an hour, for two days
			up.Play("account0", fmt.Sprint("Song ", n), time.Now())
			time.Sleep(15 * time.Minute)
			enginetest.Settle()
		}
		began := time.Now().Add(-24 * time.Hour)
		reads := map[int64]int{}
		for _, user := range users {
			runs, _, err := e.Store.Runs(t.Context(), user, "listenbrainz", began, "", 1000)
			require.NoError(t, err)
			for _, r := range runs {
				require.Equal(t, "ok", r.Result)
				if r.Stream == library.Listens {
					reads[user]++
				}
			}
			gaps, err := e.Store.Gaps(t.Context(), user, "listenbrainz")
			require.NoError(t, err)
			require.Empty(t, gaps)
		}
		for _, silent := range users[1:] {
			require.Positive(t, reads[silent], "at least once a day")
			require.Greater(t, reads[first], 2*reads[silent])
		}
		require.Less(t, reads[first]+reads[users[1]]+reads[users[2]]+reads[users[3]], 24*12*2, "of four times that")

		st := e.Status(users[3], "listenbrainz").Streams[0]
		require.Equal(t, 4, st.Sharing)
		require.Greater(t, st.Every, 5*time.Minute)
		up.Play("account3", "At last", time.Now())
		require.NoError(t, e.Connections.SyncNow(t.Context(), users[3], "listenbrainz"))
		enginetest.Settle()
		require.Equal(t, 1, e.Listens(users[3]))
	})
}
