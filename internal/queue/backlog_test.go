package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/queue"
)

// The list of servers comes with the jobs that wait or run, without those that a dead server has left behind.
func TestJobsAreCountedByKind(t *testing.T) {
	t.Parallel()
	c := begin(t)
	backlogs := func(servers ...string) []queue.Backlog {
		t.Helper()
		all, err := queue.Backlogs(t.Context(), c.s.Reader, servers)
		require.NoError(t, err)
		return all
	}
	require.Empty(t, backlogs())
	began := time.Now()
	for user := range 3 {
		c.put(delivery.Send{User: int64(user), Connection: "lastfm"})
	}
	const first = "(SELECT min(id) FROM river_job)"
	older := began.Add(-time.Hour).UTC().Format(time.DateTime)
	_, err := c.db.Exec("UPDATE river_job SET state = 'running', attempt = 1, created_at = $1 WHERE id = "+first, older)
	require.NoError(t, err)
	all := backlogs()
	require.Len(t, all, 1)
	require.Equal(t, []any{"send", 2, 1}, []any{all[0].Kind, all[0].Waiting, all[0].Running})
	require.WithinDuration(t, began.Add(-time.Hour), all[0].Oldest, time.Second)

	_, err = c.db.Exec("UPDATE river_job SET queue = 'send-one' WHERE id = " + first)
	require.NoError(t, err)
	all = backlogs("other")
	require.Equal(t, []int{2, 0}, []int{all[0].Waiting, all[0].Running})
	require.True(t, all[0].Oldest.After(began.Add(-time.Minute)), "not that of the other")
	all = backlogs("other", "one")
	require.Equal(t, []int{2, 1}, []int{all[0].Waiting, all[0].Running})
	require.WithinDuration(t, began.Add(-time.Hour), all[0].Oldest, time.Second)
	_, err = c.db.Exec("UPDATE river_job SET state = 'completed', finalized_at = created_at")
	require.NoError(t, err)
	require.Empty(t, backlogs("other", "one"))
}
