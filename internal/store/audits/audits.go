// Package audits keeps what comparing the histories of connections with the listens here has shown, month by month.
package audits

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/runs"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db       *db.DB
	runs     *runs.Store
	standIns standIns
}

// New returns the part of a database.
func New(d *db.DB, runs *runs.Store) *Store { return &Store{db: d, runs: runs} }

const columns = `connection, month, counted, listed, here, refilled, renamed, short, tries, held, refused, take,
	suspect, suspect_at, gone, decided, wanted, checked_at, failed_at, `

const selectAudit = "SELECT " + columns + "days FROM audits "

// row is an audit with the connection that it is of.
type row struct {
	library.Audit
	connection library.ConnectionID
}

func scanAudit(r db.Scanner) (v row, err error) {
	var held, refused, suspect, gone, decided, days []byte
	var take, wanted int
	var suspected, checked, failed int64
	err = r.Scan(&v.connection, &v.Month, &v.Counted, &v.Listed, &v.Here, &v.Refilled, &v.Renamed, &v.Short, &v.Tries,
		&held, &refused, &take, &suspect, &suspected, &gone, &decided, &wanted, &checked, &failed, &days)
	v.Take, v.Wanted = take != 0, wanted != 0
	v.SuspectAt, v.CheckedAt, v.FailedAt = db.Instant(suspected), db.Instant(checked), db.Instant(failed)
	return v, errors.Join(err, list(held, &v.Held), list(refused, &v.Refused), list(suspect, &v.Suspect),
		list(gone, &v.Gone), list(decided, &v.Decided), list(days, &v.Days))
}

// list reads a list. Most are empty.
func list[T any](text []byte, into *[]T) error {
	if len(text) <= len("[]") {
		return nil
	}
	return json.Unmarshal(text, into)
}

// Audits returns those of a connection, the latest month first. First it adds the months until now that are not there
// yet: from the first play on that the connection has reported, and everything before.
func (s *Store) Audits(ctx context.Context, user int64, conn library.ConnectionID, now library.Month) (
	[]library.Audit, error) {
	all, err := s.audits(ctx, user, conn)
	if err != nil || len(all) > 0 && all[0].Month >= now {
		return all, err
	}
	from := now
	if len(all) > 0 {
		from = all[0].Month + 1
	} else if first, err := s.first(ctx, user, conn); err != nil {
		return nil, err
	} else if !first.IsZero() {
		from = min(library.MonthOf(first), now)
	}
	args := []any{user, conn, library.Before}
	for m := from; m <= now; m++ {
		args = append(args, user, conn, m)
	}
	err = s.db.WriteFor(ctx, user, func(ctx context.Context, tx *sql.Tx) error {
		return db.InsertRows(ctx, tx, "INSERT INTO audits (user_id, connection, month)", 3, args,
			"ON CONFLICT (user_id, connection, month) DO NOTHING")
	})
	if err != nil {
		return nil, err
	}
	return s.audits(ctx, user, conn)
}

func (s *Store) audits(ctx context.Context, user int64, conn library.ConnectionID) (all []library.Audit, err error) {
	rows, err := db.List(ctx, s.db.Reader, scanAudit, selectAudit+
		"WHERE user_id = $1 AND connection = $2 ORDER BY month DESC", user, conn)
	for _, r := range rows {
		all = append(all, r.Audit)
	}
	return all, err
}

// first returns when the first play was that a connection has reported; zero for none.
func (s *Store) first(ctx context.Context, user int64, conn library.ConnectionID) (time.Time, error) {
	var at int64
	err := s.db.Reader.QueryRowContext(ctx, `SELECT l.played_at FROM listens l WHERE l.user_id = $1 AND EXISTS
		(SELECT 1 FROM listen_sources s WHERE s.listen_id = l.id AND `+connections.SourceOf("s", 2)+`)
		ORDER BY l.played_at LIMIT 1`, user, conn).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return db.Instant(at), db.Explain(err)
}

