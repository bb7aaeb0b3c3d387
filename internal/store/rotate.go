package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// sealedColumn is a column with sealed texts. The place of a text is the table, the column and the values of the row's
// columns, separated by dots.
type sealedColumn struct {
	table, column string
	row           []string
	mixed         bool // some of its texts are not sealed
	// blank takes the place of a text whose key is lost; when it is empty, the row goes.
	blank string
}

// sealedColumns lists every sealed column. A column that is missing here cannot be sealed, so that a change of the key
// misses no secret.
var sealedColumns = []sealedColumn{
	{table: "facts", column: "value", row: []string{"name"}, mixed: true},
	{table: "connections", column: "credentials", row: []string{"user_id", "connection"}, blank: "{}"},
	{table: "pending_connections", column: "credentials", row: []string{"user_id", "connection"}},
	{table: "channels", column: "url", row: []string{"id"}, blank: lostAddress},
	{table: "oauth_states", column: "verifier", row: []string{"id"}},
	{table: "answers", column: "answer", row: []string{"user_id", "id"}},
	{table: "settings", column: "sealed", row: []string{"path"}, mixed: true},
}

// lostAddress is the address of a channel whose own one was sealed with a lost key.
const lostAddress = "lost:"

// mustBeListed panics if the column of a place is not in sealedColumns.
func mustBeListed(place string) {
	in := func(c sealedColumn) bool { return strings.HasPrefix(place, c.table+"."+c.column+".") }
	if !slices.ContainsFunc(sealedColumns, in) {
		panic("store: the column of " + place + " has to be listed in sealedColumns before anything is sealed for it")
	}
}

// Rotate seals every secret with another key in one transaction: afterwards either all of them open with that key, or
// all with the previous one. It returns their number. The store keeps the key that it was opened with, so it must be
// closed afterwards.
func (s *Store) Rotate(ctx context.Context, to *Key) (n int, err error) {
	if err := s.shred(ctx, s.writer); err != nil { // erases what the old key opens
		return 0, err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		for _, c := range sealedColumns {
			changed, err := s.resealColumn(ctx, tx, c, to)
			if err != nil {
				return err
			}
			n += changed
		}
		return nil
	})
	return n, err
}

// sealedText is one text with the values that identify its row.
type sealedText struct {
	row  []any
	text string
}

func (s *Store) resealColumn(ctx context.Context, tx *sql.Tx, c sealedColumn, to *Key) (n int, err error) {
	all, err := c.read(ctx, tx)
	if err != nil {
		return 0, err
	}
	update := fmt.Sprintf("UPDATE %s SET %s = $1 WHERE %s", c.table, c.column, c.where(2))
	for _, v := range all {
		if c.mixed && !strings.HasPrefix(v.text, s.key.id+":") {
			continue
		}
		place := c.place(v.row)
		plain, err := s.key.open(v.text, place)
		if errors.Is(err, ErrWrongKey) {
			err = fmt.Errorf("open secret of %s: %w", place, err)
		}
		if err != nil {
			return n, err
		}
		if err := execTx(ctx, tx, update, append([]any{to.seal(plain, place)}, v.row...)...); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (c sealedColumn) place(row []any) string {
	parts := []string{c.table, c.column}
	for _, v := range row {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, ".")
}

// read returns the texts of the column.
func (c sealedColumn) read(ctx context.Context, tx *sql.Tx) ([]sealedText, error) {
	scan := func(r scanner) (v sealedText, err error) {
		v.row = make([]any, len(c.row))
		into := []any{&v.text}
		for i := range v.row {
			into = append(into, &v.row[i])
		}
		return v, r.Scan(into...)
	}
	return list(ctx, tx, scan, fmt.Sprintf("SELECT %s, %s FROM %s", c.column, strings.Join(c.row, ", "), c.table))
}

// where returns the condition that selects a row, whose values are the arguments from $first on.
func (c sealedColumn) where(first int) string {
	conditions := make([]string, len(c.row))
	for i, name := range c.row {
		conditions[i] = fmt.Sprintf("%s = $%d", name, i+first)
	}
	return strings.Join(conditions, " AND ")
}
