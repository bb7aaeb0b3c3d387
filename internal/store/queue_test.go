package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/queue"
)

// These are the arguments of deliveries' jobs.
type (
	plays  struct{ delivery.Payload }
	copied struct{ delivery.Payload }
)

func (plays) Kind() string  { return delivery.Scrobble }
func (copied) Kind() string { return delivery.WritePlaylist }

// worker calls a function of the test.
type worker[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	do func(id int64) error
}

func (w *worker[T]) Work(_ context.Context, j *river.Job[T]) error { return w.do(j.ID) }

// startQueue works deliveries until the returned function is called, which waits for running ones. It needs a synctest
// bubble.
func startQueue(t testing.TB, s *Store, do func(id int64) error) (stop func()) {
	t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker[plays]{do: do})
	river.AddWorker(workers, &worker[copied]{do: do})
	ctx, cancel := context.WithCancel(context.Background())
	failed := func(err error) { assert.NoError(t, err) }
	var running sync.WaitGroup
	running.Go(func() { s.Queue().Keep(ctx, func(queue.Due) {}, failed) })
	running.Go(func() {
		ended := func(e *river.Event) {
			if e.Kind != river.EventKindJobCompleted {
				s.Queue().Look()
			}
		}
		assert.NoError(t, s.Queue().Work(ctx, queue.Crew{Workers: workers, AtOnce: func() int { return 4 },
			Ended: ended, Failed: failed}))
	})
	return func() { cancel(); running.Wait() }
}

func TestInterruptedDeliveriesAreDueAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := openInWith(t, dir, Options{Attempts: 3})
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

// In earlier versions connections of several people shared a queue.
func TestEachConnectionGetsAQueueAtTheStart(t *testing.T) {
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
		_, err := s.writer.Exec("UPDATE river_job SET queue = 'lastfm_7'")
		require.NoError(t, err)
		block := make(chan struct{})
		stop := startQueue(t, s, func(int64) error { <-block; return nil })
		time.Sleep(time.Second)
		require.Equal(t, 2, number(t, s, "SELECT count(*) FROM river_job WHERE state = 'running'"),
			"one of each person")
		close(block)
		time.Sleep(time.Second)
		stop()
		for _, user := range []int64{alice, bob} {
			require.Equal(t, 2, number(t, s, "SELECT count(*) FROM river_job WHERE state = 'completed' AND queue = $1",
				delivery.QueueOf("lastfm", user)))
		}
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
		stop := startQueue(t, s, func(id int64) error {
			mu.Lock()
			defer mu.Unlock()
			worked[id]++
			return nil
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
	_, err := s.writer.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < $1)
		INSERT INTO river_job (kind, args, queue, max_attempts, attempt, state, scheduled_at, finalized_at)
		SELECT $2, '{}', $4, 3, 1, 'cancelled', $3, $3 FROM n`,
		many, delivery.Scrobble, queue.Time(time.Now()), delivery.QueueOf("lastfm", user))
	require.NoError(t, err)
	_, err = s.writer.Exec(`INSERT INTO deliveries (id, user_id, connection, kind, ref, items, created_at)
		SELECT id, $1, 'lastfm', kind, '', 1, 0 FROM river_job`, user)
	require.NoError(t, err)
	if state == delivery.Done {
		_, err = s.writer.Exec("UPDATE river_job SET state = 'completed'")
		require.NoError(t, err)
	}
}
