package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// stateOf tells a delivery's state from its River job j.
const stateOf = `CASE WHEN ` + parked + ` THEN 'parked' WHEN j.state = 'running' THEN 'running' WHEN j.state = 'completed' THEN 'done'
	WHEN j.state IN ('cancelled', 'discarded') THEN 'dead' WHEN j.attempt > 0 THEN 'retrying' ELSE 'scheduled' END`

// riverStates are the states of River jobs whose deliveries may be in these states, as SQL. Scheduled and Retrying share
// theirs.
func riverStates(states []delivery.State) string {
	names := map[delivery.State]string{delivery.Parked: "'scheduled'", delivery.Running: "'running'", delivery.Done: "'completed'",
		delivery.Dead: "'cancelled', 'discarded'", delivery.Scheduled: "'available', 'scheduled', 'retryable'", delivery.Retrying: "'available', 'scheduled', 'retryable'"}
	var all []string
	for _, state := range states {
		all = append(all, names[state])
	}
	return strings.Join(all, ", ")
}

const selectDelivery = `SELECT d.id, d.user_id, d.provider, d.kind, d.ref, d.items, ` + stateOf + `, j.attempt, j.max_attempts, j.scheduled_at, j.finalized_at,
	d.created_at, d.category, d.reason, d.answer, d.dead_since FROM deliveries d JOIN river_job j ON j.id = d.id `

func scanDelivery(r scanner) (d delivery.Delivery, err error) {
	var created, dead int64
	var due, ended sql.NullTime
	err = r.Scan(&d.ID, &d.User, &d.Provider, &d.Kind, &d.Ref, &d.Items, &d.State, &d.Attempts, &d.MaxAttempts, &due, &ended,
		&created, &d.Category, &d.Reason, &d.Answer, &dead)
	d.Due, d.EndedAt, d.CreatedAt, d.DeadSince = due.Time.UTC(), ended.Time.UTC(), instant(created), instant(dead)
	if !ended.Valid {
		d.EndedAt = time.Time{}
	}
	return d, err
}

// where turns a filter into SQL and its arguments.
func where(f delivery.Filter) (string, []any) {
	clauses, args := []string{"d.user_id = $1"}, []any{f.User}
	add := func(clause string, v any) {
		args = append(args, v)
		clauses = append(clauses, fmt.Sprintf(clause, len(args)))
	}
	if f.ID != 0 {
		add("d.id = $%d", f.ID)
	}
	if f.Provider != "" {
		add(`(d.provider = $%[1]d OR d.kind = 'notify' AND EXISTS
			(SELECT 1 FROM channels c WHERE c.user_id = d.user_id AND CAST(c.id AS TEXT) = d.ref AND c.kind = $%[1]d))`, f.Provider)
	}
	if f.Kind != "" {
		add("d.kind = $%d", f.Kind)
	}
	if f.Category != "" {
		add("d.category = $%d", f.Category)
	}
	if f.State != "" {
		clauses = append(clauses, "j.state IN ("+riverStates([]delivery.State{f.State})+")")
		add(stateOf+" = $%d", string(f.State))
	}
	return "WHERE " + strings.Join(clauses, " AND "), args
}

// Deliveries returns a page of a person's deliveries, the newest first, and the cursor of the next page, empty at the
// end.
func (s *Store) Deliveries(ctx context.Context, f delivery.Filter, before string, limit int) (page []delivery.Delivery, next string, err error) {
	clause, args := where(f)
	if before != "" {
		id, err := strconv.ParseInt(before, 10, 64)
		if err != nil {
			return nil, "", library.ErrBadCursor
		}
		args = append(args, id)
		clause += fmt.Sprintf(" AND d.id < $%d", len(args))
	}
	args = append(args, limit+1)
	page, err = list(ctx, s.reader, scanDelivery, selectDelivery+clause+fmt.Sprintf(" ORDER BY d.id DESC LIMIT $%d", len(args)), args...)
	if len(page) > limit {
		page = page[:limit]
		next = strconv.FormatInt(page[limit-1].ID, 10)
	}
	return page, next, err
}

// CountDeliveries counts a person's deliveries by state, from their rows. States without any are left out.
func (s *Store) CountDeliveries(ctx context.Context, f delivery.Filter) (map[delivery.State]int, error) {
	clause, args := where(f)
	type row struct {
		state delivery.State
		n     int
	}
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.state, &v.n) }
	rows, err := list(ctx, s.reader, scan, "SELECT "+stateOf+" AS s, count(*) FROM deliveries d JOIN river_job j ON j.id = d.id "+clause+" GROUP BY s", args...)
	counts := make(map[delivery.State]int, len(rows))
	for _, r := range rows {
		counts[r.state] = r.n
	}
	return counts, err
}

// Backlog is how many deliveries of all people wait to be carried. What is parked waits for its person and does not count:
// it stands in nobody else's way.
func (s *Store) Backlog(ctx context.Context) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT count(*) FROM river_job j WHERE state IN ('available', 'scheduled', 'retryable', 'running') AND NOT ("+parked+")").Scan(&n)
	return n, local(err)
}

