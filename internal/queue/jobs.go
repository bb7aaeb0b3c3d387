package queue

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// execer runs a statement: the database, or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// advised adds advice to the errors of a database.
type advised struct {
	execer
	wrap func(error) error
}

func (a advised) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := a.execer.ExecContext(ctx, query, args...)
	return result, a.wrap(err)
}

// Jobs changes jobs. None of its methods touches a running job unless it says so.
type Jobs struct {
	db      execer
	changed func() // is called after every change; nil for changes that make nothing due
}

// In returns Jobs whose changes are part of a transaction, for changes that make nothing due; see [Queue.In].
func In(tx *sql.Tx) Jobs { return Jobs{db: tx} }

// exec runs a statement in which @ids means the selected jobs, and @1, @2 … the arguments. It returns how many rows
// changed.
func (j Jobs) exec(ctx context.Context, w Which, statement string, args ...any) (int, error) {
	if w.ids == "" {
		return 0, nil
	}
	names := []string{"@ids", w.ids}
	for i := range args {
		names = append(names, fmt.Sprintf("@%d", i+1), fmt.Sprintf("$%d", len(w.args)+i+1))
	}
	all := append(slices.Clone(w.args), args...)
	result, err := j.db.ExecContext(ctx, strings.NewReplacer(names...).Replace(statement), all...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	if n > 0 && j.changed != nil {
		j.changed()
	}
	return int(n), err
}

// Park makes jobs wait for a person.
//
// River reschedules only the job that a worker has, by its snooze.
func (j Jobs) Park(ctx context.Context, w Which) error {
	_, err := j.exec(ctx, w, `UPDATE river_job SET state = 'scheduled', scheduled_at = `+never+`
		WHERE `+waiting+` AND NOT (`+parked+`) AND id IN (@ids)`)
	return err
}

// Release makes parked jobs due, in the order in which they were inserted.
//
// River's retry takes one job at a time, parked or not, and gives each its own time.
func (j Jobs) Release(ctx context.Context, w Which) error {
	_, err := j.exec(ctx, w, `UPDATE river_job SET state = 'available', scheduled_at = @1
		WHERE `+parked+` AND id IN (@ids)`, Time(time.Now()))
	return err
}

// Apart separates postponed jobs that are to keep their order: River notes when a job is due a little late, but never
// by this much.
const Apart = 200 * time.Millisecond

// Precision is more than what is lost of a time that River stores.
const Precision = 2 * time.Millisecond

// postponeAtOnce limits what one Postpone changes. The other jobs are postponed when it is their turn.
const postponeAtOnce = 500

// Postpone makes jobs that are due before a time wait until then, in their order: those inserted before the job with
// this id a little earlier than the others, also if an earlier Postpone had them wait a little longer. It leaves alone
// jobs that wait after a failure.
//
// River reschedules only the job that a worker has, by its snooze.
func (j Jobs) Postpone(ctx context.Context, w Which, id int64, until time.Time) error {
	_, err := j.exec(ctx, w, `UPDATE river_job
		SET state = 'scheduled', scheduled_at = CASE WHEN id < @1 THEN @2 ELSE @3 END
		WHERE id IN (SELECT id FROM river_job WHERE state IN ('available', 'scheduled')
		AND (scheduled_at < @2 OR id < @1 AND scheduled_at > @2 AND scheduled_at <= @3)
		AND id IN (@ids) ORDER BY id LIMIT @4)`,
		id, Time(until.Add(-Apart)), Time(until.Add(Apart)), postponeAtOnce)
	return err
}

// Resume makes a job due that is noted as running although nobody works on it.
//
// River's rescuer goes by the time that has passed, which a corrected clock gets wrong, and its retry leaves running
// jobs alone.
func (j Jobs) Resume(ctx context.Context, id int64) error {
	_, err := j.exec(ctx, One(id), `UPDATE river_job SET state = 'available'
		WHERE state = 'running' AND id IN (@ids)`)
	return err
}

// redriveIn is when re-driven jobs are due: not before River has noted how the last attempt ended.
const redriveIn = time.Second

// Redrive makes dead and retrying jobs due with all their attempts, and returns how many there were.
//
// River's retry keeps the attempts that are used up.
func (j Jobs) Redrive(ctx context.Context, w Which) (int, error) {
	return j.exec(ctx, w, `UPDATE river_job
		SET state = 'available', attempt = 0, finalized_at = NULL, scheduled_at = @1
		WHERE (state IN ('cancelled', 'discarded') OR `+waiting+` AND attempt > 0 AND NOT (`+parked+`))
		AND id IN (@ids)`, Time(time.Now().Add(redriveIn)))
}

// TryAgain makes dead jobs due for one more attempt each, and returns how many there were.
//
// River's retry takes one job at a time, and so does not see all of them in one transaction.
func (j Jobs) TryAgain(ctx context.Context, w Which) (int, error) {
	return j.exec(ctx, w, `UPDATE river_job SET state = 'available', finalized_at = NULL, scheduled_at = @1,
		max_attempts = CASE WHEN attempt >= max_attempts THEN attempt + 1 ELSE max_attempts END
		WHERE state IN ('cancelled', 'discarded') AND id IN (@ids)`, Time(time.Now()))
}

// DueNow makes a job due that waits and is not parked.
//
// River's retry would also bring back a dead job, and release a parked one.
func (j Jobs) DueNow(ctx context.Context, id int64) error {
	_, err := j.exec(ctx, One(id), `UPDATE river_job SET state = 'available', scheduled_at = @1
		WHERE `+waiting+` AND NOT (`+parked+`) AND id IN (@ids)`, Time(time.Now()))
	return err
}

// Hasten makes jobs due that wait and are not parked, in the order in which they were inserted.
//
// River's retry takes one job at a time, and would also bring back dead ones.
func (j Jobs) Hasten(ctx context.Context, w Which) error {
	_, err := j.exec(ctx, w, `UPDATE river_job SET state = 'available', scheduled_at = @1
		WHERE `+waiting+` AND NOT (`+parked+`) AND scheduled_at > @1 AND id IN (@ids)`, Time(time.Now()))
	return err
}

// DueBy makes a job due at a time, if that is earlier than planned. A job that is parked, or waits after a failure,
// stays as it is unless released is set.
//
// River's retry makes a job due at once and nothing else.
func (j Jobs) DueBy(ctx context.Context, id int64, at time.Time, released bool) error {
	allowed := "state IN ('available', 'scheduled') AND NOT (" + parked + ")"
	if released {
		allowed = waiting
	}
	_, err := j.exec(ctx, One(id), `UPDATE river_job SET state = 'available', scheduled_at = @1
		WHERE `+allowed+` AND scheduled_at >= @1 AND id IN (@ids)`, Time(at))
	return err
}

// End ends a running job, as done or as dead, in the transaction of what it was about. What River notes for the job
// afterwards changes nothing.
//
// River completes a job in a transaction but cannot cancel it there, and asks for the job instead of its id.
func (j Jobs) End(ctx context.Context, id int64, done bool) error {
	state := "cancelled"
	if done {
		state = "completed"
	}
	_, err := j.exec(ctx, One(id), `UPDATE river_job SET state = @1, finalized_at = @2
		WHERE state = 'running' AND id IN (@ids)`, state, Time(time.Now()))
	return err
}

// Defer makes a running job wait until a time, without using up its attempt, in the transaction of what it is about.
//
// River notes a snooze later, in a transaction of its own.
func (j Jobs) Defer(ctx context.Context, id int64, until time.Time) error {
	_, err := j.exec(ctx, One(id), `UPDATE river_job SET state = 'scheduled', scheduled_at = @1,
		attempt = CASE WHEN attempt > 0 THEN attempt - 1 ELSE 0 END WHERE state = 'running' AND id IN (@ids)`,
		Time(until))
	return err
}

// Bury makes a job dead that has just been inserted, as if its one attempt had failed.
//
// River inserts no job that has ended, and its cancel counts no attempt.
func (j Jobs) Bury(ctx context.Context, id int64) error {
	_, err := j.exec(ctx, One(id), `UPDATE river_job SET state = 'cancelled', attempt = 1, finalized_at = @1
		WHERE id IN (@ids)`, Time(time.Now()))
	return err
}

// Ended gives a job that has just been inserted the end that it had at an earlier time.
//
// River inserts no job that has ended.
func (j Jobs) Ended(ctx context.Context, id int64, created, ended time.Time) error {
	_, err := j.exec(ctx, One(id), `UPDATE river_job SET state = 'completed', attempt = 1, created_at = @1,
		scheduled_at = @1, attempted_at = @2, finalized_at = @2 WHERE id IN (@ids)`, Time(created), Time(ended))
	return err
}

// settleFor is how long a job stays that End has ended: River notes ends in batches, up to a quarter of a second late,
// and must find the row then.
const settleFor = 2 * time.Second

// endedEarly are the kinds of jobs that End ends.
const endedEarly = "'write_playlist', 'archive', 'notify'"

// Remove deletes jobs, except those that End has just ended, and returns how many.
//
// River deletes by id, kind, queue and state, not by owner, and knows nothing of End.
func (j Jobs) Remove(ctx context.Context, w Which) (int, error) {
	return j.exec(ctx, w, `DELETE FROM river_job WHERE state <> 'running' AND id IN (@ids)
		AND (kind NOT IN (`+endedEarly+`) OR finalized_at IS NULL OR finalized_at < @1)`,
		Time(time.Now().Add(-settleFor)))
}

// Forget deletes jobs that ended long ago.
//
// River loads each job that it deletes.
func (j Jobs) Forget(ctx context.Context, w Which) error {
	_, err := j.exec(ctx, w, "DELETE FROM river_job WHERE state <> 'running' AND id IN (@ids)")
	return err
}
