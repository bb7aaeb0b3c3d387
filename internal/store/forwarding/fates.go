package forwarding

import (
	"context"
	"database/sql"

	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/statistics"
)

// What became of a person's listens at a connection is counted by span, and kept with the version of the span. A page
// adds up the spans, and counts again only those whose listens, or what is forwarded of them, have changed since.

// fate counts what became of the listens of a span.
type fate struct {
	span, version             int64
	forwarded, there, missing int
}

// fates returns what became of a person's listens at a connection, the latest span first.
func (s *Store) fates(ctx context.Context, user int64, target connections.Account) ([]fate, error) {
	type row struct {
		fate
		known bool
	}
	scan := func(r db.Scanner) (v row, err error) {
		return v, r.Scan(&v.span, &v.version, &v.known, &v.forwarded, &v.there, &v.missing)
	}
	rows, err := db.List(ctx, s.db.Reader, scan,
		`SELECT c.span, c.version, k.span IS NOT NULL, coalesce(k.forwarded, 0),
		coalesce(k.there, 0), coalesce(k.missing, 0) FROM listen_columns c
		LEFT JOIN forwarding_counts k ON k.user_id = c.user_id AND k.connection = $2 AND k.span = c.span
			AND k.version = c.version AND k.account = $3
		WHERE c.user_id = $1 ORDER BY c.span DESC`, user, target[0], target.String())
	all := make([]fate, len(rows))
	var counted []fate
	for i, v := range rows {
		if !v.known && err == nil {
			v.fate, err = s.countFate(ctx, user, target, v.fate)
			counted = append(counted, v.fate)
		}
		all[i] = v.fate
	}
	if err == nil {
		s.keepFates(ctx, user, target, counted)
	}
	return all, err
}

// countFate counts what became of the listens of a span.
func (s *Store) countFate(ctx context.Context, user int64, target connections.Account, f fate) (fate, error) {
	type row struct {
		class string
		n     int
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.class, &v.n) }
	rows, err := db.List(ctx, s.db.Reader, scan, `SELECT CASE
			WHEN EXISTS (SELECT 1 FROM forwards f WHERE f.listen_id = l.id AND f.connection = $4) THEN 'forwarded'
			WHEN EXISTS (SELECT 1 FROM listen_sources s WHERE s.listen_id = l.id AND `+target.Sources("s", 4)+`) THEN
				CASE WHEN EXISTS (SELECT 1 FROM listen_sources o WHERE o.listen_id = l.id
					AND NOT `+target.Sources("o", 4)+`) THEN 'there' ELSE '' END
			WHEN l.approximate = 1 OR EXISTS (SELECT 1 FROM forwards f WHERE f.listen_id = l.id
				AND `+target.In("f.connection", 4)+`) OR EXISTS (SELECT 1 FROM withheld w WHERE w.listen_id = l.id
				AND (w.connection = '' OR `+target.In("w.connection", 4)+`)) THEN ''
			ELSE 'missing' END AS class, count(*)
		FROM listens l WHERE l.user_id = $1 AND l.played_at >= $2 AND l.played_at < $3 GROUP BY class`,
		target.Args(user, f.span*statistics.SpanLength, (f.span+1)*statistics.SpanLength)...)
	for _, r := range rows {
		switch r.class {
		case "forwarded":
			f.forwarded = r.n
		case "there":
			f.there = r.n
		case "missing":
			f.missing = r.n
		}
	}
	return f, err
}

// keepFates stores counts. The version was read before them, so that they do not hold where it has changed meanwhile.
// Errors, such as a full disk, are ignored, because the spans are then counted again next time.
func (s *Store) keepFates(ctx context.Context, user int64, target connections.Account, counted []fate) {
	const width = 8
	rows := make([]any, 0, width*len(counted))
	for _, f := range counted {
		rows = append(rows, user, target[0], f.span, f.version, target.String(), f.forwarded, f.there, f.missing)
	}
	if len(rows) == 0 {
		return
	}
	_ = s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.InsertRows(ctx, tx, `INSERT INTO forwarding_counts
			(user_id, connection, span, version, account, forwarded, there, missing)`, width, rows,
			`ON CONFLICT (user_id, connection, span) DO UPDATE SET version = excluded.version,
				account = excluded.account, forwarded = excluded.forwarded, there = excluded.there,
				missing = excluded.missing`)
	})
}

// sumOf adds up the counts of spans.
func sumOf(all []fate) (sum fate) {
	for _, f := range all {
		sum.forwarded, sum.there, sum.missing = sum.forwarded+f.forwarded, sum.there+f.there, sum.missing+f.missing
	}
	return sum
}
