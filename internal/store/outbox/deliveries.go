package outbox

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
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// ParkDeliveries parks the deliveries of a connection that was removed. It removes those of copies, which are no longer
// wanted.
func ParkDeliveries(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID) error {
	return errors.Join(
		db.ExecTx(ctx, tx, "DELETE FROM deliveries WHERE "+OfConnection+" AND kind IN ($3, $4) AND state <> 'running'",
			user, conn, delivery.WritePlaylist, delivery.Archive),
		park(ctx, tx, OfConnection, user, conn))
}

// SelectDelivery selects deliveries d for [ScanDelivery]; a condition follows.
const SelectDelivery = `SELECT d.id, d.user_id, d.connection, d.kind, d.ref, d.items, d.state, d.attempts,
	d.max_attempts, d.due_at, d.ended_at, d.created_at, d.category, d.reason, d.answer, d.dead_since
	FROM deliveries d `

// ScanDelivery reads a row of [SelectDelivery].
func ScanDelivery(r db.Scanner) (d delivery.Delivery, err error) {
	var due, ended, created, dead int64
	err = r.Scan(&d.ID, &d.User, &d.Connection, &d.Kind, &d.Ref, &d.Items, &d.State, &d.Attempts, &d.MaxAttempts,
		&due, &ended, &created, &d.Category, &d.Reason, &d.Answer, &dead)
	d.Due, d.EndedAt, d.CreatedAt, d.DeadSince = db.Instant(due), db.Instant(ended), db.Instant(created),
		db.Instant(dead)
	return d, err
}

// where turns a filter into an SQL condition and its arguments.
func where(f delivery.Filter) (string, []any) {
	clauses, args := []string{"d.user_id = $1"}, []any{f.User}
	add := func(clause string, v any) {
		args = append(args, v)
		clauses = append(clauses, fmt.Sprintf(clause, len(args)))
	}
	if f.ID != 0 {
		add("d.id = $%d", f.ID)
	}
	if f.Connection != "" {
		add("d.connection = $%d", f.Connection)
	}
	if f.Provider != "" {
		add(`(d.connection = $%[1]d OR d.connection LIKE CAST($%[1]d AS TEXT) || '-%%' OR
			d.kind = 'notify' AND EXISTS
			(SELECT 1 FROM channels c WHERE c.user_id = d.user_id AND CAST(c.id AS TEXT) = d.ref
			AND c.kind = $%[1]d))`, f.Provider)
	}
	if f.Kind != "" {
		add("d.kind = $%d", f.Kind)
	}
	if f.Category != "" {
		add("d.category = $%d", f.Category)
	}
	if len(f.Reasons) > 0 {
		clauses = append(clauses, "d.reason IN "+db.Numbered(len(args)+1, len(f.Reasons)))
		for _, reason := range f.Reasons {
			args = append(args, reason)
		}
	}
	if f.State != "" {
		clauses = append(clauses, hasState(f.State))
	}
	if f.Except != "" {
		clauses = append(clauses, "NOT "+hasState(f.Except))
	}
	return strings.Join(clauses, " AND "), args
}

// Deliveries returns a page of a person's deliveries, the newest first, and the cursor of the next page, empty at the
// end. An invalid cursor is library.ErrBadCursor.
func (s *Store) Deliveries(ctx context.Context, f delivery.Filter, before string, limit int) (
	page []delivery.Delivery, next string, err error) {
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
	clause += fmt.Sprintf(" ORDER BY d.id DESC LIMIT $%d", len(args))
	page, err = db.List(ctx, s.db.Reader, ScanDelivery, SelectDelivery+"WHERE "+clause, args...)
	if len(page) > limit {
		page = page[:limit]
		next = strconv.FormatInt(page[limit-1].ID, 10)
	}
	return page, next, err
}

// CountDeliveries counts a person's deliveries by state. States without any are left out.
func (s *Store) CountDeliveries(ctx context.Context, f delivery.Filter) (map[delivery.State]int, error) {
	clause, args := where(f)
	type row struct {
		state delivery.State
		n     int
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.state, &v.n) }
	rows, err := db.List(ctx, s.db.Reader, scan,
		"SELECT d.state, count(*) FROM deliveries d WHERE "+clause+" GROUP BY d.state", args...)
	counts := make(map[delivery.State]int, len(rows))
	for _, r := range rows {
		counts[r.state] = r.n
	}
	return counts, err
}

// DeliveryReasons returns why deliveries of a person failed, each reason once.
func (s *Store) DeliveryReasons(ctx context.Context, user int64) ([]words.Text, error) {
	scan := func(r db.Scanner) (t words.Text, err error) { return t, r.Scan(&t) }
	return db.List(ctx, s.db.Reader, scan,
		"SELECT DISTINCT reason FROM deliveries WHERE user_id = $1 AND reason <> '' ORDER BY reason", user)
}