// SaveAudit stores what a comparison has shown, unless the connection has changed since. What their person has decided
// meanwhile stays.
func (s *Store) SaveAudit(ctx context.Context, c library.Connection, a library.Audit) error {
	return s.db.WriteFor(ctx, c.User, func(ctx context.Context, tx *sql.Tx) error {
		if err := connections.Current(ctx, tx, c.User, c.ID, c.Generation); err != nil {
			return err
		}
		now, err := one(ctx, tx, c.User, c.ID, a.Month)
		if err != nil {
			return err
		}
		wanted := now.Wanted && !a.Wanted
		taken := a.Take
		a.Refused, a.Take, a.Decided = now.Refused, now.Take && !taken, now.Decided
		a.Held = ledger.Without(a.Held, a.Refused)
		return db.ExecTx(ctx, tx, `UPDATE audits SET counted = $4, listed = $5, here = $6, refilled = $7, renamed = $8,
			short = $9, tries = $10, held = $11, take = $12, suspect = $13, suspect_at = $14, gone = $15, asks = $16,
			days = $17, wanted = $18, checked_at = $19, failed_at = 0
			WHERE user_id = $1 AND connection = $2 AND month = $3`, c.User, c.ID, a.Month, a.Counted, a.Listed, a.Here,
			a.Refilled, a.Renamed, a.Short, a.Tries, text(a.Held), db.Flag(a.Take), text(a.Suspect),
			db.Millis(a.SuspectAt), text(a.Gone), db.Flag(ledger.Asks(a)), text(a.Days), db.Flag(wanted),
			db.Millis(a.CheckedAt))
	})
}

// FailAudit notes that comparing a month has failed: it is tried again a day later. What is known of it stays.
func (s *Store) FailAudit(ctx context.Context, c library.Connection, m library.Month) error {
	return s.db.ExecFor(ctx, c.User, `UPDATE audits SET wanted = 0, failed_at = $4
		WHERE user_id = $1 AND connection = $2 AND month = $3`, c.User, c.ID, m, db.Millis(time.Now()))
}

// NoAudits notes that the server of a connection keeps no history.
func (s *Store) NoAudits(ctx context.Context, c library.Connection) error {
	return s.db.WriteFor(ctx, c.User, func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(
			db.ExecTx(ctx, tx, "UPDATE audits SET wanted = 0, asks = 0 WHERE user_id = $1 AND connection = $2", c.User,
				c.ID),
			db.ExecTx(ctx, tx, `UPDATE audits SET counted = $3, checked_at = $4, failed_at = 0
				WHERE user_id = $1 AND connection = $2 AND month = $5`, c.User, c.ID, library.NotKept,
				db.Millis(time.Now()), library.Before))
	})
}

// Audit returns that of a month, or library.ErrNotFound.
func (s *Store) Audit(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) (library.Audit,
	error) {
	return one(ctx, s.db.Reader, user, conn, m)
}

func one(ctx context.Context, q db.RowQuerier, user int64, conn library.ConnectionID, m library.Month) (library.Audit,
	error) {
	v, err := scanAudit(q.QueryRowContext(ctx, selectAudit+"WHERE user_id = $1 AND connection = $2 AND month = $3",
		user, conn, m))
	return v.Audit, db.Found(err)
}

// text returns a list as JSON, which can't fail for what audits have.
func text[T any](list []T) string {
	b, _ := json.Marshal(append([]T{}, list...))
	return string(b)
}

// WantAudit has a month compared with the next reading, or returns library.ErrNotFound if it isn't one that can be.
func (s *Store) WantAudit(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) error {
	return s.db.WriteFor(ctx, user, func(ctx context.Context, tx *sql.Tx) error {
		return db.Changed(tx.ExecContext(ctx, `UPDATE audits SET wanted = 1
			WHERE user_id = $1 AND connection = $2 AND month = $3`, user, conn, m))
	})
}

// decide changes what a person has decided about a month.
func (s *Store) decide(ctx context.Context, user int64, conn library.ConnectionID, m library.Month,
	change func(*library.Audit)) error {
	return s.db.WriteFor(ctx, user, func(ctx context.Context, tx *sql.Tx) error {
		a, err := one(ctx, tx, user, conn, m)
		if err != nil {
			return err
		}
		change(&a)
		return db.ExecTx(ctx, tx, `UPDATE audits SET held = $4, refused = $5, take = $6, decided = $7, asks = $8,
			wanted = $9 WHERE user_id = $1 AND connection = $2 AND month = $3`, user, conn, m, text(a.Held),
			text(a.Refused), db.Flag(a.Take), text(a.Decided), db.Flag(ledger.Asks(a)), db.Flag(a.Wanted))
	})
}

