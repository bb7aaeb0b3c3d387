package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/postgrestest"
	"reprise/internal/queue"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

// counter is a queue whose worker takes pings of connections, each of which is due at a time.
type counter struct {
	*testing.T
	place db.Place
	s     *store.Store
	db    *sql.DB // another connection to the same database
	work  func()  // is called for each job, before it looks what is due

	mu   sync.Mutex
	seen []delivery.Send
}

// to is where the pings of the tests go.
var to = delivery.Send{User: 1, Connection: "lastfm"}

// begin returns a counter with a store.
func begin(t *testing.T) *counter {
	t.Helper()
	dir := t.TempDir()
	place := db.Place{Dir: dir, URL: postgrestest.Database(t, dir, nil)}
	c := &counter{T: t, place: place, work: func() {}}
	c.open()
	t.Cleanup(func() { require.NoError(t, c.s.Close()) })
	driver, address := "sqlite", "file:"+dir+"/"+db.FileName+"?_pragma=busy_timeout(5000)&_txlock=immediate"
	if place.URL != "" {
		driver, address = "pgx", place.URL+"&timezone=UTC"
	}
	db, err := sql.Open(driver, address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.Exec("CREATE TABLE pings (person BIGINT, connection TEXT, due BIGINT, taken INTEGER DEFAULT 0)")
	require.NoError(t, err)
	c.db = db
	return c
}

// open opens the store.
func (c *counter) open() {
	c.Helper()
	key, err := db.NewKey("b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI=")
	require.NoError(c, err)
	c.s, err = store.Open(c.Context(), c.place, key, store.Options{})
	require.NoError(c, err)
}

// in runs fn in a transaction.
func (c *counter) in(fn func(*sql.Tx) error) error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

const addPing = "INSERT INTO pings (person, connection, due) VALUES ($1, $2, $3)"

// put adds a ping that is due now, with its job.
func (c *counter) put(to delivery.Send) {
	c.Helper()
	assert.NoError(c, c.in(func(tx *sql.Tx) error {
		if _, err := tx.Exec(addPing, to.User, to.Connection, time.Now().UnixMilli()); err != nil {
			return err
		}
		return queue.Insert(context.Background(), c.s.Queue(), tx, to)
	}))
	c.s.Queue().Look(to.Kind()) // the transaction was not one of the store's writer, for which a look waits
}

// later adds a ping that is due later, without a job.
func (c *counter) later(to delivery.Send, after time.Duration) {
	c.Helper()
	_, err := c.db.Exec(addPing, to.User, to.Connection, time.Now().Add(after).UnixMilli())
	require.NoError(c, err)
	c.s.Queue().Look(to.Kind())
}

// due is the alarm's look.
func (c *counter) due(ctx context.Context, after, until time.Time) (jobs []delivery.Send, next time.Time, err error) {
	var n int
	err = c.db.QueryRow("SELECT count(*) FROM pings WHERE taken = 0 AND due > $1 AND due <= $2",
		max(after.UnixMilli(), 0), until.UnixMilli()).Scan(&n)
	if err != nil {
		return nil, next, err
	}
	if n > 0 {
		jobs = []delivery.Send{to}
	}
	var first sql.NullInt64
	err = c.db.QueryRow("SELECT min(due) FROM pings WHERE taken = 0 AND due > $1", until.UnixMilli()).Scan(&first)
	if first.Valid {
		next = time.UnixMilli(first.Int64)
	}
	return jobs, next, err
}

// take works a job.
func (c *counter) take(ctx context.Context, job *river.Job[delivery.Send]) error {
	c.mu.Lock()
	c.seen = append(c.seen, job.Args)
	c.mu.Unlock()
	c.work()
	const mine = " WHERE person = $1 AND connection = $2 AND taken = 0 AND due <= $3"
	mark := func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE pings SET taken = 1"+mine, job.Args.User, job.Args.Connection,
			time.Now().UnixMilli())
		return err
	}
	if err := c.in(mark); err != nil {
		return err
	}
	return c.in(func(tx *sql.Tx) error {
		if err := queue.Complete(ctx, tx, job); err != nil {
			return err
		}
		var more bool
		err := tx.QueryRow("SELECT count(*) > 0 FROM pings"+mine, job.Args.User, job.Args.Connection,
			time.Now().UnixMilli()).Scan(&more)
		if err == nil && more {
			err = queue.Insert(ctx, c.s.Queue(), tx, job.Args)
		}
		return err
	})
}

// jobs returns the connections of the jobs since the last call.
func (c *counter) jobs() []delivery.Send {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

func (c *counter) left() (n int) {
	c.Helper()
	require.NoError(c, c.db.QueryRow("SELECT count(*) FROM pings WHERE taken = 0").Scan(&n))
	return n
}

// run works jobs until the returned function is called.
func (c *counter) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(c, queue.Work(ctx, c.s.Queue(), queue.Crew[delivery.Send]{Work: c.take, AtOnce: 1000,
			Grace: 5 * time.Second, Due: c.due,
			Earlier: func(context.Context, time.Duration) error { return nil },
			Log:     slog.New(slog.DiscardHandler), Failed: func(err error) { assert.NoError(c, err) }}))
	})
	return func() { cancel(); running.Wait() }
}

