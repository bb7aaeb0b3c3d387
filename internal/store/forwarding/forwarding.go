package forwarding

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
	"reprise/internal/store/statistics"
)

// ForwardingRules returns a person's forwarding rules, by provider.
func (s *Store) ForwardingRules(ctx context.Context, user int64) ([]delivery.Rule, error) {
	return outbox.ForwardingRules(ctx, s.db.Reader, user)
}

// Routing returns where a person's listens go now, for what is not stored.
func (s *Store) Routing(ctx context.Context, user int64) (r delivery.Routes, err error) {
	r = delivery.Routes{User: user, Now: time.Now()}
	if r.Rules, err = s.ForwardingRules(ctx, user); err == nil && len(r.Rules) > 0 {
		r.Accounts, err = connections.AccountsOf(ctx, s.db.Reader, user)
	}
	return r, err
}

// forwardAtOnce is how many listens one transaction of StartForwarding enqueues, so that other writers do not wait
// long.
const forwardAtOnce = 10_000

// StartForwarding stores a forwarding rule. With earlier, what was stored before is enqueued at once, except what
// the provider has already. It returns how many listens that were, or months. If it breaks off halfway, the next
// call goes on.
func (s *Store) StartForwarding(ctx context.Context, r delivery.Rule, earlier bool) (n int, err error) {
	err = s.db.Exec(ctx, `INSERT INTO forwarding (user_id, connection, kind, batch, from_at, oldest, since)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (user_id, connection) DO UPDATE
		SET kind = excluded.kind, batch = excluded.batch, from_at = excluded.from_at, oldest = excluded.oldest`,
		r.User, r.Connection, r.Kind, r.Batch, db.Millis(r.From), r.Oldest.Milliseconds(), db.Millis(r.Since))
	if err != nil || !earlier {
		return 0, err
	}
	if r.Kind == delivery.Archive {
		err = s.db.Write(ctx, func(tx *sql.Tx) (err error) {
			n, err = s.enqueueAllMonths(ctx, tx, r)
			return err
		})
		return n, err
	}
	for more := true; more && err == nil; {
		var ids []int64
		err = s.db.Write(ctx, func(tx *sql.Tx) (err error) {
			target, err := connections.AccountOf(ctx, tx, r.User, r.Connection)
			if err != nil {
				return err
			}
			ids, err = db.List(ctx, tx, db.ScanID,
				"SELECT l.id "+unforwarded(target, 4)+" ORDER BY l.played_at, l.id LIMIT $3",
				target.Args(r.User, db.Millis(r.From), forwardAtOnce)...)
			if err != nil {
				return err
			}
			return errors.Join(s.outbox.EnqueueAll(ctx, tx, r.Batches(ids, true)), db.ExecTx(ctx, tx,
				"UPDATE listen_columns SET version = version + 1 WHERE user_id = $1 AND span >= $2",
				r.User, statistics.SpanOf(r.From)))
		})
		n, more = n+len(ids), len(ids) == forwardAtOnce
	}
	return n, err
}

// unforwarded selects the listens of the person $1 since the time $2 that an account has not reported, and that are
// not forwarded there. The account's connections are the arguments from $first on.
func unforwarded(target connections.Account, first int) string {
	return `FROM listens l WHERE l.user_id = $1 AND l.approximate = 0 AND l.played_at >= $2
	AND NOT EXISTS (SELECT 1 FROM listen_sources s
		WHERE s.listen_id = l.id AND ` + target.Sources("s", first) + `)
	AND NOT EXISTS (SELECT 1 FROM withheld w WHERE w.listen_id = l.id
		AND (w.connection = '' OR ` + target.In("w.connection", first) + `))
	AND NOT EXISTS (SELECT 1 FROM forwards f WHERE f.listen_id = l.id AND ` + target.In("f.connection", first) + ")"
}

// enqueueAllMonths enqueues every month in which there are listens.
func (s *Store) enqueueAllMonths(ctx context.Context, tx *sql.Tx, r delivery.Rule) (int, error) {
	scan := func(r db.Scanner) (at int64, err error) { return at, r.Scan(&at) }
	all, err := db.List(ctx, tx, scan, "SELECT played_at FROM listens WHERE user_id = $1 ORDER BY played_at", r.User)
	if err != nil {
		return 0, err
	}
	n, last := 0, ""
	for _, at := range all {
		month := delivery.MonthOf(db.Instant(at))
		if month == last {
			continue
		}
		n, last = n+1, month
		d := delivery.Draft{User: r.User, Connection: r.Connection, Kind: r.Kind, Ref: month, History: true}
		if _, err := s.outbox.EnqueueCopy(ctx, tx, d); err != nil {
			return n, err
		}
	}
	return n, nil
}

// CountUnforwarded returns how many listens since a time StartForwarding would enqueue.
func (s *Store) CountUnforwarded(ctx context.Context, user int64, conn library.ConnectionID,
	from time.Time) (n int, err error) {
	target, err := connections.AccountOf(ctx, s.db.Reader, user, conn)
	if err != nil {
		return 0, err
	}
	if from.IsZero() {
		all, err := s.fates(ctx, user, target)
		return sumOf(all).missing, err
	}
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) "+unforwarded(target, 3),
		target.Args(user, db.Millis(from))...).Scan(&n)
	return n, db.Explain(err)
}

// StopForwarding deletes a forwarding rule. What was enqueued before stays.
func (s *Store) StopForwarding(ctx context.Context, user int64, conn library.ConnectionID) error {
	return s.db.Exec(ctx, "DELETE FROM forwarding WHERE user_id = $1 AND connection = $2", user, conn)
}