// Redrive makes the selected deliveries due that are dead or wait for their next attempt. It returns their number.
// With dry it only counts them.
func (s *Store) Redrive(ctx context.Context, f delivery.Filter, dry bool) (n int, err error) {
	clause, args := where(f)
	if dry {
		err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM deliveries d WHERE "+isRedriven+" AND "+clause,
			args...).Scan(&n)
		return n, db.Explain(err)
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		n, err = s.BecomeDue(ctx, tx, redriven, isRedriven+" AND "+clause, args...)
		return err
	})
	return n, err
}

// Discard removes a person's delivery. It returns library.ErrNotFound if there is none, or if it is running. Delivered
// listens stay marked as sent, so that they are never sent again.
func (s *Store) Discard(ctx context.Context, user, id int64) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		var state delivery.State
		err := tx.QueryRowContext(ctx, "SELECT state FROM deliveries WHERE id = $1 AND user_id = $2",
			id, user).Scan(&state)
		if err != nil {
			return db.Found(err)
		}
		switch state {
		case delivery.Running:
			return library.ErrNotFound
		case delivery.Done:
			err = db.ExecTx(ctx, tx, "UPDATE forwards SET delivery_id = 0 WHERE delivery_id = $1", id)
		default:
			err = errors.Join(unforward(ctx, tx, "delivery_id = $1", id), dropMessages(ctx, tx, id))
		}
		return errors.Join(err, dropDeletions(ctx, tx, id),
			db.ExecTx(ctx, tx, "DELETE FROM deliveries WHERE id = $1", id))
	})
}

// TallyDeliveries counts what a person's deliveries carry, without messages to channels: those that are not done yet,
// without dead letters, and those that were done since a time.
func (s *Store) TallyDeliveries(ctx context.Context, user int64, since time.Time) ([]delivery.Tally, error) {
	scan := func(r db.Scanner) (t delivery.Tally, err error) {
		return t, r.Scan(&t.Connection, &t.Kind, &t.State, &t.Items)
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT connection, kind, state, sum(items) FROM deliveries
		WHERE user_id = $1 AND kind <> 'notify' AND (state = 'done' AND ended_at >= $2 OR state NOT IN ('done', 'dead'))
		GROUP BY connection, kind, state HAVING sum(items) > 0 ORDER BY connection, kind, state`, user,
		db.Millis(since))
}

// mostGroups is how many groups of dead letters DeadLetters returns at most.
const mostGroups = 50

// DeadLetters returns the dead letters that a filter selects, grouped by connection and reason: the largest groups
// first, at most mostGroups.
func (s *Store) DeadLetters(ctx context.Context, f delivery.Filter) ([]delivery.Group, error) {
	f.State = delivery.Dead
	clause, args := where(f)
	scan := func(r db.Scanner) (g delivery.Group, err error) {
		var oldest, newest int64
		err = r.Scan(&g.Connection, &g.Reason, &g.Category, &g.Kind, &g.Count, &g.Items, &oldest, &newest)
		g.Oldest, g.Newest = db.Instant(oldest), db.Instant(newest)
		return g, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT d.connection, d.reason, max(d.category), max(d.kind), count(*),
		sum(d.items), min(d.dead_since), max(d.dead_since) FROM deliveries d WHERE `+clause+`
		GROUP BY d.connection, d.reason ORDER BY count(*) DESC, d.connection, d.reason LIMIT `+
		strconv.Itoa(mostGroups), args...)
}

// discardAtOnce is how many dead letters one transaction of DiscardDead removes.
const discardAtOnce = 100

// DiscardDead removes the dead letters that a filter selects, and returns how many; dry only counts them.
func (s *Store) DiscardDead(ctx context.Context, f delivery.Filter, dry bool) (n int, err error) {
	f.State = delivery.Dead
	clause, args := where(f)
	if dry {
		err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM deliveries d WHERE "+clause, args...).Scan(&n)
		return n, db.Explain(err)
	}
	for {
		gone := 0
		err = s.db.Write(ctx, func(tx *sql.Tx) error {
			ids, err := db.List(ctx, tx, db.ScanID, "SELECT d.id FROM deliveries d WHERE "+clause+
				" ORDER BY d.id LIMIT "+strconv.Itoa(discardAtOnce), args...)
			if err != nil {
				return err
			}
			gone = len(ids)
			for _, id := range ids {
				err = errors.Join(err, dropMessages(ctx, tx, id), dropDeletions(ctx, tx, id),
					unforward(ctx, tx, "delivery_id = $1", id))
			}
			return errors.Join(err, forget(ctx, tx, ids))
		})
		if n += gone; err != nil || gone == 0 {
			return n, err
		}
	}
}

