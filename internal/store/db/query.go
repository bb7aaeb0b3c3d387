package db

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/rows"
)

// ExecTx runs a statement in a transaction. Its error is for [DB.Write], which explains it.
func ExecTx(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// Changed returns library.ErrNotFound if a statement changed no row.
func Changed(result sql.Result, err error) error {
	if err != nil {
		return Explain(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(library.ErrNotFound, err)
	}
	return nil
}

// InChunks calls fn with up to 100 ids at a time, which are the arguments from $2 on in its statement. Writing + before
// another column in that statement keeps SQLite from using an index that covers all listens of a person.
func InChunks(ids []int64, fn func(these string, args []any) error) error {
	for len(ids) > 0 {
		n := min(100, len(ids))
		args := make([]any, n)
		for i := range args {
			args[i] = ids[i]
		}
		if err := fn(Numbered(2, n), args); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// Scanner is a row to read columns from.
type Scanner interface{ Scan(...any) error }

// Wider is a row with more columns than those that are scanned from it, which are read into more.
type Wider struct {
	Scanner
	More []any
}

// Scan implements scanner.
func (w Wider) Scan(into ...any) error { return w.Scanner.Scan(append(into, w.More...)...) }

// Querier is a database or a transaction.
type Querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// RowQuerier is a database or a transaction, too.
type RowQuerier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// List reads all rows of a query.
func List[T any](
	ctx context.Context, q Querier, scan func(Scanner) (T, error), query string, args ...any,
) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, Explain(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, Explain(err)
		}
		all = append(all, v)
	}
	return all, Explain(rows.Err())
}

// Found returns library.ErrNotFound in place of sql.ErrNoRows.
func Found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return library.ErrNotFound
	}
	return Explain(err)
}

// InsertRows inserts rows of width values each, as the engine takes many of them best. head is the statement before
// VALUES, and tail the rest of it. In a column all values are of one type, or nil. Where the tail updates
// rows, no two of these may be the same one.
func InsertRows(ctx context.Context, tx *sql.Tx, head string, width int, args []any, tail string) error {
	if len(args) == 0 {
		return nil
	}
	return ExecTx(ctx, tx, head, rows.Rows{Width: width, Values: args, Tail: tail})
}

// Numbered returns a group of n placeholders that begin with $first.
func Numbered(first, n int) string {
	b := []byte{'('}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '$'), int64(first+i), 10)
	}
	return string(append(b, ')'))
}

// Millis returns a time as it is stored: Unix milliseconds, or 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Instant returns the time that millis stored.
func Instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Length returns the duration that is stored as milliseconds.
func Length(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// Flag returns a bool as it is stored: 1 or 0.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Affected returns how many rows a statement changed.
func Affected(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// ScanID reads a row of one number.
func ScanID(r Scanner) (id int64, err error) { return id, r.Scan(&id) }
