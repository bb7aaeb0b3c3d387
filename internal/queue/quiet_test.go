package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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

// crowd works plays, and notes which are under way in each queue, and in all.
type crowd struct {
	river.WorkerDefaults[play]
	mu    sync.Mutex
	now   map[string]int
	all   int
	most  int
	order map[string][]string
}

func (c *crowd) Work(_ context.Context, job *river.Job[play]) error {
	c.mu.Lock()
	c.now[job.Queue]++
	c.all++
	c.most = max(c.most, c.all, 100*c.now[job.Queue]-100)
	c.order[job.Queue] = append(c.order[job.Queue], job.Args.Name)
	c.mu.Unlock()
	time.Sleep(time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[job.Queue]--
	c.all--
	return nil
}

// unheardOf is a job of a newer version, which was taken back.
type unheardOf struct{}

func (unheardOf) Kind() string { return "unheard of" }

// A queue's jobs are worked one after the other, those of several queues at once.
func TestQueuesKeepTheirOrderAndWaitForNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t)
		c := &crowd{now: map[string]int{}, order: map[string][]string{}}
		workers := river.NewWorkers()
		river.AddWorker(workers, c)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			assert.NoError(t, s.Queue().Work(ctx, queue.Crew{Workers: workers, AtOnce: func() int { return 3 },
				Failed: func(err error) { assert.NoError(t, err) }, Ended: func(*river.Event) {}}))
		})
		k := keep(t, s.Queue())
		put := func(job river.JobArgs, to string) {
			in(t, db, func(tx *sql.Tx) error {
				_, _, err := s.Queue().Insert(ctx, tx, job, &river.InsertOpts{Queue: to, MaxAttempts: 3})
				return err
			})
			s.Queue().Look()
		}
		var want []string
		for n := range 6 {
			want = append(want, fmt.Sprint(n))
			for _, to := range []string{"a_1", "b_1", "c_1", "c_17"} {
				if n == 3 && to == "b_1" {
					put(unheardOf{}, to)
				}
				put(play{want[n]}, to)
			}
			time.Sleep(time.Duration(n) * 5 * time.Second) // River has been stopped and started
		}
		time.Sleep(time.Minute)
		cancel()
		k.stop()
		running.Wait()
		require.Equal(t, map[string][]string{"a_1": want, "b_1": want, "c_1": want, "c_17": want}, c.order)
		require.Equal(t, 3, c.most, "three at once, no two of a queue")
	})
}