// TryAgain makes dead letters that died before a time due for one more attempt each, at most 1,000 at once. Those of
// connections that are gone or paused stay dead.
func (s *Store) TryAgain(ctx context.Context, diedBefore time.Time) (n int, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		n, err = s.BecomeDue(ctx, tx, tried, `id IN (SELECT d.id FROM deliveries d
			LEFT JOIN connections c ON c.user_id = d.user_id AND c.connection = d.connection AND c.paused = 0
			WHERE d.state = 'dead' AND d.ended_at < $1 AND (c.user_id IS NOT NULL OR d.kind = 'notify')
			ORDER BY d.id LIMIT 1000)`, db.Millis(diedBefore))
		return err
	})
	return n, err
}

// Retire removes the deliveries that were done before one time, and the dead letters that died before another, at most
// 1,000 of each. It returns the removed dead letters.
func (s *Store) Retire(ctx context.Context, doneBefore, deadBefore time.Time) (dead []delivery.Delivery, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		done, err := db.List(ctx, tx, db.ScanID, `SELECT id FROM deliveries
			WHERE state = 'done' AND ended_at < $1 LIMIT 1000`, db.Millis(doneBefore))
		if err != nil {
			return err
		}
		dead, err = db.List(ctx, tx, ScanDelivery, SelectDelivery+`WHERE d.state = 'dead'
			AND CASE WHEN d.dead_since > 0 THEN d.dead_since ELSE d.created_at END < $1 LIMIT 1000`,
			db.Millis(deadBefore))
		if err != nil {
			return err
		}
		for _, id := range done {
			err := db.ExecTx(ctx, tx, "UPDATE forwards SET delivery_id = 0 WHERE delivery_id = $1", id)
			if err := errors.Join(err, dropDeletions(ctx, tx, id)); err != nil {
				return err
			}
		}
		gone := done
		for _, d := range dead {
			gone = append(gone, d.ID)
			err := unforward(ctx, tx, "delivery_id = $1", d.ID)
			if err := errors.Join(err, dropMessages(ctx, tx, d.ID), dropDeletions(ctx, tx, d.ID)); err != nil {
				return err
			}
		}
		return forget(ctx, tx, gone)
	})
	return dead, err
}

// forget deletes deliveries.
func forget(ctx context.Context, tx *sql.Tx, ids []int64) error {
	for chunk := range slices.Chunk(ids, 100) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		err := db.ExecTx(ctx, tx, "DELETE FROM deliveries WHERE id IN "+db.Numbered(1, len(args)), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Subjects returns what deliveries of a person are about, by their ids: the listen of a delivery with only one, or the
// playlist. It leaves out all other deliveries.
func (s *Store) Subjects(ctx context.Context, user int64, ids []int64) (map[int64]delivery.Subject, error) {
	all := make(map[int64]delivery.Subject, len(ids))
	type row struct {
		id int64
		delivery.Subject
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.id, &v.Title, &v.Artist) }
	for chunk := range slices.Chunk(ids, 100) {
		args := []any{user, delivery.WritePlaylist, delivery.DeleteListens}
		for _, id := range chunk {
			args = append(args, id)
		}
		these := db.Numbered(4, len(chunk))
		rows, err := db.List(ctx, s.db.Reader, scan, `SELECT d.id, t.title, t.artist FROM deliveries d
			JOIN forwards f ON f.delivery_id = d.id JOIN listens l ON l.id = f.listen_id
			JOIN spellings t ON t.id = l.spelling_id
			WHERE d.user_id = $1 AND d.items = 1 AND d.kind <> $2 AND d.id IN `+these+`
			UNION ALL
			SELECT d.id, p.name, '' FROM deliveries d
			JOIN playlists p ON p.user_id = d.user_id
			AND (CAST(p.id AS TEXT) = d.ref OR d.ref LIKE CAST(p.id AS TEXT) || '@%')
			WHERE d.user_id = $1 AND d.kind = $2 AND d.id IN `+these+`
			UNION ALL
			SELECT d.id, t.title, t.artist FROM deliveries d
			JOIN deletions o ON o.delivery_id = d.id JOIN removed_listens l ON l.id = o.listen_id
			JOIN spellings t ON t.id = l.spelling_id
			WHERE d.user_id = $1 AND d.items = 1 AND d.kind = $3 AND d.id IN `+these, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all[r.id] = r.Subject
		}
	}
	return all, nil
}

// dropMessages ends the waiting messages of a delivery's channel, because the delivery is removed.
func dropMessages(ctx context.Context, tx *sql.Tx, id int64) error {
	return db.ExecTx(ctx, tx, `UPDATE messages SET ended_at = $1 WHERE ended_at = 0 AND channel_id IN
		(SELECT c.id FROM deliveries d JOIN channels c ON c.user_id = d.user_id AND CAST(c.id AS TEXT) = d.ref
		WHERE d.id = $2 AND d.kind = $3)`, db.Millis(time.Now()), id, delivery.Notify)
}
