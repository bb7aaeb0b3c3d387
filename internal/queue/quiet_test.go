package queue_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/queue"
)

// player works plays.
type player struct {
	river.WorkerDefaults[play]
	done atomic.Int64
}

func (p *player) Work(_ context.Context, job *river.Job[play]) error {
	if job.Args.Name == "fails once" && job.Attempt == 1 {
		return errors.New("once")
	}
	p.done.Add(1)
	return nil
}

// NextRetry makes a second attempt due after a minute.
func (p *player) NextRetry(*river.Job[play]) time.Time { return time.Now().Add(time.Minute) }

// River asks its database all the time; ours sleeps until something is due, and everything is worked all the same.
func TestNothingIsAskedWhileNothingIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		p := &player{}
		workers := river.NewWorkers()
		river.AddWorker(workers, p)
		left := insert(t, s, db, "left running", time.Time{})
		_, err := db.Exec("UPDATE river_job SET state = 'running', attempt = 1 WHERE id = $1", left)
		require.NoError(t, err)
		var running sync.WaitGroup
		running.Go(func() {
			assert.NoError(t, s.Queue().Work(ctx, queue.Crew{Workers: workers, AtOnce: func() int { return 2 },
				Failed: func(err error) { assert.NoError(t, err) }, Ended: func(e *river.Event) {
				if e.Kind == river.EventKindJobFailed {
					s.Queue().Look()
				}
			}}))
		})
		k := keep(t, s.Queue())
		time.Sleep(5 * time.Minute)
		require.EqualValues(t, 1, p.done.Load(), "what a dead process was working on is due again")
		add := func(name string, due time.Time) {
			insert(t, s, db, name, due)
			s.Queue().Look() // the transaction was not one of the store's writer, for which a look waits
		}
		silent := func() {
			t.Helper()
			statements, transactions := s.Traffic().Statements(), s.Traffic().Transactions()
			time.Sleep(50 * time.Minute) // the cleaner of queues runs every hour
			require.Equal(t, statements, s.Traffic().Statements())
			require.Equal(t, transactions, s.Traffic().Transactions())
		}
		silent()
		add("now", time.Time{})
		add("later", time.Now().Add(30*time.Second))
		time.Sleep(time.Second)
		require.EqualValues(t, 2, p.done.Load())
		time.Sleep(30 * time.Second)
		require.EqualValues(t, 3, p.done.Load())
		time.Sleep(10 * time.Minute)
		silent()
		add("fails once", time.Time{})
		time.Sleep(61 * time.Second)
		require.EqualValues(t, 4, p.done.Load())
		for range 5 { // more than are worked at once
			add("one of many", time.Time{})
		}
		time.Sleep(time.Second)
		require.EqualValues(t, 9, p.done.Load())
		time.Sleep(25 * time.Hour) // over a midnight, when River looks after its indexes
		add("tomorrow", time.Time{})
		time.Sleep(time.Second)
		require.EqualValues(t, 10, p.done.Load())
		cancel()
		k.stop()
		running.Wait()
	})
}