// outcomeOf is the outcome of forwarding a listen l, from its row f of forwards and that one's delivery d.
const outcomeOf = `CASE WHEN f.listen_id IS NULL THEN 'there' WHEN f.delivery_id = 0 THEN 'done'
	ELSE coalesce(d.state, 'scheduled') END`

// ForwardingCounts counts the outcomes of forwarding a person's listens to a provider.
func (s *Store) ForwardingCounts(ctx context.Context, user int64, conn library.ConnectionID) (
	c delivery.ForwardingCounts, err error) {
	target, err := connections.AccountOf(ctx, s.db.Reader, user, conn)
	if err != nil {
		return c, err
	}
	all, err := s.fates(ctx, user, target)
	if err != nil {
		return c, err
	}
	sum := sumOf(all)
	c.Sent, c.There = sum.forwarded, sum.there
	type row struct {
		state delivery.State
		n     int
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.state, &v.n) }
	owed, err := db.List(ctx, s.db.Reader, scan, `SELECT state, sum(items) FROM deliveries
		WHERE user_id = $1 AND connection = $2 AND kind IN ($3, $4) AND state <> 'done' GROUP BY state`,
		user, conn, delivery.SubmitListens, delivery.Scrobble)
	if err != nil {
		return c, err
	}
	for _, r := range owed {
		c.Sent -= r.n
		switch r.state {
		case delivery.Dead:
			c.Refused += r.n
		case delivery.Parked:
			c.Parked += r.n
		default:
			c.Waiting += r.n
		}
	}
	c.Sent = max(0, c.Sent) // what was queued between the two queries is in the second one alone
	var due sql.NullInt64
	err = s.db.Reader.QueryRowContext(ctx, "SELECT min(due_at) FROM deliveries WHERE "+outbox.OfConnection+" AND "+
		outbox.Pending, user, conn).Scan(&due)
	c.Next = db.Instant(due.Int64)
	return c, db.Explain(err)
}

// ForwardedListens returns the newest listens with the outcome of forwarding each to a provider: those that are or
// were forwarded, and those that it reported as well as another provider.
func (s *Store) ForwardedListens(ctx context.Context, user int64, conn library.ConnectionID, limit int) (
	[]delivery.ForwardedListen, error) {
	scan := func(r db.Scanner) (v delivery.ForwardedListen, err error) {
		var at, seen, due, ended int64
		err = r.Scan(&v.ID, &v.Title, &v.Artist, &at, &v.Outcome, &due, &ended, &seen, &v.Reason, &v.Delivery)
		v.PlayedAt, v.ThereSince, v.Due, v.EndedAt = db.Instant(at), db.Instant(1000*seen), db.Instant(due),
			db.Instant(ended)
		return v, err
	}
	target, err := connections.AccountOf(ctx, s.db.Reader, user, conn)
	if err != nil {
		return nil, err
	}
	spans, err := s.fates(ctx, user, target)
	var all []delivery.ForwardedListen
	for _, f := range spans {
		if err != nil || len(all) == limit {
			break
		}
		if f.forwarded+f.there == 0 {
			continue
		}
		var some []delivery.ForwardedListen
		some, err = db.List(ctx, s.db.Reader, scan, forwardedListens(target),
			target.Args(user, conn, limit-len(all), f.span*statistics.SpanLength, (f.span+1)*statistics.SpanLength)...)
		all = append(all, some...)
	}
	return all, err
}

// forwardedListens selects what ForwardedListens returns of the time from $4 to $5. The account's connections are the
// arguments from $6 on.
func forwardedListens(target connections.Account) string {
	return `SELECT l.id, p.title, p.artist, l.played_at, ` + outcomeOf + `,
		coalesce(d.due_at, 0), coalesce(d.ended_at, 0), coalesce((SELECT min(s.stored_at) FROM listen_sources s
			WHERE s.listen_id = l.id AND ` + target.Sources("s", 6) + `), 0),
		coalesce(d.reason, ''), coalesce(f.delivery_id, 0)
		FROM listens l JOIN spellings p ON p.id = l.spelling_id
		LEFT JOIN forwards f ON f.listen_id = l.id AND f.connection = $2
		LEFT JOIN deliveries d ON d.id = f.delivery_id
		WHERE l.user_id = $1 AND l.played_at >= $4 AND l.played_at < $5 AND (f.listen_id IS NOT NULL OR EXISTS
			(SELECT 1 FROM listen_sources s WHERE s.listen_id = l.id AND ` + target.Sources("s", 6) + `) AND EXISTS
			(SELECT 1 FROM listen_sources o WHERE o.listen_id = l.id AND NOT ` + target.Sources("o", 6) + `))
		ORDER BY l.played_at DESC, l.id DESC LIMIT $3`
}

// Month yields the listens with from ≤ played at < to, the oldest first, with what rules did to them.
func (s *Store) Month(ctx context.Context, user int64, from, to time.Time) iter.Seq2[library.StoredListen, error] {
	return func(yield func(library.StoredListen, error) bool) {
		at, id := db.Millis(from), int64(0)
		for {
			const pageSize = 1000
			page, err := db.List(ctx, s.db.Reader, listens.ScanListen, listens.SelectListen+`WHERE l.user_id = $1
				AND (l.played_at, l.id) > ($2, $3) AND l.played_at >= $4 AND l.played_at < $5
				ORDER BY l.played_at, l.id LIMIT $6`,
				user, at, id, db.Millis(from), db.Millis(to), pageSize)
			if err == nil {
				err = s.listens.AddSources(ctx, page)
			}
			if err == nil {
				err = s.listens.AddRuled(ctx, user, page)
			}
			if err != nil {
				yield(library.StoredListen{}, err)
				return
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
			last := page[len(page)-1]
			at, id = db.Millis(last.PlayedAt), last.ID
		}
	}
}
