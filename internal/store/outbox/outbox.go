package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"reprise/internal/delivery"
	"reprise/internal/queue"
	"reprise/internal/store/db"
)

// Queue returns the queue in this database. A store that was opened beside a server has none.
func (s *Store) Queue() *queue.Queue { return s.Jobs }

// Pending is the condition that a delivery is attempted when it is due. The indexes deliveries_due and deliveries_next
// have it, word by word.
const Pending = "state IN ('scheduled', 'retrying')"

// Waiting is an SQL expression for the state of a delivery that begins to wait.
const Waiting = "CASE WHEN attempts > 0 THEN 'retrying' ELSE 'scheduled' END"

// hasState returns an SQL condition that a delivery d is in one of these states.
func hasState(states ...delivery.State) string {
	all := make([]string, len(states))
	for i, state := range states {
		all[i] = "'" + string(state) + "'"
	}
	return "d.state IN (" + strings.Join(all, ", ") + ")"
}

// DueMillis returns a time as it is stored of what is due: not before that time.
func DueMillis(t time.Time) int64 { return db.Millis(t.Add(time.Millisecond - 1)) }

// Due returns the deliveries that became due after a time and until another one, by connection, and when the next one
// becomes due; zero if none does.
func (s *Store) Due(ctx context.Context, after, until time.Time) (all []delivery.Due, next time.Time, err error) {
	// The writer is one connection, so this waits for a transaction that has changed what waits and is not over.
	all, err = byConnection(ctx, s.db.Writer, Pending+" AND due_at > $1 AND due_at <= $2", db.Millis(after),
		db.Millis(until))
	if err != nil {
		return nil, next, err
	}
	var first sql.NullInt64
	err = s.db.Writer.QueryRowContext(ctx, "SELECT min(due_at) FROM deliveries WHERE "+Pending+" AND due_at > $1",
		db.Millis(until)).Scan(&first)
	return all, db.Instant(first.Int64), db.Explain(err)
}

// byConnection counts deliveries by connection.
func byConnection(ctx context.Context, q db.Querier, condition string, args ...any) ([]delivery.Due, error) {
	scan := func(r db.Scanner) (d delivery.Due, err error) {
		return d, r.Scan(&d.User, &d.Connection, &d.Count, &d.App, &d.Gone)
	}
	return db.List(ctx, q, scan, `SELECT d.user_id, d.connection, d.n, coalesce(c.app, ''),
			CASE WHEN c.user_id IS NULL THEN 1 ELSE 0 END
		FROM (SELECT user_id, connection, count(*) AS n FROM deliveries WHERE `+condition+`
			GROUP BY user_id, connection) d
		LEFT JOIN connections c ON c.user_id = d.user_id AND c.connection = d.connection`, args...)
}

// Resume makes the deliveries to some connections due that are noted as running. Nobody may be working on them.
func (s *Store) Resume(ctx context.Context, which func(delivery.Due) bool) error {
	all, err := byConnection(ctx, s.db.Reader, "state = 'running'")
	for _, d := range all {
		if err == nil && which(d) {
			err = s.db.ExecFor(ctx, d.User, "UPDATE deliveries SET state = 'retrying', due_at = $3 WHERE "+OfConnection+
				" AND state = 'running'", d.User, d.Connection, db.Millis(time.Now()))
		}
	}
	return err
}

