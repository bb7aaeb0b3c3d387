package audits

import (
	"context"
	"slices"

	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

// Ledgers returns what is known of how complete the histories of a person's connections are that are read, in the order
// of their names. The audits are without their days.
func (s *Store) Ledgers(ctx context.Context, user int64) (all []library.Ledger, err error) {
	scan := func(r db.Scanner) (l library.Ledger, err error) {
		var since, read int64
		err = r.Scan(&l.Connection, &since, &read)
		l.Since, l.Read = db.Instant(since), db.Instant(read)
		return l, err
	}
	all, err = db.List(ctx, s.db.Reader, scan, `SELECT c.connection, c.created_at, s.last_success_at FROM connections c
		JOIN streams s ON s.user_id = c.user_id AND s.connection = c.connection AND s.stream = $2
		WHERE c.user_id = $1 AND s.reading <> '' AND s.reading <> $3 ORDER BY c.connection`, user, library.Listens,
		library.NotOffered)
	if err != nil {
		return nil, err
	}
	of := func(conn library.ConnectionID) *library.Ledger {
		i := slices.IndexFunc(all, func(l library.Ledger) bool { return l.Connection == conn })
		if i < 0 { // one that is no longer connected
			return &library.Ledger{}
		}
		return &all[i]
	}
	audits, err := db.List(ctx, s.db.Reader, scanAudit, "SELECT "+columns+
		"'' FROM audits WHERE user_id = $1 ORDER BY connection, month DESC", user)
	if err != nil {
		return nil, err
	}
	for _, a := range audits {
		l := of(a.connection)
		l.Audits = append(l.Audits, a.Audit)
	}
	for i := range all {
		if all[i].Gaps, err = s.runs.Gaps(ctx, user, all[i].Connection); err != nil {
			return nil, err
		}
		if all[i].Files, err = s.FilesOf(ctx, user, all[i].Connection); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// AsksOfPast reports whether a person has to decide about a month of a connection's history.
func (s *Store) AsksOfPast(ctx context.Context, user int64, conn library.ConnectionID) (asks bool, err error) {
	err = s.db.Reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM audits
		WHERE user_id = $1 AND connection = $2 AND asks = 1)`, user, conn).Scan(&asks)
	return asks, db.Explain(err)
}

// LostPlays returns the times whose plays of a connection were lost and that no imported export covers, the latest
// first.
func (s *Store) LostPlays(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Gap, error) {
	gaps, err := s.runs.Gaps(ctx, user, conn)
	if err != nil {
		return nil, err
	}
	files, err := s.FilesOf(ctx, user, conn)
	return ledger.LostOf(library.Ledger{Gaps: gaps, Files: files}), err
}

// FilesOf returns the times that imported exports of a connection cover.
func (s *Store) FilesOf(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Span, error) {
	return db.List(ctx, s.db.Reader, func(r db.Scanner) (f library.Span, err error) {
		var first, last int64
		err = r.Scan(&first, &last)
		f.After, f.Before = db.Instant(first), db.Instant(last)
		return f, err
	}, `SELECT first_at, last_at FROM imports
		WHERE user_id = $1 AND connection = $2 AND state = 'done' AND preview = 0 AND last_at > 0`, user, conn)
}

// AuditStates counts the months of all people's histories by what is known of them; see ledger.State.
func (s *Store) AuditStates(ctx context.Context) (map[string]int, error) {
	states := map[string]int{}
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var state string
		var n int
		err = r.Scan(&state, &n)
		states[state] = n
		return none, err
	}, `SELECT CASE WHEN asks = 1 AND held <> '[]' THEN 'held' WHEN asks = 1 THEN 'gone'
			WHEN checked_at = 0 AND failed_at > 0 THEN 'unknown' WHEN checked_at = 0 THEN 'pending'
			WHEN short > 0 THEN 'short' ELSE 'proven' END AS state, count(*)
		FROM audits a WHERE NOT EXISTS (SELECT 1 FROM audits b WHERE b.user_id = a.user_id
			AND b.connection = a.connection AND b.month = $1 AND b.counted = $2) GROUP BY 1`, library.Before,
		library.NotKept)
	return states, err
}
