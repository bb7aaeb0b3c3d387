package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SealedColumn is a column with sealed texts. The place of a text is the table, the column and the values of the row's
// columns, separated by dots.
type SealedColumn struct {
	Table, Column string
	row           []string
	Mixed         bool // some of its texts are not sealed
	// blank takes the place of a text whose key is lost; when it is empty, the row goes.
	Blank string
}

// SealedColumns lists every sealed column. A column that is missing here cannot be sealed, so that a change of the key
// misses no secret.
var SealedColumns = []SealedColumn{
	{Table: "facts", Column: "value", row: []string{"name"}, Mixed: true},
	{Table: "connections", Column: "credentials", row: []string{"user_id", "connection"}, Blank: "{}"},
	{Table: "pending_connections", Column: "credentials", row: []string{"user_id", "connection"}},
	{Table: "channels", Column: "url", row: []string{"id"}, Blank: LostAddress},
	{Table: "oauth_states", Column: "verifier", row: []string{"id"}},
	{Table: "answers", Column: "answer", row: []string{"user_id", "id"}},
	{Table: "settings", Column: "sealed", row: []string{"path"}, Mixed: true},
	{Table: "sending_players", Column: "proof", row: []string{"id"}, Mixed: true, Blank: "lost"},
	{Table: "links", Column: "code", row: []string{"id"}, Blank: "lost"},
	{Table: "shares", Column: "code", row: []string{"id"}, Blank: "lost"},
	{Table: "factors", Column: "secret", row: []string{"id"}},
	{Table: "grants", Column: "secret", row: []string{"id"}},
	{Table: "comparisons", Column: "link", row: []string{"id"}, Blank: "lost"},
}

// LostAddress is the address of a channel whose own one was sealed with a lost key.
const LostAddress = "lost:"

// mustBeListed panics if the column of a place is not in SealedColumns.
func mustBeListed(place string) {
	in := func(c SealedColumn) bool { return strings.HasPrefix(place, c.Table+"."+c.Column+".") }
	if !slices.ContainsFunc(SealedColumns, in) {
		panic("store: the column of " + place + " has to be listed in sealedColumns before anything is sealed for it")
	}
}

// Rotate seals every secret with another key in one transaction: afterwards either all of them open with that key, or
// all with the previous one. It returns their number. The store keeps the key that it was opened with, so it must be
// closed afterwards.
func (s *DB) Rotate(ctx context.Context, to *Key) (n int, err error) {
	if err := s.Shred(ctx, s.Writer); err != nil { // erases what the old key opens
		return 0, err
	}
	err = s.Write(ctx, func(tx *sql.Tx) error {
		for _, c := range SealedColumns {
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

// SealedText is one text with the values that identify its row.
type SealedText struct {
	Row  []any
	Text string
}

func (s *DB) resealColumn(ctx context.Context, tx *sql.Tx, c SealedColumn, to *Key) (n int, err error) {
	all, err := c.Read(ctx, tx)
	if err != nil {
		return 0, err
	}
	update := fmt.Sprintf("UPDATE %s SET %s = $1 WHERE %s", c.Table, c.Column, c.Where(2))
	for _, v := range all {
		if c.Mixed && !strings.HasPrefix(v.Text, s.Key.id+":") {
			continue
		}
		place := c.Place(v.Row)
		plain, err := s.Key.Open(v.Text, place)
		if errors.Is(err, ErrWrongKey) {
			err = fmt.Errorf("open secret of %s: %w", place, err)
		}
		if err != nil {
			return n, err
		}
		if err := ExecTx(ctx, tx, update, append([]any{to.Seal(plain, place)}, v.Row...)...); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Place returns the place, in the sense of [Key.Seal], of the column's text in a row.
func (c SealedColumn) Place(row []any) string {
	parts := []string{c.Table, c.Column}
	for _, v := range row {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, ".")
}

// Read returns the texts of the column.
func (c SealedColumn) Read(ctx context.Context, tx *sql.Tx) ([]SealedText, error) {
	scan := func(r Scanner) (v SealedText, err error) {
		v.Row = make([]any, len(c.row))
		into := []any{&v.Text}
		for i := range v.Row {
			into = append(into, &v.Row[i])
		}
		return v, r.Scan(into...)
	}
	return List(ctx, tx, scan, fmt.Sprintf("SELECT %s, %s FROM %s", c.Column, strings.Join(c.row, ", "), c.Table))
}

// Where returns the condition that selects a row, whose values are the arguments from $first on.
func (c SealedColumn) Where(first int) string {
	conditions := make([]string, len(c.row))
	for i, name := range c.row {
		conditions[i] = fmt.Sprintf("%s = $%d", name, i+first)
	}
	return strings.Join(conditions, " AND ")
}
