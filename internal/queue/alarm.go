package queue

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	// lookEvery is the shortest time between two looks at what is due.
	lookEvery = 20 * time.Millisecond
	// longestSleep bounds how late a look is after the machine was asleep, while something waits.
	longestSleep = time.Minute
)

// Due is how many jobs of a queue are due and not taken.
type Due struct {
	Queue string
	Count int
}

// Look has Keep look soon at what is due: a job's state or time was changed.
func (q *Queue) Look() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// Keep has Work take the jobs of each queue when they are due, until ctx ends. It looks at the jobs when they change
// and when the next one is due; while none waits it does nothing. Told, called when jobs have become due, and
// failed, called with errors of the database, must not block.
func (q *Queue) Keep(ctx context.Context, told func(Due), failed func(error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var looked time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-q.changed:
			if wait := lookEvery - time.Since(looked); wait > 0 {
				timer.Reset(wait)
				continue
			}
		}
		from := looked
		looked = time.Now()
		if by := setBack(from, looked); by > 0 {
			if err := q.Earlier(ctx, by); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}
		next, err := q.wake(ctx, from, looked, told)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failed(err)
			timer.Reset(time.Second)
		case next.IsZero():
			timer.Stop()
		default:
			timer.Reset(min(time.Until(next)+Precision, longestSleep))
		}
	}
}

// setBack returns by how much the system clock was set back between two instants; 0 for less than a second, which is
// not worth a statement.
func setBack(from, to time.Time) time.Duration {
	if by := to.Sub(from) - to.Round(0).Sub(from.Round(0)); !from.IsZero() && by >= time.Second {
		return by
	}
	return 0
}

// Earlier makes jobs that wait due earlier by a time, because the system clock was set back by that. First messages
// wait for a time of day and stay, as what is parked.
//
// River's times are those of the system clock, and it does not notice when somebody sets it.
func (q *Queue) Earlier(ctx context.Context, by time.Duration) error {
	const look = "SELECT id, scheduled_at FROM river_job WHERE " + waiting + " AND NOT (" + parked + `)
		AND scheduled_at > $1 AND NOT (kind = 'notify' AND attempt = 0)`
	now := time.Now()
	rows, err := q.config.Reader.QueryContext(ctx, look, Time(now))
	if err != nil {
		return q.config.Wrap(err)
	}
	defer rows.Close()
	due := map[int64]time.Time{}
	for rows.Next() {
		var id int64
		var at time.Time
		if err := rows.Scan(&id, &at); err != nil {
			return q.config.Wrap(err)
		}
		due[id] = at
	}
	err = errors.Join(rows.Err(), rows.Close())
	for id, at := range due {
		_, bad := q.db.ExecContext(ctx, "UPDATE river_job SET scheduled_at = $1 WHERE id = $2 AND "+waiting,
			Time(at.Add(-by)), id)
		err = errors.Join(err, bad)
	}
	return q.config.Wrap(err)
}

// wake rings for the queues with due jobs, and returns when the next job will be due; zero if none will. It
// tells of queues in which jobs have become due after from.
//
// River makes jobs available to workers every five seconds only, and asks the database each time.
func (q *Queue) wake(ctx context.Context, from, now time.Time, told func(Due)) (next time.Time, err error) {
	// The writer is one connection, so this waits for a transaction that has changed a job and is not over.
	const look = `SELECT queue, CASE WHEN scheduled_at <= $1 THEN 1 ELSE 0 END AS due, count(*), min(scheduled_at),
		sum(CASE WHEN scheduled_at > $2 THEN 1 ELSE 0 END), sum(CASE WHEN state = 'available' THEN 0 ELSE 1 END)
		FROM river_job WHERE ` + waiting + ` AND scheduled_at < '2200-01-01' GROUP BY 1, 2`
	rows, err := q.config.Writer.QueryContext(ctx, look, Time(now), Time(from))
	if err != nil {
		return next, q.config.Wrap(err)
	}
	defer rows.Close()
	var ready []Due
	var news []bool
	asleep := 0
	for rows.Next() {
		var first any
		var d Due
		var due, fresh, unavailable int
		if err := rows.Scan(&d.Queue, &due, &d.Count, &first, &fresh, &unavailable); err != nil {
			return next, q.config.Wrap(err)
		}
		if due == 1 {
			ready, news, asleep = append(ready, d), append(news, fresh > 0), asleep+unavailable
			continue
		}
		at, err := timeOf(first)
		if err != nil {
			return next, err
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return next, q.config.Wrap(err)
	}
	if asleep > 0 {
		_, err = q.db.ExecContext(ctx, `UPDATE river_job SET state = 'available'
			WHERE state IN ('scheduled', 'retryable') AND scheduled_at <= $1`, Time(now))
	}
	for i, d := range ready {
		q.lanes.ring(d.Queue)
		if news[i] {
			told(d)
		}
	}
	return next, err
}

// timeOf reads a time that a query has computed: SQLite types columns, not expressions. River writes the times of
// attempts to come with a zone, which is always UTC.
func timeOf(v any) (time.Time, error) {
	if text, ok := v.(string); ok {
		text, _, _ = strings.Cut(text, " +")
		return time.Parse(timeForm, text)
	}
	at, _ := v.(time.Time)
	return at, nil
}
