package queue

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Crew is what Work works jobs with. Its functions must not block.
type Crew struct {
	Workers *river.Workers
	AtOnce  func() int         // how many jobs may be under way
	Timeout time.Duration      // deadline of an attempt
	Log     *slog.Logger       // River's; nil for none
	Ended   func(*river.Event) // called when the end of an attempt is stored
	Failed  func(error)        // called with errors of the database
}

const (
	// mostAtOnce is how many jobs are under way at most, whatever AtOnce says.
	mostAtOnce = 1000
	// restAfter is how long there is nothing to do before River is stopped.
	restAfter = 5 * time.Second
	// stopGrace is how long a stop waits for the attempts under way before it cuts them off.
	stopGrace = 5 * time.Second
	// pollEvery is how often River looks for jobs by itself. It is woken for what is due, so this only catches what it
	// missed because of an error of the database.
	pollEvery = time.Minute
	// stuckAfter is longer than any attempt takes; see quietDriver.
	stuckAfter = 10 * 365 * 24 * time.Hour
)

// queueOf is the queue of a delivery.
const queueOf = `(SELECT replace(connection, '.', '_') || '_' || user_id FROM deliveries d WHERE d.id = river_job.id)`

// Work works the jobs that Keep finds due until ctx ends, those of a queue one after the other, and returns when every
// attempt has ended. Jobs that were running when the previous process died are due again.
//
// River would find those only after RescueStuckJobsAfter. It runs while there are jobs: its timers would wake the
// processor twenty times a second.
func (q *Queue) Work(ctx context.Context, c Crew) error {
	q.quiet.executor.crew.Store(&c)
	for _, left := range []string{
		"UPDATE river_job SET state = 'available' WHERE state = 'running'",
		// Several connections shared a queue in earlier versions.
		"UPDATE river_job SET queue = " + queueOf + " WHERE " + waiting + " AND queue <> " + queueOf,
		"DELETE FROM river_leader", // of earlier versions, which were elected in the database
		"DELETE FROM river_queue",  // of earlier versions, which noted there which queues they worked
	} {
		if _, err := q.db.ExecContext(ctx, left); err != nil {
			return err
		}
	}
	q.Look()
	for ctx.Err() == nil {
		if !q.lanes.waiting() {
			select {
			case <-ctx.Done():
			case <-q.lanes.rung:
			}
			continue
		}
		if err := q.workWhileDue(ctx, c); err != nil {
			c.Failed(err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
	return nil
}

// workWhileDue runs River until there has been nothing to do for a while, or ctx ends.
func (q *Queue) workWhileDue(ctx context.Context, c Crew) error {
	client, err := river.NewClient(q.quiet, withDefaults(river.Config{
		Workers: c.Workers, JobTimeout: c.Timeout, Logger: c.Log, RescueStuckJobsAfter: stuckAfter,
		FetchCooldown: river.FetchCooldownMin, FetchPollInterval: pollEvery,
		Queues:     map[string]river.QueueConfig{everyQueue: {MaxWorkers: mostAtOnce}},
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(q.lanes.work)}}))
	if err != nil {
		return fmt.Errorf("open queue: %w", err)
	}
	changes, unsubscribe := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed,
		river.EventKindJobCancelled, river.EventKindJobSnoozed)
	defer unsubscribe()
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start queue: %w", q.config.Wrap(err))
	}
	rest := time.NewTicker(restAfter)
	defer rest.Stop()
	for seen := q.Touched(); ; {
		select {
		case <-ctx.Done():
			return stop(ctx, client)
		case e := <-changes:
			c.Ended(e)
		case <-rest.C:
			touched := q.Touched()
			if touched == seen && q.lanes.resting() {
				return stop(ctx, client) // a ring meanwhile starts River again
			}
			seen = touched
		}
	}
}

// stop stops a client. Attempts that are cut off are due again.
func stop(ctx context.Context, client *river.Client[*sql.Tx]) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := client.Stop(grace); err != nil {
		return client.StopAndCancel(context.WithoutCancel(ctx))
	}
	return nil
}
