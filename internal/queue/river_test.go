package queue_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"reprise/internal/postgrestest"
	"reprise/internal/queue"
	"reprise/internal/store"
)

// open returns a store with its queue, and another connection to the same database.
func open(t *testing.T) (*store.Store, *sql.DB) {
	t.Helper()
	key, err := store.NewKey("b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI=")
	require.NoError(t, err)
	dir := t.TempDir()
	place := store.Place{Dir: dir, URL: postgrestest.Database(t, dir, nil)}
	s, err := store.Open(t.Context(), place, key, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	driver, address := "sqlite", "file:"+dir+"/"+store.FileName+"?_pragma=busy_timeout(5000)"
	if place.URL != "" {
		driver, address = "pgx", place.URL+"&timezone=UTC"
	}
	db, err := sql.Open(driver, address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return s, db
}

// in runs fn in a transaction.
func in(t *testing.T, db *sql.DB, fn func(*sql.Tx) error) {
	t.Helper()
	tx, err := db.Begin()
	require.NoError(t, err)
	require.NoError(t, fn(tx))
	require.NoError(t, tx.Commit())
}

type play struct {
	Name string `json:"name"`
}

func (play) Kind() string { return "scrobble" }

// insert inserts a job and returns its id.
func insert(t *testing.T, s *store.Store, db *sql.DB, name string, due time.Time) (id int64) {
	t.Helper()
	in(t, db, func(tx *sql.Tx) (err error) {
		id, _, err = s.Queue().Insert(context.Background(), tx, play{name},
			&river.InsertOpts{Queue: "plays", MaxAttempts: 3, ScheduledAt: due})
		return err
	})
	return id
}

// The statements of this package were written for these columns of river_job. When River changes one, read them all.
func TestRiverHasTheColumnsWeUse(t *testing.T) {
	t.Parallel()
	columns := map[string][2]string{ // on SQLite and on Postgres
		"id":            {"integer", "bigint"},
		"args":          {"blob", "jsonb"},
		"attempt":       {"integer", "smallint"},
		"attempted_at":  {"timestamp", "timestamp with time zone"},
		"attempted_by":  {"blob", "ARRAY"},
		"created_at":    {"timestamp", "timestamp with time zone"},
		"errors":        {"blob", "ARRAY"},
		"finalized_at":  {"timestamp", "timestamp with time zone"},
		"kind":          {"text", "text"},
		"max_attempts":  {"integer", "smallint"},
		"metadata":      {"blob", "jsonb"},
		"priority":      {"integer", "smallint"},
		"queue":         {"text", "text"},
		"state":         {"text", "USER-DEFINED"},
		"scheduled_at":  {"timestamp", "timestamp with time zone"},
		"tags":          {"blob", "ARRAY"},
		"unique_key":    {"blob", "bytea"},
		"unique_states": {"integer", "bit"},
	}
	_, db := open(t)
	query, n := "SELECT name, lower(type) FROM pragma_table_info('river_job')", 0
	if postgrestest.On() {
		query, n = `SELECT column_name, data_type FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = 'river_job'`, 1
	}
	want, got := map[string]string{}, map[string]string{}
	for name, types := range columns {
		want[name] = types[n]
	}
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		require.NoError(t, rows.Scan(&name, &kind))
		got[name] = kind
	}
	require.NoError(t, rows.Err())
	require.Equal(t, want, got)
}

// A state that River adds would belong to none of ours.
func TestRiverHasTheStatesWeKnow(t *testing.T) {
	t.Parallel()
	ours := map[rivertype.JobState]queue.State{
		rivertype.JobStateAvailable: queue.Scheduled,
		rivertype.JobStatePending:   queue.Scheduled, // waits for another job, which none of ours does
		rivertype.JobStateScheduled: queue.Scheduled,
		rivertype.JobStateRetryable: queue.Scheduled,
		rivertype.JobStateRunning:   queue.Running,
		rivertype.JobStateCompleted: queue.Done,
		rivertype.JobStateCancelled: queue.Dead,
		rivertype.JobStateDiscarded: queue.Dead,
	}
	require.ElementsMatch(t, rivertype.JobStates(), slices.Collect(maps.Keys(ours)))
	s, db := open(t)
	id := insert(t, s, db, "A", time.Time{})
	for river, state := range ours {
		ended := "NULL"
		if !state.Live() {
			ended = "'" + queue.Time(time.Now()) + "'"
		}
		_, err := db.Exec(fmt.Sprintf("UPDATE river_job SET state = '%s', finalized_at = %s WHERE id = %d", river,
			ended, id))
		require.NoError(t, err, river)
		require.Equal(t, state, stateOf(t, db, id), river)
	}
}

// stateOf returns a job's state, and requires that it is in that state alone.
func stateOf(t *testing.T, db *sql.DB, id int64) (state queue.State) {
	t.Helper()
	require.NoError(t, db.QueryRow("SELECT state FROM "+queue.Table+" j WHERE id = $1", id).Scan(&state))
	var river string
	require.NoError(t, db.QueryRow("SELECT state FROM river_job WHERE id = $1", id).Scan(&river))
	if river == string(rivertype.JobStatePending) {
		return state
	}
	for _, other := range []queue.State{queue.Scheduled, queue.Running, queue.Retrying, queue.Parked, queue.Done,
		queue.Dead} {
		var n int
		query := "SELECT count(*) FROM " + queue.Table + " j WHERE id = $1 AND " + queue.HasState(other)
		require.NoError(t, db.QueryRow(query, id).Scan(&n))
		require.Equal(t, state == other, n == 1, "%s: is it %s?", state, other)
	}
	return state
}

// Times are compared as texts on SQLite, so ours must look like River's.
func TestTimesLookLikeRivers(t *testing.T) {
	t.Parallel()
	if postgrestest.On() {
		t.Skip("Postgres compares times as times")
	}
	s, db := open(t)
	due := time.Date(2027, 3, 4, 5, 6, 7, 891_600_000, time.FixedZone("", 3600))
	id := insert(t, s, db, "A", due)
	var text string
	require.NoError(t, db.QueryRow("SELECT CAST(scheduled_at AS TEXT) FROM river_job WHERE id = $1", id).Scan(&text))
	require.Equal(t, queue.Time(due), text)
}

func TestStatementsChangeOnlyTheirStates(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		do   func(ctx context.Context, j queue.Jobs, id int64) error
		want map[queue.State]queue.State // states that change
	}{
		"Park": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.Park(ctx, queue.One(id)) },
			map[queue.State]queue.State{queue.Scheduled: queue.Parked, queue.Retrying: queue.Parked}},
		"Release": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.Release(ctx, queue.One(id)) },
			map[queue.State]queue.State{queue.Parked: queue.Scheduled}},
		"Postpone": {func(ctx context.Context, j queue.Jobs, id int64) error {
			return j.Postpone(ctx, queue.One(id), id, later)
		},
			map[queue.State]queue.State{}},
		"Resume": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.Resume(ctx, id) },
			map[queue.State]queue.State{queue.Running: queue.Retrying}},
		"Redrive": {func(ctx context.Context, j queue.Jobs, id int64) error {
			_, err := j.Redrive(ctx, queue.These(id))
			return err
		}, map[queue.State]queue.State{queue.Dead: queue.Scheduled, queue.Retrying: queue.Scheduled}},
		"TryAgain": {func(ctx context.Context, j queue.Jobs, id int64) error {
			_, err := j.TryAgain(ctx, queue.One(id))
			return err
		}, map[queue.State]queue.State{queue.Dead: queue.Retrying}},
		"DueNow": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.DueNow(ctx, id) },
			map[queue.State]queue.State{}},
		"Hasten": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.Hasten(ctx, queue.One(id)) },
			map[queue.State]queue.State{}},
		"DueBy": {func(ctx context.Context, j queue.Jobs,
			id int64) error {
			return j.DueBy(ctx, id, time.Now(), false)
		},
			map[queue.State]queue.State{}},
		"DueBy, released": {func(ctx context.Context, j queue.Jobs,
			id int64) error {
			return j.DueBy(ctx, id, time.Now(), true)
		},
			map[queue.State]queue.State{queue.Parked: queue.Scheduled}},
		"End, done": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.End(ctx, id, true) },
			map[queue.State]queue.State{queue.Running: queue.Done}},
		"End, dead": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.End(ctx, id, false) },
			map[queue.State]queue.State{queue.Running: queue.Dead}},
		"Defer": {func(ctx context.Context, j queue.Jobs, id int64) error { return j.Defer(ctx, id, later) },
			map[queue.State]queue.State{queue.Running: queue.Scheduled}},
		"none": {func(ctx context.Context, j queue.Jobs, _ int64) error { return j.Park(ctx, queue.These()) },
			map[queue.State]queue.State{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := open(t)
			for state, id := range oneOfEach(t, s, db) {
				in(t, db, func(tx *sql.Tx) error { return c.do(t.Context(), queue.In(tx), id) })
				want, changes := c.want[state]
				if !changes {
					want = state
				}
				require.Equal(t, want, stateOf(t, db, id), state)
			}
		})
	}
}

