package queue

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
)

// Crew is what Work works jobs with.
type Crew struct {
	Worker river.Worker[Send]
	// Due inserts jobs for what has become due after a time and until another one, and returns when more becomes due;
	// zero for never.
	Due func(ctx context.Context, after, until time.Time) (next time.Time, err error)
	// Earlier makes what waits due earlier by a time, because the system clock was set back by that.
	Earlier func(ctx context.Context, by time.Duration) error
	Log     *slog.Logger // River's
	Failed  func(error)  // is called with errors of the database, and must not block
}

const (
	// mostAtOnce is how many jobs are under way at most.
	mostAtOnce = 1000
	// restAfter is how often it is asked whether there is still something to do.
	restAfter = 5 * time.Second
	// stopGrace is how long a stop waits for the jobs under way before it cuts them off.
	stopGrace = 5 * time.Second
	// pollEvery is how often River looks for jobs where nothing notifies it, and for those that it has missed.
	pollEvery = 100 * time.Millisecond
	// keepEnded is how long River keeps a job that has ended. Nothing reads it.
	keepEnded = time.Minute
	// lookEvery is the shortest time between two looks at what is due.
	lookEvery = 20 * time.Millisecond
	// longestSleep bounds how late a look is after the machine was asleep, while something waits.
	longestSleep = time.Minute
)

// alarm starts and stops River, which asks its database all the time, and wakes it for what becomes due.
type alarm struct {
	*Queue
	Crew
	client *river.Client[*sql.Tx]
	runs   bool
	looked time.Time // for what was due
	asked  time.Time // whether there is something to do, while River runs
}

// Work has the worker work jobs until ctx ends, and returns when every job has ended. River runs while there are jobs:
// without any, nothing is asked of the database until something is due or changes.
func (q *Queue) Work(ctx context.Context, c Crew) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, c.Worker)
	client, err := river.NewClient(q.driver, &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: mostAtOnce}},
		Logger: c.Log, SoftStopTimeout: stopGrace, CompletedJobRetentionPeriod: keepEnded,
		FetchCooldown: river.FetchCooldownMin, FetchPollInterval: pollEvery})
	if err != nil {
		return fmt.Errorf("open queue: %w", err)
	}
	a := &alarm{Queue: q, Crew: c, client: client}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return a.stop(ctx)
		case <-timer.C:
		case <-q.look:
			if wait := lookEvery - time.Since(a.looked); wait > 0 && !a.looked.IsZero() {
				timer.Reset(wait)
				continue
			}
		}
		sleep, err := a.once(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			c.Failed(err)
			timer.Reset(time.Second)
		case sleep == 0:
			timer.Stop()
		default:
			timer.Reset(sleep)
		}
	}
}

// once has jobs inserted for what is due, and River run if there are any. It returns when it is to be called again; 0
// for not before a look.
func (a *alarm) once(ctx context.Context) (sleep time.Duration, err error) {
	now := time.Now()
	if by := setBack(a.looked, now); by > 0 {
		if err := a.Earlier(ctx, by); err != nil {
			return 0, err
		}
		a.looked = a.looked.Round(0).Add(-by)
	}
	next, err := a.Due(ctx, a.looked, now)
	if err != nil {
		return 0, err
	}
	a.looked = now
	if !a.runs || now.Sub(a.asked) >= restAfter {
		busy, err := a.busy(ctx)
		if err == nil && busy != a.runs {
			err = a.turn(ctx, busy)
		}
		if err != nil {
			return 0, err
		}
		a.asked = now
	}
	if !next.IsZero() {
		sleep = max(min(time.Until(next), longestSleep), time.Millisecond)
	}
	if a.runs && (sleep == 0 || sleep > restAfter) {
		sleep = restAfter
	}
	return sleep, nil
}

// turn starts River, or stops it.
func (a *alarm) turn(ctx context.Context, on bool) error {
	if !on {
		return a.stop(ctx)
	}
	if err := a.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	a.runs = true
	return nil
}

// stop stops River. It returns when every job has ended.
func (a *alarm) stop(ctx context.Context) error {
	if !a.runs {
		return nil
	}
	a.runs = false
	if err := a.client.Stop(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("stop queue: %w", err)
	}
	return nil
}
