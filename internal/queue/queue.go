// Package queue is the seam to River, the job queue: no other package reads or writes River's tables, but to copy whole
// databases.
//
// River's own API inserts jobs, runs them and notes how each attempt ended. This package adds what that API lacks: it
// parks, releases, postpones and re-drives jobs that nobody is working on, ends a job in the transaction of the data
// that it was about, and describes jobs to queries. Each statement says why River's API does not do. A test compares
// the columns and states that the statements rely on with those of the River version in use.
//
// A job's row in the table deliveries has the same id and says whose delivery it is.
//
// A Queue is safe for concurrent use.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
)

// Config is what a Queue works on.
type Config struct {
	Driver riverdriver.Driver[*sql.Tx]
	Writer *sql.DB           // the only connection that writes; one that River's driver uses too
	Reader *sql.DB           // may be read while others write
	Wrap   func(error) error // adds advice to errors of the database; nil returns nil
}

// Queue is River's tables in one database.
type Queue struct {
	Jobs   // each statement a transaction of its own
	config Config
	client *river.Client[*sql.Tx] // inserts only
	lanes  *lanes
	quiet  quietDriver
	// changed has a value when jobs have changed since Keep looked at them.
	changed chan struct{}
}

// Open brings River's tables up to date and returns the queue in them.
func Open(ctx context.Context, c Config) (*Queue, error) {
	m, err := rivermigrate.New(c.Driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("migrate the queue: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate the queue: %w", c.Wrap(err))
	}
	client, err := river.NewClient(c.Driver, withDefaults(river.Config{}))
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	q := &Queue{config: c, client: client, lanes: newLanes(), changed: make(chan struct{}, 1)}
	q.quiet = quiet(c.Driver, q.lanes)
	q.Jobs = Jobs{advised{c.Writer, c.Wrap}, q.Look}
	return q, nil
}

// In returns Jobs whose changes are part of a transaction, and known to Keep when it is over.
func (q *Queue) In(tx *sql.Tx) Jobs { return Jobs{tx, q.Look} }

// withDefaults sets what all River clients have in common.
func withDefaults(c river.Config) *river.Config {
	c.Test.Time = clock{}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	// Jobs that have ended are removed together with their deliveries, not by River.
	c.CompletedJobRetentionPeriod, c.CancelledJobRetentionPeriod, c.DiscardedJobRetentionPeriod = -1, -1, -1
	return &c
}

// clock makes River use the process's clock for all times that it stores, not the database's.
type clock struct{}

func (clock) NowUTC() time.Time       { return time.Now().UTC() }
func (clock) NowUTCOrNil() *time.Time { now := time.Now().UTC(); return &now }

// Insert inserts a job in a transaction and returns its id. If there is one with the same unique key, that one stays as
// it is, and fresh is false.
func (q *Queue) Insert(ctx context.Context, tx *sql.Tx, args river.JobArgs, opts *river.InsertOpts) (
	id int64, fresh bool, err error) {
	result, err := q.client.InsertTx(ctx, tx, args, opts)
	if err != nil {
		return 0, false, err
	}
	q.Look()
	return result.Job.ID, !result.UniqueSkippedAsDuplicate, nil
}

// Touched returns a number that grows when jobs are taken, and when their ends are to be stored.
func (q *Queue) Touched() uint64 { return q.quiet.executor.touched.Load() }

// Backlog returns how many jobs of all people wait or run. Parked jobs do not count: they hold nobody up.
//
// River lists jobs page by page and counts none.
func (q *Queue) Backlog(ctx context.Context) (n int, err error) {
	const count = "SELECT count(*) FROM river_job WHERE " + unended + " AND NOT (" + parked + ")"
	err = q.config.Reader.QueryRowContext(ctx, count).Scan(&n)
	return n, q.config.Wrap(err)
}

// Running returns the ids of the jobs that are noted as running, with the time when each was taken.
//
// River's list of jobs has a limit and comes from the connection that writes.
func (q *Queue) Running(ctx context.Context) (map[int64]time.Time, error) {
	rows, err := q.config.Reader.QueryContext(ctx, "SELECT id, attempted_at FROM river_job WHERE state = 'running'")
	if err != nil {
		return nil, q.config.Wrap(err)
	}
	defer rows.Close()
	all := map[int64]time.Time{}
	for rows.Next() {
		var id int64
		var taken sql.NullTime
		if err := rows.Scan(&id, &taken); err != nil {
			return nil, q.config.Wrap(err)
		}
		all[id] = taken.Time
	}
	return all, q.config.Wrap(rows.Err())
}

// Counts returns how many jobs there are in each state, and when the oldest one was inserted that waits by itself; the
// zero time if there is none. Jobs of the kind notify that are not due yet are not late and do not count for oldest.
//
// River counts no jobs. All states but those that wait are counted from River's index alone: they may be many.
func (q *Queue) Counts(ctx context.Context) (counts map[State]int, oldest time.Time, err error) {
	// The first part tells Postgres that the last column is a time.
	const count = `SELECT 'running', count(*), 0, min(created_at) FROM river_job WHERE state = 'running'
		UNION ALL SELECT 'done', count(*), 0, NULL FROM river_job WHERE state = 'completed'
		UNION ALL SELECT 'dead', count(*), 0, NULL FROM river_job WHERE state IN ('cancelled', 'discarded')
		UNION ALL SELECT 'parked', count(*), 0, NULL FROM river_job WHERE ` + parked + `
		UNION ALL SELECT 'scheduled', count(*), COALESCE(sum(CASE WHEN attempt > 0 THEN 1 ELSE 0 END), 0),
		min(CASE WHEN kind = 'notify' AND attempt = 0 AND scheduled_at > $1 THEN NULL ELSE created_at END)
		FROM river_job WHERE ` + waiting + ` AND NOT (` + parked + `)`
	rows, err := q.config.Reader.QueryContext(ctx, count, Time(time.Now()))
	if err != nil {
		return nil, oldest, q.config.Wrap(err)
	}
	defer rows.Close()
	counts = map[State]int{}
	for rows.Next() {
		var state State
		var n, retrying int
		var first any
		if err := rows.Scan(&state, &n, &retrying, &first); err != nil {
			return nil, oldest, q.config.Wrap(err)
		}
		counts[state] += n - retrying
		counts[Retrying] += retrying
		at, bad := timeOf(first)
		err = errors.Join(err, bad)
		if !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at.UTC()
		}
	}
	return counts, oldest, q.config.Wrap(errors.Join(err, rows.Err()))
}