// River asks its database all the time; nothing is asked while nothing is due, and everything is worked all the same.
//
// Promise: While nothing is due, nothing is asked of the database; what is due is worked within a second.
func TestNothingIsAskedWhileNothingIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := begin(t)
		stop := c.run()
		silent := func() {
			t.Helper()
			time.Sleep(time.Minute)
			require.Zero(t, c.left())
			statements, transactions := c.s.Traffic().Statements(), c.s.Traffic().Transactions()
			time.Sleep(25 * time.Hour) // over a midnight, when River looks after its indexes
			require.Equal(t, statements, c.s.Traffic().Statements())
			require.Equal(t, transactions, c.s.Traffic().Transactions())
		}
		silent()
		for range 3 { // River is started and stopped
			c.put(to)
			time.Sleep(time.Second)
			require.Zero(t, c.left())
			c.later(to, 30*time.Second)
			time.Sleep(29 * time.Second)
			require.Equal(t, 1, c.left())
			time.Sleep(2 * time.Second)
			require.Zero(t, c.left())
			require.Equal(t, []delivery.Send{to, to}, c.jobs())
			silent()
		}
		stop()
	})
}

func TestAConnectionHasOneJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := begin(t)
		other := delivery.Send{User: 2, Connection: "lastfm"}
		for range 5 {
			c.put(to)
			c.put(other)
		}
		stop := c.run()
		time.Sleep(time.Second)
		seen := c.jobs()
		require.Len(t, seen, 2)
		require.ElementsMatch(t, []delivery.Send{to, other}, seen)
		require.Zero(t, c.left())
		stop()
	})
}

// What is added while its connection's job is under way is never left lying: at each moment of the job, and while it
// ends.
func TestWhatIsAddedDuringAJobIsWorked(t *testing.T) {
	t.Parallel()
	c := begin(t)
	stop := c.run()
	defer stop()
	for range 3 {
		var adding sync.WaitGroup
		for i := range 4 {
			adding.Go(func() {
				for range 5 {
					time.Sleep(time.Duration(i*7) * time.Millisecond)
					c.put(to)
				}
			})
		}
		adding.Wait()
		require.Eventually(t, func() bool { return c.left() == 0 }, 30*time.Second, 5*time.Millisecond)
	}
}

// A process that is killed during a job leaves it as running; after the next start the connection gets a new one.
func TestAJobOfAKilledProcessBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := begin(t)
		c.put(to)
		_, err := c.db.Exec("UPDATE river_job SET state = 'running', attempt = 1")
		require.NoError(t, err)
		stop := c.run()
		time.Sleep(time.Minute)
		require.Empty(t, c.jobs(), "River takes it for one under way")
		stop()
		require.NoError(t, c.s.Close())
		c.open()
		stop = c.run()
		time.Sleep(time.Second)
		require.Equal(t, []delivery.Send{to}, c.jobs())
		require.Zero(t, c.left())
		stop()
	})
}

// An import or a round of enrichment may take hours. River takes no such job for stuck, and doesn't start it again.
func TestAJobOfManyHoursIsWorkedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := begin(t)
		c.work = func() { time.Sleep(2 * time.Minute) }
		c.put(to)
		stop := c.run()
		time.Sleep(time.Second)
		_, err := c.db.Exec("UPDATE river_job SET attempted_at = '1999-12-31 12:00:00'") // as if it had begun then
		require.NoError(t, err)
		time.Sleep(4 * time.Minute)
		require.Equal(t, []delivery.Send{to}, c.jobs())
		stop()
	})
}

func TestAStopWaitsForTheJobUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := begin(t)
		c.work = func() { time.Sleep(3 * time.Second) }
		c.put(to)
		stop := c.run()
		time.Sleep(time.Second)
		stop()
		require.Zero(t, c.left())
	})
}

// A job that doesn't notice its end keeps no server from stopping.
func TestAStopDoesNotWaitForAJobForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := begin(t)
		c.work = func() { time.Sleep(time.Minute) }
		c.put(to)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := queue.Work(ctx, c.s.Queue(), queue.Crew[delivery.Send]{Work: c.take, AtOnce: 1000,
			Grace: 5 * time.Second, Due: c.due, Log: slog.New(slog.DiscardHandler),
			Failed: func(err error) { assert.NoError(c, err) }})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 36*time.Second, time.Since(began))
		time.Sleep(time.Minute) // River stops after all
	})
}

// Everything that this package promises holds on a Postgres server as well.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, "Added")
}
