package queue

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Crew is what Work works the jobs of a kind with.
type Crew[T river.JobArgs] struct {
	// Work works a job, and ends it with Complete or End. After an error River works it again, a second later.
	Work   func(ctx context.Context, job *river.Job[T]) error
	AtOnce int           // how many jobs are under way at most
	Grace  time.Duration // how long a stop waits for the jobs under way before it cuts them off
	// Due returns jobs for what has become due after a time and until another one, and when more becomes due; zero for
	// never. No two are the same, but a job that has not ended may be among them.
	Due func(ctx context.Context, after, until time.Time) (jobs []T, next time.Time, err error)
	// Earlier makes what waits due earlier by a time, because the system clock was set back by that. Nil if what waits
	// doesn't depend on that clock.
	Earlier func(ctx context.Context, by time.Duration) error
	Log     *slog.Logger // of River's errors
	Failed  func(error)  // is called with errors of the database, and must not block
}

const (
	// restAfter is how often it is asked whether there is still something to do.
	restAfter = 5 * time.Second
	// pollEvery is how often River looks for jobs where nothing notifies it, and for those that it has missed.
	pollEvery = 100 * time.Millisecond
	// keepEnded is how long River keeps a job that has ended. Nothing reads it.
	keepEnded = time.Minute
	// never is how long a job must have been under way for River to take it for stuck, and to start it again. None is:
	// a job may take hours, and those of a dead process went when the table was emptied at the start.
	never = 10 * 365 * 24 * time.Hour
	// storedWithin is how long the transaction of another server may take that makes something due at its beginning, or
	// earlier by its clock. What is under way already is inserted again in vain.
	storedWithin = 20 * time.Second
	// lookEvery is the shortest time between two looks at what is due.
	lookEvery = 20 * time.Millisecond
	// stopWithin is how long a stop waits for River beyond the grace that jobs have.
	stopWithin = 30 * time.Second
	// longestSleep bounds how late a look is after the machine was asleep, while something waits.
	longestSleep = time.Minute
)

// errorsOnly passes on errors, and drops what River logs at each start and stop.
type errorsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

// soon is when River works a job again that has failed. It is so soon that River needs no scheduler for it.
type soon struct{}

// NextRetry implements river.ClientRetryPolicy.
func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(time.Second) }

// Again returns the next time of something that is done regularly: up to a tenth later than the interval, so that
// installations do not call in step.
func Again(now time.Time, every time.Duration) time.Time {
	return now.Add(time.Duration(float64(every) * (1 + 0.1*rand.Float64())))
}

// alarm starts and stops River, which asks its database all the time, and wakes it for what becomes due.
type alarm[T river.JobArgs] struct {
	*Queue
	Crew[T]
	kind   string
	client *river.Client[*sql.Tx]
	runs   bool
	news   bool      // jobs may have been inserted since River stopped
	looked time.Time // for what was due
	asked  time.Time // whether there is something to do, while River runs
}

// Work has the worker work the jobs of a kind until ctx ends, and returns when every job has ended. River runs while
// there are jobs: without any, nothing is asked of the database until something is due or changes. Each kind has a
// River of its own, so that one that takes hours keeps no other running.
func Work[T river.JobArgs](ctx context.Context, q *Queue, c Crew[T]) error {
	var of T
	workers, kind := river.NewWorkers(), of.Kind()
	river.AddWorker(workers, river.WorkFunc(c.Work))
	client, err := river.NewClient(q.driver, &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{q.queueOf(kind): {MaxWorkers: c.AtOnce}},
		JobTimeout: -1, RetryPolicy: soon{}, RescueStuckJobsAfter: never, CompletedJobRetentionPeriod: keepEnded,
		FetchCooldown: river.FetchCooldownMin, FetchPollInterval: pollEvery,
		SoftStopTimeout: max(c.Grace, time.Millisecond), Logger: slog.New(errorsOnly{c.Log.Handler()})})
	if err != nil {
		return fmt.Errorf("open queue: %w", err)
	}
	look := q.look(kind)
	a := &alarm[T]{Queue: q, Crew: c, kind: kind, client: client, news: true}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return a.stop(ctx)
		case <-timer.C:
		case <-look:
			a.news = true
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
func (a *alarm[T]) once(ctx context.Context) (sleep time.Duration, err error) {
	now := time.Now()
	if by := setBack(a.looked, now); by > 0 && a.Earlier != nil {
		if err := a.Earlier(ctx, by); err != nil {
			return 0, err
		}
		a.looked = a.looked.Round(0).Add(-by)
	}
	after := a.looked
	if a.server != "" { // what another server stores may be due before it can be seen
		after = after.Add(-storedWithin)
	}
	if _, again := a.again.LoadAndDelete(a.kind); again {
		after = time.Time{}
	}
	jobs, next, err := a.Due(ctx, after, now)
	if err == nil && len(jobs) > 0 {
		err = a.write(ctx, func(tx *sql.Tx) error { return insert(ctx, a.Queue, tx, jobs) })
	}
	if err != nil {
		if after.IsZero() {
			a.again.Store(a.kind, true)
		}
		return 0, err
	}
	a.looked, a.news = now, a.news || len(jobs) > 0
	if !a.runs && a.news || a.runs && now.Sub(a.asked) >= restAfter {
		if err := a.rest(ctx); err != nil {
			return 0, err
		}
		a.asked, a.news = now, false
	}
	if !next.IsZero() {
		sleep = max(min(time.Until(next), longestSleep), time.Millisecond)
	}
	if a.runs && (sleep == 0 || sleep > restAfter) {
		sleep = restAfter
	}
	return sleep, nil
}

// rest starts River if there is a job that has not ended, and stops it if there is none.
func (a *alarm[T]) rest(ctx context.Context) error {
	busy, err := a.busy(ctx, a.kind)
	switch {
	case err != nil || busy == a.runs:
		return err
	case !busy:
		return a.stop(ctx)
	}
	if err := a.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	a.runs = true
	return nil
}

// stop stops River. It returns when every job has ended, or with an error when one has not within the grace and
// stopWithin, or its end can't be noted: River goes on trying that while the database refuses it.
func (a *alarm[T]) stop(ctx context.Context) error {
	if !a.runs {
		return nil
	}
	a.runs = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(a.Grace, 0)+stopWithin)
	defer cancel()
	if err := a.client.Stop(ctx); err != nil {
		return fmt.Errorf("stop queue: %w", err)
	}
	return nil
}
