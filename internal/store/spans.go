package store

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/library"
)

// The listens of an artist are looked for only in those spans of time in which the artist was heard. An index with the
// artists or the spellings first would be found in faster, but it would change everywhere with each page of listens,
// and cost ten times as much writing.

// spanLength is the length of a span in milliseconds. The numbers of spans are stored, so it never changes.
const spanLength = int64(30 * 24 * time.Hour / time.Millisecond)

// spanOf returns the number of the span of a time.
func spanOf(at time.Time) int64 {
	ms := at.UnixMilli()
	n := ms / spanLength
	if ms%spanLength < 0 {
		n--
	}
	return n
}

// hearing says that a person may have heard an artist in a span.
type hearing struct{ user, span, artist int64 }

// noteHeard stores the artists of new listens, which are those with a spelling.
func noteHeard(ctx context.Context, tx *sql.Tx, user int64, fresh []*library.Listen, spelt []int64) error {
	all := map[hearing]bool{}
	for i, l := range fresh {
		if spelt[i] != 0 {
			all[hearing{user, spanOf(l.PlayedAt), foldKey(indexed(l.Artist))}] = true
		}
	}
	return saveHeard(ctx, tx, all)
}

func saveHeard(ctx context.Context, tx *sql.Tx, all map[hearing]bool) error {
	const width = 3
	rows := make([]any, 0, width*len(all))
	for h := range all {
		rows = append(rows, h.user, h.span, h.artist)
	}
	return insertRows(ctx, tx, "INSERT INTO heard (user_id, span, artist_key)", width, rows, "ON CONFLICT DO NOTHING")
}

// spans are the numbers of consecutive spans; none if last is before first.
type spans struct{ first, last int64 }

// ofSpellings begins a query for the listens l of the person $1 in the spans from $3 to $4 that have one of the
// selected spellings, which may depend on $2. More conditions may follow after an AND.
func ofSpellings(columns, joins, selected string) string {
	// The cross join and the plus make SQLite begin with the spans.
	return `WITH RECURSIVE every (n) AS (
			SELECT CAST($4 AS BIGINT) UNION ALL SELECT n - 1 FROM every WHERE n > $3
		), spans (n) AS (
			SELECT n FROM every WHERE EXISTS (SELECT 1 FROM heard h WHERE h.user_id = $1 AND h.span = +every.n
				AND h.artist_key IN (SELECT artist_key FROM spellings WHERE id IN (` + selected + `)))
		)
		SELECT ` + columns + ` FROM spans CROSS JOIN listens l ` + joins + `
		WHERE l.user_id = $1 AND l.played_at >= spans.n * 2592000000 AND l.played_at < (spans.n + 1) * 2592000000
		AND l.spelling_id IN (` + selected + ")"
}

// spansOf returns the spans in which a filter may select listens.
func (s *Store) spansOf(ctx context.Context, f library.ListenFilter) (spans, error) {
	var first, last sql.NullInt64
	err := s.reader.QueryRowContext(ctx, `SELECT (SELECT min(played_at) FROM listens WHERE user_id = $1),
		(SELECT max(played_at) FROM listens WHERE user_id = $1)`, f.User).Scan(&first, &last)
	if err != nil || !first.Valid {
		return spans{0, -1}, local(err)
	}
	from, to := time.UnixMilli(first.Int64), time.UnixMilli(last.Int64)
	if f.From.After(from) {
		from = f.From
	}
	if !f.To.IsZero() && f.To.Before(to) {
		to = f.To
	}
	return spans{spanOf(from), spanOf(to)}, nil
}