// Redrive makes the deliveries that a filter picks due, as far as they are dead or wait for their next attempt. It
// returns how many these were; dry only counts them.
func (s *Store) Redrive(ctx context.Context, f delivery.Filter, dry bool) (n int, err error) {
	clause, args := where(f)
	const able = " AND (j.state IN ('cancelled', 'discarded') OR j.state IN ('available', 'scheduled', 'retryable') AND j.attempt > 0 AND NOT (" + parked + "))"
	if dry {
		err = s.reader.QueryRowContext(ctx, "SELECT count(*) FROM deliveries d JOIN river_job j ON j.id = d.id "+clause+able, args...).Scan(&n)
		return n, local(err)
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		ids, err := list(ctx, tx, scanID, "SELECT d.id FROM deliveries d JOIN river_job j ON j.id = d.id "+clause+able+" ORDER BY d.id", args...)
		if err != nil {
			return err
		}
		n, err = redriveAll(ctx, tx, ids)
		return err
	})
	return n, err
}

func redriveAll(ctx context.Context, tx *sql.Tx, ids []int64) (n int, err error) {
	for _, id := range ids {
		did, err := redrive(ctx, tx, id, delivery.Dead, delivery.Retrying)
		if err != nil {
			return n, err
		}
		if did {
			n++
		}
	}
	return n, nil
}

// Discard removes a person's delivery. It returns library.ErrNotFound when there is none that could be removed: one that
// is running is not. What a delivery that is done has carried stays known as sent, so that it is never sent again.
func (s *Store) Discard(ctx context.Context, user, id int64) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		var done bool
		err := tx.QueryRowContext(ctx, `DELETE FROM river_job WHERE id = $1 AND EXISTS
			(SELECT 1 FROM deliveries d WHERE d.id = $1 AND d.user_id = $2)`+settled()+" RETURNING state = 'completed'", id, user).Scan(&done)
		if err != nil {
			return found(err)
		}
		carried := "DELETE FROM forwards WHERE delivery_id = $1"
		if done {
			carried = "UPDATE forwards SET delivery_id = 0 WHERE delivery_id = $1"
		}
		if !done {
			if err := dropMessages(ctx, tx, id); err != nil {
				return err
			}
		}
		return errors.Join(execTx(ctx, tx, carried, id), execTx(ctx, tx, "DELETE FROM deliveries WHERE id = $1", id))
	})
}

// LookAgain makes dead letters that died before an instant due once more: one attempt each, at most 1,000 at once. What
// nobody could carry, because its connection is gone or paused, stays dead.
func (s *Store) LookAgain(ctx context.Context, diedBefore time.Time) (n int, err error) {
	result, err := s.writer.ExecContext(ctx, `UPDATE river_job SET state = 'available', finalized_at = NULL, scheduled_at = $1,
		max_attempts = CASE WHEN attempt >= max_attempts THEN attempt + 1 ELSE max_attempts END
		WHERE id IN (SELECT j.id FROM river_job j JOIN deliveries d ON d.id = j.id
		LEFT JOIN connections c ON c.user_id = d.user_id AND c.provider = d.provider AND c.paused = 0
		WHERE j.state IN ('cancelled', 'discarded') AND j.finalized_at < $2 AND (c.user_id IS NOT NULL OR d.kind = 'notify') ORDER BY j.id LIMIT 1000)`, riverTime(time.Now()), riverTime(diedBefore))
	if err != nil {
		return 0, local(err)
	}
	rows, err := result.RowsAffected()
	return int(rows), err
}

// Retire removes the deliveries that were done before one instant, and the dead letters that have been dead since
// before another; these it returns.
func (s *Store) Retire(ctx context.Context, doneBefore, deadBefore time.Time) (dead []delivery.Delivery, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		done, err := list(ctx, tx, scanID, "SELECT id FROM river_job WHERE state = 'completed' AND finalized_at < $1 LIMIT 1000", riverTime(doneBefore))
		if err != nil {
			return err
		}
		dead, err = list(ctx, tx, scanDelivery, selectDelivery+"WHERE j.state IN ('cancelled', 'discarded') AND CASE WHEN d.dead_since > 0 THEN d.dead_since ELSE d.created_at END < $1 LIMIT 1000", millis(deadBefore))
		if err != nil {
			return err
		}
		for _, id := range done {
			if err := execTx(ctx, tx, "UPDATE forwards SET delivery_id = 0 WHERE delivery_id = $1", id); err != nil {
				return err
			}
		}
		gone := done
		for _, d := range dead {
			gone = append(gone, d.ID)
			if err := errors.Join(execTx(ctx, tx, "DELETE FROM forwards WHERE delivery_id = $1", d.ID), dropMessages(ctx, tx, d.ID)); err != nil {
				return err
			}
		}
		for _, table := range []string{"river_job", "deliveries"} {
			for chunk := range slices.Chunk(gone, 100) {
				args := make([]any, len(chunk))
				for i, id := range chunk {
					args[i] = id
				}
				if err := execTx(ctx, tx, "DELETE FROM "+table+" WHERE id IN "+numbered(1, len(args)), args...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return dead, err
}
