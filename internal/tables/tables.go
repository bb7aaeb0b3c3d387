// Package tables copies the rows of a database to another one, of the same engine or the other. It knows no table by
// its meaning: what there is to copy comes from the schemas, which must have the same tables, columns and kinds of
// values on both sides.
//
// The rows of a table are read once, in the order of their key, and written many at a time, parents before what refers
// to them. Afterwards they are read back, and compared with what was read before by their number and a checksum, which
// is the same on every engine.
package tables

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Querier is what rows are read from. For a consistent copy it is a transaction that sees one state of the database.
type Querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// Dialect is an engine: SQLite or Postgres.
type Dialect interface {
	// schema returns the tables, without their order.
	schema(context.Context, Querier) ([]Table, error)
	// writer writes rows of a table.
	writer(*sql.Conn, Table) writer
	// empty deletes the rows that would be copied, children first.
	empty(context.Context, *sql.Conn, []pair) error
	// hurry has later transactions on a connection not wait for the disk, or wait again.
	hurry(ctx context.Context, to *sql.Conn, on bool) error
	// keeps reports whether texts may have every character.
	keeps() bool
}

// writer writes rows. What was added is stored after flush.
type writer interface {
	add(ctx context.Context, row []any) error
	flush(ctx context.Context) error
}

// Table is a table of a schema.
type Table struct {
	Name    string
	Columns []Column
	key     []string // the columns of the primary key
	parents []string // the tables that it refers to
}

// Column is a column of a table.
type Column struct {
	Name    string
	Kind    Kind
	NotNull bool
	typed   string // the engine's name of its type

}

// hasKey notes that a column is at a place of the primary key, from 1; 0 for none.
func (t *Table) hasKey(column string, place int) {
	for len(t.key) < place {
		t.key = append(t.key, "")
	}
	if place > 0 {
		t.key[place-1] = column
	}
}

// Kind is what a column has, whatever an engine calls it.
type Kind string

// The kinds of columns. Flags and numbers are Int.
const (
	Int   Kind = "integer"
	Float Kind = "float"
	Text  Kind = "text"
	Bytes Kind = "bytes"
)

