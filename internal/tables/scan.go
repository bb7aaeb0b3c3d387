package tables

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// scan reads the rows of a table.
type scan struct {
	db       Querier
	t        Table
	where    string
	clean    bool // texts lose what Postgres does not store
	progress *progress

	altered int64 // values that lost something
}

// each calls fn with the values of each row, in the order of the key. A value is nil, an int64, a float64, a string
// or a []byte. They are valid until fn returns.
func (s *scan) each(ctx context.Context, fn func(row []any) error) (sum Sum, err error) {
	sum.Table = s.t.Name
	rows, err := s.db.QueryContext(ctx, s.query())
	if err != nil {
		return sum, err
	}
	defer rows.Close()
	row, into := make([]any, len(s.t.Columns)), make([]any, len(s.t.Columns))
	for i := range row {
		into[i] = &row[i]
	}
	var buffer []byte
	told := int64(0)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return sum, err
		}
		buffer = buffer[:0]
		for i, c := range s.t.Columns {
			if row[i], err = s.value(c, row[i]); err != nil {
				return sum, fmt.Errorf("column %s: %w", c.Name, err)
			}
			buffer = encoded(buffer, row[i])
		}
		if err := fn(row); err != nil {
			return sum, err
		}
		sum.add(buffer)
		if sum.Rows-told == often {
			told = sum.Rows
			s.progress.add(often)
		}
	}
	s.progress.add(sum.Rows - told)
	return sum, rows.Err()
}

func (s *scan) query() string {
	var query strings.Builder
	query.WriteString("SELECT " + names(s.t) + " FROM " + quote(s.t.Name) + condition(s.where))
	for i, k := range s.t.key {
		by := ", "
		if i == 0 {
			by = " ORDER BY "
		}
		query.WriteString(by + quote(k))
	}
	return query.String()
}

// add adds a row. The sum is the same in any order.
func (s *Sum) add(row []byte) {
	h := sha256.Sum256(row)
	for i := 0; i < len(s.Hash); i += 8 {
		n := binary.BigEndian.Uint64(s.Hash[i:]) + binary.BigEndian.Uint64(h[i:])
		binary.BigEndian.PutUint64(s.Hash[i:], n)
	}
	s.Rows++
}

// encoded appends a value so that different rows have different bytes.
func encoded(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case int64:
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'f'), math.Float64bits(v))
	case string:
		return append(binary.BigEndian.AppendUint64(append(b, 's'), uint64(len(v))), v...)
	case []byte:
		return append(binary.BigEndian.AppendUint64(append(b, 'b'), uint64(len(v))), v...)
	}
	panic(fmt.Sprintf("tables: a value is a %T", v))
}

// value returns what an engine has read, in the one form for its kind.
func (s *scan) value(c Column, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch c.Kind {
	case Int:
		if n, ok := v.(int64); ok {
			return n, nil
		}
		if yes, ok := v.(bool); ok {
			if yes {
				return int64(1), nil
			}
			return int64(0), nil
		}
	case Float:
		switch n := v.(type) {
		case float64:
			return n + 0, nil // SQLite keeps no negative zero
		case int64:
			return float64(n), nil
		}
	case Bytes:
		switch b := v.(type) {
		case []byte:
			if b == nil { // which SQLite's driver returns for no bytes, and takes for NULL
				b = []byte{}
			}
			return b, nil
		case string:
			return []byte(b), nil
		}
	case Text:
		return s.cleaned(textOf(v)), nil
	}
	return nil, fmt.Errorf("%T is no %s", v, c.Kind)
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// cleaned returns a text as Postgres stores it.
func (s *scan) cleaned(text string) string {
	if !s.clean {
		return text
	}
	clean := Clean(text)
	if clean != text {
		s.altered++
	}
	return clean
}

// Clean removes from a text the characters that Postgres refuses and SQLite accepts.
func Clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
}
