package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
)

// scanner is a row to read columns from.
type scanner interface{ Scan(...any) error }

// wider is a row with more columns than those that are scanned from it, which are read into more.
type wider struct {
	scanner
	more []any
}

// Scan implements scanner.
func (w wider) Scan(into ...any) error { return w.scanner.Scan(append(into, w.more...)...) }

// querier is a database or a transaction.
type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// rowQuerier is a database or a transaction, too.
type rowQuerier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// list reads all rows of a query.
func list[T any](
	ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any,
) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, local(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, local(err)
		}
		all = append(all, v)
	}
	return all, local(rows.Err())
}

// found returns library.ErrNotFound in place of sql.ErrNoRows.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return library.ErrNotFound
	}
	return local(err)
}

// rowsAtOnce is the most rows that insertRows inserts with one statement. SQLite searches all placeholders of a
// statement for each name, so many short statements are faster than a few long ones.
const rowsAtOnce = 8

// insertRows inserts rows of width values each. head is the statement before VALUES, and tail the rest of it.
func insertRows(ctx context.Context, tx *sql.Tx, head string, width int, args []any, tail string) error {
	if most := rowsAtOnce * width; len(args) >= most {
		insert, err := tx.PrepareContext(ctx, head+" VALUES "+placeholders(rowsAtOnce, width)+" "+tail)
		if err != nil {
			return err
		}
		defer insert.Close()
		for ; len(args) >= most; args = args[most:] {
			if _, err := insert.ExecContext(ctx, args[:most]...); err != nil {
				return err
			}
		}
	}
	if len(args) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, head+" VALUES "+placeholders(len(args)/width, width)+" "+tail, args...)
	return err
}

// placeholders returns n groups of width placeholders each.
func placeholders(n, width int) string { return placeholdersFrom(1, n, width) }

// placeholdersFrom returns n groups of width placeholders each that begin with $first.
func placeholdersFrom(first, n, width int) string {
	groups := make([]string, n)
	for i := range n {
		groups[i] = numbered(i*width+first, width)
	}
	return strings.Join(groups, ",")
}

// numbered returns a group of n placeholders that begin with $first.
func numbered(first, n int) string {
	b := []byte{'('}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '$'), int64(first+i), 10)
	}
	return string(append(b, ')'))
}

// nextIDs reserves n consecutive IDs for rows of a table and returns the first.
func nextIDs(ctx context.Context, tx *sql.Tx, table string, n int) (int64, error) {
	var last int64
	err := tx.QueryRowContext(ctx, `INSERT INTO sequences (name, last) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET last = sequences.last + excluded.last RETURNING last`, table, n).Scan(&last)
	return last - int64(n) + 1, err
}

// millis returns a time as it is stored: Unix milliseconds, or 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// instant returns the time that millis stored.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// length returns the duration that is stored as milliseconds.
func length(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