// Schema returns the tables of a database, each after those that it refers to, with their columns in the order of their
// names: engines need not have them in the same order.
func Schema(ctx context.Context, d Dialect, q Querier) ([]Table, error) {
	all, err := d.schema(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	slices.SortStableFunc(all, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range all {
		slices.SortStableFunc(t.Columns, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	}
	sorted := make([]Table, 0, len(all))
	placed := map[string]bool{}
	for len(sorted) < len(all) {
		before := len(sorted)
		for _, t := range all {
			waits := func(parent string) bool { return !placed[parent] }
			if !placed[t.Name] && !slices.ContainsFunc(t.parents, waits) {
				placed[t.Name], sorted = true, append(sorted, t)
			}
		}
		if len(sorted) == before {
			return nil, errors.New("the tables refer to each other in a circle")
		}
	}
	return sorted, nil
}

// Copy says what to copy.
type Copy struct {
	From   Querier
	Engine Dialect // of From
	To     *sql.Conn
	Into   Dialect // the engine of To; it has the tables, and loses the rows in them that Where selects
	// Skip names the tables that are not copied, and Where has conditions for the rows of some tables that are.
	Skip  []string
	Where map[string]string
	// Tell hears how much of the work is done. All stays the same.
	Tell func(done, all int64)
}

// Result is what was copied.
type Result struct {
	Tables []Sum // in the order of the copy
	// Altered is how many values lost characters that Postgres does not store: NUL, and what is no UTF-8.
	Altered int64
	Others  []string // the tables of From that To does not have
}

// Sum is what a table has, whatever the order of its rows.
type Sum struct {
	Table string
	Rows  int64
	Hash  [16]byte
}

// Rows returns the number of all rows.
func (r Result) Rows() (n int64) {
	for _, s := range r.Tables {
		n += s.Rows
	}
	return n
}

// Checksum returns a text that is the same for the same rows in the same tables.
func (r Result) Checksum() string {
	all := sha256.New()
	for _, s := range r.Tables {
		fmt.Fprintf(all, "%s %d %x\n", s.Table, s.Rows, s.Hash)
	}
	return hex.EncodeToString(all.Sum(nil)[:8])
}

// pair is a table on both sides.
type pair struct {
	from, to Table
	where    string
	rows     int64
}

// Run copies all rows and compares them. After an error To has some of them. What it has is on its disk no later than
// what is written to To next.
func (c Copy) Run(ctx context.Context) (r Result, err error) {
	if err := c.Into.hurry(ctx, c.To, true); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.Into.hurry(context.WithoutCancel(ctx), c.To, false)) }()
	pairs, others, err := c.pairs(ctx)
	if err != nil {
		return r, err
	}
	r.Others = others
	p := progress{tell: c.Tell}
	for i, t := range pairs {
		if pairs[i].rows, err = count(ctx, c.From, t.from.Name, t.where); err != nil {
			return r, fmt.Errorf("table %s: %w", t.from.Name, err)
		}
		p.all += 2 * pairs[i].rows // each is read twice
	}
	p.add(0)
	if err := c.Into.empty(ctx, c.To, pairs); err != nil {
		return r, fmt.Errorf("empty the tables: %w", err)
	}
	for _, t := range pairs {
		w := c.Into.writer(c.To, t.to)
		s := scan{db: c.From, t: t.from, where: t.where, clean: !c.Into.keeps(), progress: &p}
		sum, err := s.each(ctx, func(row []any) error { return w.add(ctx, row) })
		if err == nil {
			err = w.flush(ctx)
		}
		if err != nil {
			return r, fmt.Errorf("table %s: %w", t.from.Name, err)
		}
		r.Tables, r.Altered = append(r.Tables, sum), r.Altered+s.altered
	}
	for i, t := range pairs {
		s := scan{db: c.To, t: t.to, where: t.where, progress: &p}
		sum, err := s.each(ctx, func([]any) error { return nil })
		if err == nil && sum != r.Tables[i] {
			err = fmt.Errorf("%d rows were read and %d written, or they differ", r.Tables[i].Rows, sum.Rows)
		}
		if err != nil {
			return r, fmt.Errorf("table %s: %w", t.from.Name, err)
		}
	}
	return r, nil
}

// pairs returns the tables to copy, parents first, and the names of those that only From has.
func (c Copy) pairs(ctx context.Context) (all []pair, others []string, err error) {
	from, err := Schema(ctx, c.Engine, c.From)
	if err != nil {
		return nil, nil, err
	}
	to, err := Schema(ctx, c.Into, c.To)
	if err != nil {
		return nil, nil, err
	}
	skip := func(t Table) bool { return slices.Contains(c.Skip, t.Name) }
	from, to = slices.DeleteFunc(from, skip), slices.DeleteFunc(to, skip)
	for _, t := range to {
		i := slices.IndexFunc(from, func(f Table) bool { return f.Name == t.Name })
		if i < 0 {
			return nil, nil, fmt.Errorf("table %s: is missing", t.Name)
		}
		if err := alike(from[i], t); err != nil {
			return nil, nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		all = append(all, pair{from: from[i], to: t, where: c.Where[t.Name]})
	}
	for _, t := range from {
		if !slices.ContainsFunc(to, func(o Table) bool { return o.Name == t.Name }) {
			others = append(others, t.Name)
		}
	}
	return all, others, nil
}

// alike says how the columns of two tables differ.
func alike(a, b Table) error {
	if len(a.Columns) != len(b.Columns) {
		return fmt.Errorf("%d columns are %d", len(a.Columns), len(b.Columns))
	}
	for i, c := range a.Columns {
		if o := b.Columns[i]; o.Name != c.Name || o.Kind != c.Kind {
			return fmt.Errorf("column %s is %s, column %s is %s", c.Name, c.Kind, o.Name, o.Kind)
		}
	}
	return nil
}

// progress adds up what is done.
type progress struct {
	done, all int64
	tell      func(done, all int64)
}

// often is how many rows are read between two calls of Copy.Tell.
const often = 1000

func (p *progress) add(rows int64) {
	if p.done += rows; p.tell != nil {
		p.tell(p.done, p.all)
	}
}

func count(ctx context.Context, db Querier, table, where string) (n int64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT count(*) FROM "+quote(table)+condition(where))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		err = errors.Join(err, rows.Scan(&n))
	}
	return n, errors.Join(err, rows.Err())
}

func condition(where string) string {
	if where == "" {
		return ""
	}
	return " WHERE " + where
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// names returns the quoted names of columns, with commas between.
func names(t Table) string {
	all := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		all[i] = quote(c.Name)
	}
	return strings.Join(all, ", ")
}
