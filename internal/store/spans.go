package store

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/library"
)

// The listens of some spellings are found span by span, because the index has the spans first: listens of one time lie
// together in it. An index with the spellings first would change everywhere with each page of listens, and cost ten
// times as much writing.

// spanLength is the length of a span in milliseconds. The index listens_by_spelling has the same number.
const spanLength = int64(30 * 24 * time.Hour / time.Millisecond)

// spans are the numbers of consecutive spans; none if last is before first.
type spans struct{ first, last int64 }

// ofSpellings begins a query for the listens l of the person $1 in the spans from $3 to $4 that have one of the selected
// spellings, which may depend on $2. More conditions may follow after an AND.
func ofSpellings(columns, joins, selected string) string {
	// The cross join and the plus make SQLite begin with the spans and use the index.
	return `WITH RECURSIVE spans (n) AS (
			SELECT CAST($4 AS BIGINT) UNION ALL SELECT n - 1 FROM spans WHERE n > $3
		)
		SELECT ` + columns + ` FROM spans CROSS JOIN listens l ` + joins + `
		WHERE l.user_id = $1 AND (l.played_at / 2592000000) = +spans.n AND l.spelling_id IN (` + selected + ")"
}

// spansOf returns the spans in which a filter may select listens.
func (s *Store) spansOf(ctx context.Context, f library.ListenFilter) (spans, error) {
	var first, last sql.NullInt64
	err := s.reader.QueryRowContext(ctx, `SELECT (SELECT min(played_at) FROM listens WHERE user_id = $1),
		(SELECT max(played_at) FROM listens WHERE user_id = $1)`, f.User).Scan(&first, &last)
	if err != nil || !first.Valid {
		return spans{0, -1}, local(err)
	}
	if !f.From.IsZero() {
		first.Int64 = max(first.Int64, millis(f.From))
	}
	if !f.To.IsZero() {
		last.Int64 = min(last.Int64, millis(f.To))
	}
	if first.Int64 > last.Int64 {
		return spans{0, -1}, nil
	}
	return spans{first.Int64 / spanLength, last.Int64 / spanLength}, nil
}

// plays counts a person's listens of the selected spellings, which may depend on the argument $2, and returns the time
// of the last one.
func (s *Store) plays(ctx context.Context, user int64, selected string, id int64) (n int, last time.Time, err error) {
	all, err := s.spansOf(ctx, library.ListenFilter{User: user})
	if err != nil || all.last < all.first {
		return 0, last, err
	}
	var newest, at int64
	err = s.reader.QueryRowContext(ctx, ofSpellings("count(*), coalesce(max(spans.n), 0)", "", selected),
		user, id, all.first, all.last).Scan(&n, &newest)
	if err != nil || n == 0 {
		return 0, last, local(err)
	}
	err = s.reader.QueryRowContext(ctx, ofSpellings("coalesce(max(l.played_at), 0)", "", selected), user, id, newest,
		newest).Scan(&at)
	return n, instant(at), local(err)
}