// oneOfEach inserts a job in each state, with one attempt used up where there is one, and returns their ids.
func oneOfEach(t *testing.T, s *store.Store, db *sql.DB) map[queue.State]int64 {
	t.Helper()
	now := queue.Time(time.Now())
	changes := map[queue.State]string{
		queue.Scheduled: "priority = 1",
		queue.Running:   "state = 'running', attempt = 1, attempted_at = '" + now + "'",
		queue.Retrying:  "state = 'retryable', attempt = 1",
		queue.Parked:    "state = 'scheduled', scheduled_at = '2300-01-01 00:00:00'",
		queue.Done:      "state = 'completed', attempt = 1, finalized_at = '" + now + "'",
		queue.Dead:      "state = 'discarded', attempt = 1, finalized_at = '" + now + "'",
	}
	ids := map[queue.State]int64{}
	for state, change := range changes {
		ids[state] = insert(t, s, db, string(state), time.Now().Add(time.Minute))
		_, err := db.Exec(fmt.Sprintf("UPDATE river_job SET %s WHERE id = %d", change, ids[state]))
		require.NoError(t, err)
		require.Equal(t, state, stateOf(t, db, ids[state]))
	}
	return ids
}

func TestRemoveSparesWhatRiverStillNotes(t *testing.T) {
	t.Parallel()
	s, db := open(t)
	removed := func(id int64) bool {
		var n int
		in(t, db, func(tx *sql.Tx) (err error) {
			n, err = queue.In(tx).Remove(t.Context(), queue.One(id))
			return err
		})
		return n == 1
	}
	for state, id := range oneOfEach(t, s, db) {
		require.Equal(t, state != queue.Running, removed(id), state)
	}
	for _, kind := range []string{"write_playlist", "archive", "notify"} {
		id := insert(t, s, db, kind, time.Time{})
		_, err := db.Exec(fmt.Sprintf("UPDATE river_job SET kind = '%s', state = 'running' WHERE id = %d", kind, id))
		require.NoError(t, err)
		in(t, db, func(tx *sql.Tx) error { return queue.In(tx).End(t.Context(), id, true) })
		require.False(t, removed(id), "River notes the end of a job within a quarter of a second")
		_, err = db.Exec(fmt.Sprintf("UPDATE river_job SET finalized_at = '%s' WHERE id = %d",
			queue.Time(time.Now().Add(-3*time.Second)), id))
		require.NoError(t, err)
		require.True(t, removed(id))
	}
}

// Everything that this package promises holds on a Postgres server as well.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, "River|Statements|Remove")
}