// TakeHeld has the plays stored that a service lists all of a sudden, and those that the person had refused, or returns
// library.ErrNotFound.
func (s *Store) TakeHeld(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) error {
	return s.decide(ctx, user, conn, m, func(a *library.Audit) {
		a.Held, a.Refused, a.Take, a.Wanted = nil, nil, true, true
	})
}

// RefuseHeld leaves those plays out for good, or returns library.ErrNotFound.
func (s *Store) RefuseHeld(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) error {
	return s.decide(ctx, user, conn, m, func(a *library.Audit) {
		a.Refused = slices.Compact(slices.Sorted(slices.Values(append(a.Refused, a.Held...))))
		a.Held = nil
	})
}

// DecideGone notes that a person has decided about plays that a service no longer has, or returns library.ErrNotFound.
func (s *Store) DecideGone(ctx context.Context, user int64, conn library.ConnectionID, m library.Month,
	ids []string) error {
	return s.decide(ctx, user, conn, m, func(a *library.Audit) {
		a.Decided = slices.Compact(slices.Sorted(slices.Values(append(a.Decided, ids...))))
	})
}

// during is the condition that a play l was reported by the connection $2 as played from $3 on and before $4, with the
// arguments for it. Exports that were imported are no reports.
func during(user int64, conn library.ConnectionID, from, to time.Time) (string, []any) {
	return "l.user_id = $1 AND l.approximate = 0 AND l.played_at BETWEEN $5 AND $6 AND " +
			connections.SourceOf("s", 2) + " AND l.played_at + s.later >= $3 AND l.played_at + s.later < $4",
		[]any{user, conn, db.Millis(from), db.Millis(to), db.Millis(from.Add(-music.Reach)), db.Millis(to)}
}

// Reported returns the plays of a time that a connection has reported, in no order.
func (s *Store) Reported(ctx context.Context, user int64, conn library.ConnectionID, from, to time.Time) (
	all []library.Reported, err error) {
	where, args := during(user, conn, from, to)
	for _, in := range []intake.Pile{intake.Kept, intake.Removed} {
		scan := func(r db.Scanner) (v library.Reported, err error) {
			var at int64
			err = r.Scan(&v.ID, &at, &v.Listen, &v.Title, &v.Artist)
			v.At, v.Removed = db.Instant(at), in.Removed
			return v, err
		}
		some, err := db.List(ctx, s.db.Reader, scan, "SELECT "+listens.IdOf("s")+
			", l.played_at + s.later, l.id, p.title, p.artist FROM "+in.Listens+" l JOIN "+in.Sources+
			` s ON s.listen_id = l.id LEFT JOIN ruled_listens r ON r.listen_id = l.id
			JOIN spellings p ON p.id = coalesce(r.spelling_id, l.spelling_id) WHERE `+where, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return slices.DeleteFunc(all, func(v library.Reported) bool {
		return strings.HasPrefix(v.ID, library.FromExport)
	}), nil
}

// KnownPlays returns which of some ids a connection has reported.
func (s *Store) KnownPlays(ctx context.Context, user int64, conn library.ConnectionID, ids []string) (
	map[string]bool, error) {
	known := make(map[string]bool, len(ids))
	for chunk := range slices.Chunk(ids, 100) {
		args := []any{user, conn}
		for _, id := range chunk {
			args = append(args, intake.SourceKey(user, conn, id))
		}
		for _, in := range []intake.Pile{intake.Kept, intake.Removed} {
			scan := func(r db.Scanner) (id string, err error) { return id, r.Scan(&id) }
			some, err := db.List(ctx, s.db.Reader, scan, intake.KnownSources(in)+db.Numbered(3, len(chunk)), args...)
			if err != nil {
				return nil, err
			}
			for _, id := range some {
				known[id] = true
			}
		}
	}
	return known, nil
}
