package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// take takes the first due job of each of these queues, in one transaction. It leaves out of them what nobody needs to
// work them: their earlier errors, and what makes them unique.
//
// River takes jobs of one queue at a time, and any number of them, while those of ours keep their order.
func (e *quietExecutor) take(ctx context.Context, queues []string, now time.Time) ([]*rivertype.JobRow, error) {
	tx, err := e.Executor.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit it does nothing
	jobs, err := takeFirst(ctx, e.driver.UnwrapTx(tx), queues, now)
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	return jobs, tx.Commit(ctx)
}

func takeFirst(ctx context.Context, tx *sql.Tx, queues []string, now time.Time) (jobs []*rivertype.JobRow, err error) {
	args := []any{Time(now)}
	for _, queue := range padded(queues) {
		args = append(args, queue)
	}
	rows, err := tx.QueryContext(ctx, `WITH lane (queue) AS (VALUES `+places("(%s)", 2, len(args))+`)
		UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = $1
		WHERE id IN (SELECT (SELECT id FROM river_job j WHERE state = 'available' AND j.queue = lane.queue
		AND scheduled_at <= $1 ORDER BY priority, scheduled_at, id LIMIT 1) FROM lane)
		RETURNING id, args, attempt, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		j := &rivertype.JobRow{State: rivertype.JobStateRunning, AttemptedAt: &now}
		err := rows.Scan(&j.ID, &j.EncodedArgs, &j.Attempt, &j.CreatedAt, &j.Kind, &j.MaxAttempts, &j.Metadata,
			&j.Priority, &j.Queue, &j.ScheduledAt)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, errors.Join(rows.Err(), rows.Close())
}

// complete notes that jobs are done, in one statement, and returns them.
//
// River's driver for SQLite has a statement for each job. Both of its drivers read them again.
func (e *quietExecutor) complete(ctx context.Context, ids []int64) ([]*rivertype.JobRow, error) {
	now := time.Now().UTC()
	args := []any{Time(now)}
	for _, id := range padded(ids) {
		args = append(args, id)
	}
	err := e.Executor.Exec(ctx, `UPDATE river_job SET state = 'completed', finalized_at = $1
		WHERE state = 'running' AND id IN (`+places("%s", 2, len(args))+")", args...)
	if err != nil {
		return nil, err
	}
	jobs := e.lanes.jobs(ids)
	e.lanes.forget(ids)
	for i, job := range jobs {
		done := *job // others may still read it
		done.State, done.FinalizedAt = rivertype.JobStateCompleted, &now
		jobs[i] = &done
	}
	return jobs, nil
}

// divide returns the ids of the jobs that are done, with nothing else to note, and what is to be noted of the others.
func divide(p *riverdriver.JobSetStateIfRunningManyParams) (
	done []int64, others *riverdriver.JobSetStateIfRunningManyParams) {
	others = &riverdriver.JobSetStateIfRunningManyParams{Now: p.Now, Schema: p.Schema}
	for i, id := range p.ID {
		if p.State[i] == rivertype.JobStateCompleted && !p.MetadataDoMerge[i] {
			done = append(done, id)
			continue
		}
		others.ID = append(others.ID, id)
		others.Attempt = append(others.Attempt, p.Attempt[i])
		others.ErrData = append(others.ErrData, p.ErrData[i])
		others.FinalizedAt = append(others.FinalizedAt, p.FinalizedAt[i])
		others.MetadataDoMerge = append(others.MetadataDoMerge, p.MetadataDoMerge[i])
		others.MetadataUpdates = append(others.MetadataUpdates, p.MetadataUpdates[i])
		others.ScheduledAt = append(others.ScheduledAt, p.ScheduledAt[i])
		others.State = append(others.State, p.State[i])
	}
	return done, others
}

// padded returns a list with its last entry repeated up to a power of two, so that there are few texts of statements,
// which databases keep prepared.
func padded[T any](list []T) []T {
	for len(list)&(len(list)-1) != 0 {
		list = append(list, list[len(list)-1])
	}
	return list
}

// places returns placeholders from a number to another in a form, with commas between them.
func places(form string, from, to int) string {
	all := make([]string, 0, to-from+1)
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf(form, fmt.Sprintf("$%d", n)))
	}
	return strings.Join(all, ", ")
}