// Take notes the oldest deliveries that are due to a connection as running, at most so many, and returns them. Those
// that are noted as running already are among them: their ends could not be stored.
func (s *Store) Take(ctx context.Context, to delivery.Send, most int) ([]delivery.Taken, error) {
	scan := func(r db.Scanner) (d delivery.Taken, err error) {
		var created int64
		err = r.Scan(&d.ID, &d.Kind, &d.Ref, &d.Schema, &created, &d.History, &d.Items, &d.Number, &d.Most)
		d.User, d.Connection, d.CreatedAt = to.User, to.Connection, db.Instant(created)
		return d, err
	}
	var all []delivery.Taken
	err := s.db.WriteFor(ctx, to.User, func(ctx context.Context, tx *sql.Tx) (err error) {
		all, err = db.List(ctx, tx, scan, `UPDATE deliveries SET state = 'running', attempts = attempts + 1
			WHERE id IN (SELECT id FROM deliveries WHERE user_id = $1 AND connection = $2
				AND state IN ('scheduled', 'retrying', 'running') AND (due_at <= $3 OR state = 'running')
				ORDER BY history, id LIMIT $4)
			RETURNING id, kind, ref, schema_version, created_at, history, items, attempts, max_attempts`,
			to.User, to.Connection, db.Millis(time.Now()), most)
		return err
	})
	slices.SortFunc(all, func(a, b delivery.Taken) int {
		if a.History != b.History {
			return cmp.Compare(db.Flag(a.History), db.Flag(b.History))
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return all, err
}

// Finish ends a job with what became of the deliveries that it took. If more is due to its connection, the next job is
// inserted.
func (s *Store) Finish(ctx context.Context, job *river.Job[delivery.Send], share delivery.Share) error {
	err := s.db.WriteFor(ctx, job.Args.User, func(ctx context.Context, tx *sql.Tx) error {
		// This comes first: who makes something due meanwhile finds the job under way, and waits, or has been seen
		// by what follows.
		if err := queue.Complete(ctx, tx, job); err != nil {
			return err
		}
		return s.FinishIn(ctx, tx, job.Args, share)
	})
	s.Jobs.LookHere(job.Kind) // at when the next one is due
	return err
}

// FinishIn is Finish without a job, in a transaction.
func (s *Store) FinishIn(ctx context.Context, tx *sql.Tx, to delivery.Send, share delivery.Share) error {
	for _, e := range share.Ends {
		if err := end(ctx, tx, e); err != nil {
			return err
		}
	}
	var err error
	switch {
	case share.Park:
		err = park(ctx, tx, OfConnection, to.User, to.Connection)
	case !share.Until.IsZero():
		err = db.ExecTx(ctx, tx, "UPDATE deliveries SET due_at = $3 WHERE "+OfConnection+" AND "+Pending+
			" AND due_at < $3", to.User, to.Connection, DueMillis(share.Until))
	}
	if err != nil {
		return err
	}
	var more bool
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM deliveries WHERE "+OfConnection+" AND "+Pending+
		" AND due_at <= $3)", to.User, to.Connection, db.Millis(time.Now())).Scan(&more)
	if err != nil || !more {
		return err
	}
	return queue.Next(ctx, s.Jobs, tx, to)
}

// end notes how an attempt at a delivery ended.
func end(ctx context.Context, tx *sql.Tx, e delivery.End) error {
	ended := int64(0)
	if !e.State.Live() {
		ended = db.Millis(time.Now())
	}
	err := db.ExecTx(ctx, tx, `UPDATE deliveries SET state = $1, attempts = $2, ended_at = $3,
		due_at = CASE WHEN CAST($4 AS BIGINT) > 0 THEN $4 ELSE due_at END WHERE id = $5 AND state = 'running'`,
		e.State, e.Attempts, ended, DueMillis(e.Due), e.ID)
	if err != nil || e.Failure == nil {
		return err
	}
	return Note(ctx, tx, e.ID, *e.Failure, e.State == delivery.Dead)
}

// EndNow ends a delivery that is under way, as done or as dead, in the transaction of what it was about. Finish then
// leaves it as it is.
func EndNow(ctx context.Context, tx *sql.Tx, id int64, done bool) error {
	state := delivery.Dead
	if done {
		state = delivery.Done
	}
	return db.ExecTx(ctx, tx, "UPDATE deliveries SET state = $1, ended_at = $2 WHERE id = $3 AND state = 'running'",
		state, db.Millis(time.Now()), id)
}

// OfConnection is the condition that a delivery is to the connection $2 of the person $1.
const OfConnection = "user_id = $1 AND connection = $2"

// park has the deliveries that wait wait for a person, of those with a condition.
func park(ctx context.Context, tx *sql.Tx, which string, args ...any) error {
	return db.ExecTx(ctx, tx, "UPDATE deliveries SET state = 'parked' WHERE "+Pending+" AND "+which, args...)
}

// BecomeDue makes the deliveries due for which a condition holds, after these changes. It returns how many there were.
func (s *Store) BecomeDue(ctx context.Context, tx *sql.Tx, changes, which string, args ...any) (int, error) {
	scan := func(r db.Scanner) (to delivery.Send, err error) { return to, r.Scan(&to.User, &to.Connection) }
	args = append(args, db.Millis(time.Now()))
	all, err := db.List(ctx, tx, scan, fmt.Sprintf("UPDATE deliveries AS d SET %s, due_at = $%d WHERE %s "+
		"RETURNING user_id, connection", changes, len(args), which), args...)
	if err != nil {
		return 0, err
	}
	n := len(all)
	slices.SortFunc(all, func(a, b delivery.Send) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Connection, b.Connection))
	})
	if n > 0 {
		look(ctx, s.Jobs)
	}
	return n, queue.Insert(ctx, s.Jobs, tx, slices.Compact(all)...)
}

