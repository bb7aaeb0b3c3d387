package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/queue"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
)

// worker takes what is due, and has a function of the test say what becomes of each.
type worker struct {
	s  *Store
	do func(id int64) delivery.State
}

func (w *worker) work(ctx context.Context, job *river.Job[delivery.Send]) error {
	all, err := w.s.Take(ctx, job.Args, 1)
	if err != nil {
		return err
	}
	var share delivery.Share
	for _, d := range all {
		e := delivery.End{ID: d.ID, State: w.do(d.ID), Attempts: d.Number}
		if share.Park = e.State == delivery.Parked; share.Park {
			e.Attempts--
		}
		share.Ends = append(share.Ends, e)
	}
	return w.s.Finish(ctx, job, share)
}

// startQueue works deliveries until the returned function is called, which waits for running ones. It needs a synctest
// bubble.
func startQueue(t testing.TB, s *Store, do func(id int64) delivery.State) (stop func()) {
	t.Helper()
	require.NoError(t, s.Resume(context.Background(), func(delivery.Due) bool { return true }))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		due := func(ctx context.Context, after, until time.Time) (jobs []delivery.Send, next time.Time, err error) {
			all, next, err := s.Due(ctx, after, until)
			for _, d := range all {
				jobs = append(jobs, d.Send)
			}
			return jobs, next, err
		}
		assert.NoError(t, queue.Work(ctx, s.Queue(), queue.Crew[delivery.Send]{Work: (&worker{s: s, do: do}).work,
			AtOnce: 1000, Grace: 5 * time.Second, Due: due, Earlier: s.Earlier,
			Log: slog.New(slog.DiscardHandler), Failed: func(err error) { assert.NoError(t, err) }}))
	})
	return func() { cancel(); running.Wait() }
}

// noteFailure stores why an attempt failed.
func noteFailure(t testing.TB, s *Store, id int64, f delivery.Failure, dead bool) {
	t.Helper()
	require.NoError(t, s.Write(context.Background(), func(tx *sql.Tx) error {
		return outbox.Note(context.Background(), tx, id, f, dead)
	}))
}

func TestInterruptedDeliveriesAreDueAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := openInWith(t, dir, Options{Sending: outbox.Options{Attempts: 3}})
		user := addUser(t, s, "Alice", "admin")
		var ids []int64
		for i := range 4 {
			ids = append(ids, enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
				Ref: fmt.Sprint(i)}))
		}
		become(t, s, delivery.Running, ids[0], ids[1])
		become(t, s, delivery.Done, ids[2])
		require.NoError(t, s.Close())

		s = openIn(t, dir)
		require.Equal(t, []string{"running", "1 of 3"}, standing(t, s, user, ids[0]))
		require.Equal(t, []int64{ids[0], ids[1], ids[3]}, taken(t, s))
		require.Equal(t, []string{"done", "2 of 3"}, standing(t, s, user, ids[0]))
	})
}

// Each connection has one job at a time, and none waits for another one.
func TestConnectionsWaitForNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, alice := setup(t)
		bob := addUser(t, s, "Bob", "member")
		for _, user := range []int64{alice, bob} {
			for i := range 2 {
				enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
					Ref: fmt.Sprint(i)})
			}
		}
		block := make(chan struct{})
		var under atomic.Int64
		stop := startQueue(t, s, func(int64) delivery.State { under.Add(1); <-block; return delivery.Done })
		time.Sleep(time.Second)
		require.EqualValues(t, 2, under.Load(), "one of each person")
		close(block)
		time.Sleep(time.Second)
		stop()
		require.Equal(t, 4, number(t, s, "SELECT count(*) FROM deliveries WHERE state = 'done'"))
	})
}

// Concurrent calls of Redrive, while deliveries are attempted, neither lose nor duplicate any.
func TestAThousandDeadLettersAreRedrivenOnceEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 1000
		s, user := setup(t)
		thousands(t, s, user, many, delivery.Dead)
		var mu sync.Mutex
		worked := map[int64]int{}
		stop := startQueue(t, s, func(id int64) delivery.State {
			mu.Lock()
			defer mu.Unlock()
			worked[id]++
			return delivery.Done
		})
		var wg sync.WaitGroup
		redriven := make([]int, 4)
		for i := range redriven {
			wg.Go(func() {
				for range 5 {
					n, err := s.Redrive(context.Background(),
						delivery.Filter{User: user, Provider: "lastfm", State: delivery.Dead}, false)
					assert.NoError(t, err)
					redriven[i] += n
					time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				}
			})
		}
		wg.Go(func() {
			for done := 0; done < many && !t.Failed(); time.Sleep(20 * time.Millisecond) {
				counts, err := s.CountDeliveries(context.Background(), delivery.Filter{User: user})
				assert.NoError(t, err)
				sum := 0
				for state, n := range counts {
					assert.Positive(t, n, state)
					sum += n
				}
				assert.Equal(t, many, sum, "%v", counts)
				done = counts[delivery.Done]
			}
		})
		wg.Wait()
		stop()
		require.Equal(t, many, redriven[0]+redriven[1]+redriven[2]+redriven[3])
		require.Len(t, worked, many)
		for id, n := range worked {
			require.Equal(t, 1, n, id)
		}
	})
}

// thousands inserts many deliveries that are all dead or done.
func thousands(t testing.TB, s *Store, user int64, many int, state delivery.State) {
	t.Helper()
	require.NoError(t, s.Exec(context.Background(), `WITH RECURSIVE n (i) AS
		(SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < $1)
		INSERT INTO deliveries (id, user_id, connection, kind, ref, schema_version, idempotency_key, items, history,
			state, attempts, max_attempts, due_at, created_at, ended_at)
		SELECT i, $2, 'lastfm', 'scrobble', '', 1, CAST(i AS TEXT), 1, 0, $3, 1, 3, $4, 0, $4 FROM n`,
		many, user, state, db.Millis(time.Now())))
}
