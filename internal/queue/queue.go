// Package queue is the seam to River, the queue of jobs.
//
// There is one kind of job: [Send] asks for a look at what is due to be sent to one connection. River's table holds no
// schedule and nothing that outlives the process. What is sent, and when, is in the table deliveries; whoever makes
// some of it due inserts a Send in the same transaction, and so does the alarm of [Queue.Work] when time does.
//
// A Send is unique among those that have not ended. So one connection has one at a time, inserting another changes
// nothing, and the worker ends its job in a transaction that then looks for what has become due meanwhile: who inserts
// waits for that transaction, or is seen by it.
//
// A Queue is safe for concurrent use.
package queue

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"reprise/internal/library"
)

// Send asks for a look at what is due to be sent to a person's connection.
type Send struct {
	User       int64                `json:"user"`
	Connection library.ConnectionID `json:"connection"`
}

// Kind implements river.JobArgs.
func (Send) Kind() string { return "send" }

// unended are the states of jobs that have not ended.
var unended = []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled}

// InsertOpts implements river.JobArgsWithInsertOpts.
func (Send) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unended}}
}

// Queue is River's tables in one database.
type Queue struct {
	driver riverdriver.Driver[*sql.Tx]
	client *river.Client[*sql.Tx] // inserts and lists only
	// look has a value when the alarm is to look at what is due.
	look chan struct{}
}

// Open brings River's tables up to date, empties the one of jobs, and returns the queue in them. No other process may
// use them.
func Open(ctx context.Context, driver riverdriver.Driver[*sql.Tx], db *sql.DB) (*Queue, error) {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("migrate the queue: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate the queue: %w", err)
	}
	// River would take a job that a killed process was working on for one under way, for an hour.
	if _, err := db.ExecContext(ctx, "DELETE FROM river_job"); err != nil {
		return nil, fmt.Errorf("empty the queue: %w", err)
	}
	client, err := river.NewClient(driver, &river.Config{Logger: slog.New(slog.DiscardHandler),
		FetchCooldown: river.FetchCooldownMin})
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	return &Queue{driver: driver, client: client, look: make(chan struct{}, 1)}, nil
}

// Insert inserts jobs in a transaction.
func (q *Queue) Insert(ctx context.Context, tx *sql.Tx, all ...Send) error {
	if len(all) == 0 {
		return nil
	}
	jobs := make([]river.InsertManyParams, len(all))
	for i, one := range all {
		jobs[i].Args = one
	}
	_, err := q.client.InsertManyTx(ctx, tx, jobs)
	q.Look()
	return err
}

// Complete ends a job that is under way, in a transaction. It locks the job until the transaction ends.
func (q *Queue) Complete(ctx context.Context, tx *sql.Tx, job *river.Job[Send]) error {
	_, err := river.JobCompleteTx[riverdriver.Driver[*sql.Tx]](ctx, tx, job)
	return err
}

// Look has the alarm look soon at what is due: what waits has changed. It may be called in the transaction that changes
// it, because the alarm waits for that.
func (q *Queue) Look() {
	select {
	case q.look <- struct{}{}:
	default:
	}
}

// busy reports whether a job has not ended.
func (q *Queue) busy(ctx context.Context) (bool, error) {
	list, err := q.client.JobList(ctx, river.NewJobListParams().States(unended...).First(1))
	return err == nil && len(list.Jobs) > 0, err
}

// setBack returns by how much the system clock was set back between two instants; 0 for less than a second, which is
// not worth a statement.
func setBack(from, to time.Time) time.Duration {
	if by := to.Sub(from) - to.Round(0).Sub(from.Round(0)); !from.IsZero() && by >= time.Second {
		return by
	}
	return 0
}
