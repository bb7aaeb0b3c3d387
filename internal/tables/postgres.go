package tables

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Postgres is a database of a Postgres server: the tables of the current schema. To be written to, a connection of the
// driver has a method Postgres that returns its *pgx.Conn.
var Postgres Dialect = postgres{}

type postgres struct{}

func (postgres) keeps() bool { return false }

func (postgres) schema(ctx context.Context, q Querier) (all []Table, err error) {
	rows, err := q.QueryContext(ctx, `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
			a.attnotnull, coalesce(array_position(string_to_array(i.indkey::text, ' '), a.attnum::text), 0),
			coalesce((SELECT string_agg(DISTINCT p.relname, ',') FROM pg_constraint f
				JOIN pg_class p ON p.oid = f.confrelid WHERE f.conrelid = c.oid AND f.contype = 'f'), '')
		FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
		WHERE c.relkind IN ('r', 'p') ORDER BY c.relname, a.attnum`)
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
		c.Kind = postgresKind(c)
		t := &all[len(all)-1]
		t.Columns = append(t.Columns, c)
		t.hasKey(c.Name, inKey)
	}
	return all, rows.Err()
}

// postgresKind returns the kind of a column by the name of its type; an unknown name is its own kind.
func postgresKind(c Column) Kind {
	switch c.typed {
	case "text":
		return Text
	case "bigint", "integer", "smallint", "boolean":
		return Int
	case "double precision":
		return Float
	case "bytea":
		return Bytes
	}
	return Kind("unknown to Postgres: " + c.typed)
}

func (postgres) hurry(ctx context.Context, to *sql.Conn, on bool) error {
	statement := "RESET synchronous_commit"
	if on {
		statement = "SET synchronous_commit = off"
	}
	_, err := to.ExecContext(ctx, statement)
	return err
}

// empty truncates what is emptied as a whole: of an unfinished copy that may be much.
func (postgres) empty(ctx context.Context, to *sql.Conn, all []pair) error {
	var whole, statements []string
	for _, t := range all {
		if t.where == "" {
			whole = append(whole, quote(t.to.Name))
		} else {
			statements = append(statements, "DELETE FROM "+quote(t.to.Name)+condition(t.where))
		}
	}
	if len(whole) > 0 {
		statements = append(statements, "TRUNCATE "+strings.Join(whole, ", "))
	}
	return together(ctx, to, statements)
}

func (postgres) writer(to *sql.Conn, t Table) writer {
	return &postgresWriter{to: to, t: t, copy: "COPY " + quote(t.Name) + " (" + names(t) + ") FROM STDIN"}
}

// postgresWriter collects rows in the text format of COPY.
type postgresWriter struct {
	to   *sql.Conn
	t    Table
	copy string
	rows bytes.Buffer
}

// bytesAtOnce is how many bytes one COPY stores. Each is a transaction.
const bytesAtOnce = 4 << 20

func (w *postgresWriter) add(ctx context.Context, row []any) error {
	for i, v := range row {
		if i > 0 {
			w.rows.WriteByte('\t')
		}
		if v == nil {
			w.rows.WriteString(`\N`)
			continue
		}
		text, err := field(v)
		if err != nil {
			return err
		}
		_, _ = escapes.WriteString(&w.rows, text) // a buffer takes everything
	}
	w.rows.WriteByte('\n')
	if w.rows.Len() < bytesAtOnce {
		return nil
	}
	return w.flush(ctx)
}

var escapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// field returns a value as Postgres reads it.
func field(v any) (string, error) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case []byte:
		return `\x` + hex.EncodeToString(v), nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("a value is a %T", v)
}

func (w *postgresWriter) flush(ctx context.Context) error {
	if w.rows.Len() == 0 {
		return nil
	}
	err := w.to.Raw(func(conn any) error {
		c, ok := conn.(interface{ Postgres() *pgx.Conn })
		if !ok {
			return fmt.Errorf("a connection is a %T", conn)
		}
		_, err := c.Postgres().PgConn().CopyFrom(ctx, &w.rows, w.copy)
		return err
	})
	w.rows.Reset()
	return err
}