// The changes of BecomeDue, and which deliveries each is for.
const (
	Released, IsParked   = "state = " + Waiting, "d.state = 'parked'"
	redriven, isRedriven = "state = 'scheduled', attempts = 0, ended_at = 0", "d.state IN ('dead', 'retrying')"
	Expedited, IsPending = "attempts = attempts", "d." + Pending // in the order in which they were made
	// A dead letter that is tried again has one more attempt.
	tried = "state = " + Waiting + `, ended_at = 0,
		max_attempts = CASE WHEN attempts >= max_attempts THEN attempts + 1 ELSE max_attempts END`
)

// Park has all that waits to be sent to a connection wait for a person.
func (s *Store) Park(ctx context.Context, to delivery.Send) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error { return park(ctx, tx, OfConnection, to.User, to.Connection) })
}

// Release makes due what is parked of a connection.
func (s *Store) Release(ctx context.Context, to delivery.Send) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := s.BecomeDue(ctx, tx, Released, IsParked+" AND "+OfConnection, to.User, to.Connection)
		return err
	})
}

// Revive makes due all that waits to be sent to a connection, whether it is parked or waits for its next attempt, and
// what has died, except of what it delivers.
func (s *Store) Revive(ctx context.Context, to delivery.Send) error {
	return s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		for changes, which := range map[string]string{Released: IsParked, Expedited: IsPending,
			redriven: "d.state = 'dead' AND d.category <> 'item'"} {
			_, e := s.BecomeDue(ctx, tx, changes, which+" AND "+OfConnection, to.User, to.Connection)
			err = errors.Join(err, e)
		}
		return err
	})
}

// Earlier makes deliveries that wait due earlier by a time, because the system clock was set back by that. First
// messages wait for a time of day and stay, as what is parked.
func (s *Store) Earlier(ctx context.Context, by time.Duration) error {
	return s.db.Exec(ctx, "UPDATE deliveries SET due_at = due_at - $1 WHERE "+Pending+
		" AND due_at > $2 AND NOT (kind = 'notify' AND attempts = 0)", by.Milliseconds(), db.Millis(time.Now()))
}

// Backlog returns how many deliveries of all people wait or run. Parked ones do not count: they hold nobody up.
func (s *Store) Backlog(ctx context.Context) (n int, err error) {
	err = s.db.Reader.QueryRowContext(ctx,
		"SELECT count(*) FROM deliveries WHERE state IN ('scheduled', 'retrying', 'running')").Scan(&n)
	return n, db.Explain(err)
}

// DeliveryCounts returns how many deliveries there are in each state, and when the oldest one was made that waits by
// itself or runs; the zero time if there is none. Messages that are not due yet are not late and do not count for
// oldest.
func (s *Store) DeliveryCounts(ctx context.Context) (counts map[delivery.State]int, oldest time.Time, err error) {
	type row struct {
		state delivery.State
		n     int
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.state, &v.n) }
	rows, err := db.List(ctx, s.db.Reader, scan, "SELECT state, count(*) FROM deliveries GROUP BY state")
	counts = map[delivery.State]int{}
	for _, r := range rows {
		counts[r.state] = r.n
	}
	if err != nil {
		return nil, oldest, err
	}
	var first sql.NullInt64
	err = s.db.Reader.QueryRowContext(ctx, `SELECT min(created_at) FROM deliveries
		WHERE state IN ('scheduled', 'retrying', 'running')
		AND NOT (kind = 'notify' AND state = 'scheduled' AND due_at > $1)`, db.Millis(time.Now())).Scan(&first)
	return counts, db.Instant(first.Int64), db.Explain(err)
}
