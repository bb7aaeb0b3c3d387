package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// SQLite is a database in a file.
var SQLite Dialect = sqlite{}

type sqlite struct{}

func (sqlite) keeps() bool { return true }

func (sqlite) schema(ctx context.Context, q Querier) (all []Table, err error) {
	rows, err := q.QueryContext(ctx, `SELECT t.name, c.name, c.type, c."notnull" OR c.pk > 0, c.pk, coalesce((
			SELECT group_concat(DISTINCT f."table") FROM pragma_foreign_key_list(t.name) f), '')
		FROM pragma_table_list t, pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.type IN ('table', 'virtual') AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~'
		ORDER BY t.name, c.cid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var table, parents string
		var c Column
		var inKey int
		if err := rows.Scan(&table, &c.Name, &c.typed, &c.NotNull, &inKey, &parents); err != nil {
			return nil, err
		}
		if len(all) == 0 || all[len(all)-1].Name != table {
			all = append(all, Table{Name: table})
			if parents != "" {
				all[len(all)-1].parents = strings.Split(parents, ",")
			}
		}
		c.Kind = sqliteKind(c)
		t := &all[len(all)-1]
		t.Columns = append(t.Columns, c)
		t.hasKey(c.Name, inKey)
	}
	return all, rows.Err()
}

// sqliteKind returns the kind of a column by the name of its type; an unknown name is its own kind.
func sqliteKind(c Column) Kind {
	switch name := strings.ToUpper(c.typed); name {
	case "INTEGER", "BIGINT", "SMALLINT", "BOOLEAN":
		return Int
	case "DOUBLE PRECISION", "REAL":
		return Float
	case "TEXT":
		return Text
	case "BLOB":
		return Bytes
	default:
		return Kind("unknown to SQLite: " + name)
	}
}

func (sqlite) hurry(ctx context.Context, to *sql.Conn, on bool) error {
	statement := "PRAGMA synchronous = FULL"
	if on {
		statement = "PRAGMA synchronous = NORMAL"
	}
	_, err := to.ExecContext(ctx, statement)
	return err
}

func (sqlite) empty(ctx context.Context, to *sql.Conn, all []pair) error {
	deletes := make([]string, len(all))
	for i, t := range all {
		deletes[len(all)-1-i] = "DELETE FROM " + quote(t.to.Name) + condition(t.where)
	}
	return together(ctx, to, deletes)
}

// together runs statements in one transaction.
func together(ctx context.Context, to *sql.Conn, statements []string) error {
	tx, err := to.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (sqlite) writer(to *sql.Conn, t Table) writer {
	group := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.Columns)), ", ") + ")"
	head := "INSERT INTO " + quote(t.Name) + " (" + names(t) + ") VALUES "
	return &sqliteWriter{to: to, t: t, head: head, group: group}
}

// sqliteWriter inserts a few rows with each statement, and many with each transaction.
type sqliteWriter struct {
	to          *sql.Conn
	t           Table
	head, group string

	args   []any
	tx     *sql.Tx
	insert *sql.Stmt // a full group
	stored int       // rows in tx
}

const (
	rowsAtOnce   = 8      // of one statement: SQLite takes its time with many placeholders
	rowsTogether = 20_000 // of one transaction
)

func (w *sqliteWriter) add(ctx context.Context, row []any) error {
	w.args = append(w.args, row...)
	if len(w.args) < rowsAtOnce*len(row) {
		return nil
	}
	return w.store(ctx)
}

// store inserts the rows that wait.
func (w *sqliteWriter) store(ctx context.Context) (err error) {
	if w.tx == nil {
		if w.tx, err = w.to.BeginTx(ctx, nil); err != nil {
			return err
		}
		all := strings.TrimSuffix(strings.Repeat(w.group+", ", rowsAtOnce), ", ")
		if w.insert, err = w.tx.PrepareContext(ctx, w.head+all); err != nil {
			return w.end(err)
		}
	}
	n := len(w.args) / len(w.t.Columns)
	if n == rowsAtOnce {
		_, err = w.insert.ExecContext(ctx, w.args...)
	} else {
		_, err = w.tx.ExecContext(ctx, w.head+strings.TrimSuffix(strings.Repeat(w.group+", ", n), ", "), w.args...)
	}
	w.args, w.stored = w.args[:0], w.stored+n
	if err != nil || w.stored >= rowsTogether {
		return w.end(err)
	}
	return nil
}

// end ends the transaction: after an error without a trace.
func (w *sqliteWriter) end(err error) error {
	tx := w.tx
	w.tx, w.stored = nil, 0
	if err != nil {
		return errors.Join(fmt.Errorf("insert: %w", err), tx.Rollback())
	}
	return tx.Commit()
}

func (w *sqliteWriter) flush(ctx context.Context) error {
	if len(w.args) > 0 {
		if err := w.store(ctx); err != nil {
			return err
		}
	}
	if w.tx != nil {
		return w.end(nil)
	}
	return nil
}
