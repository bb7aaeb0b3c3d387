// Package rows inserts many rows with few statements, as each engine takes them best.
package rows

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"reprise/internal/tables"
)

// Rows are rows to insert, as the only argument of a statement that ends before VALUES. Each engine takes many of them
// its own way.
type Rows struct {
	Width  int    // how many values a row has
	Values []any  // of all rows; in a column all are of one type, or nil
	Tail   string // what follows in the statement
}

// Of returns the rows that are the arguments of a statement, if they are.
func Of(args []driver.NamedValue) (rows Rows, ok bool) {
	if len(args) != 1 {
		return rows, false
	}
	rows, ok = args[0].Value.(Rows)
	return rows, ok
}

// Convert makes the values ones that a driver takes. It is for driver.NamedValueChecker: other arguments are left alone
// with driver.ErrSkip.
func Convert(v *driver.NamedValue) error {
	rows, ok := v.Value.(Rows)
	if !ok {
		return driver.ErrSkip
	}
	values := make([]any, len(rows.Values))
	for i, one := range rows.Values {
		var err error
		if values[i], err = driver.DefaultParameterConverter.ConvertValue(one); err != nil {
			return err
		}
	}
	rows.Values = values
	v.Value = rows
	return nil
}

// ForPostgres returns a statement with its arguments as Postgres takes them. Rows become an array for each column: the
// statement is the same for any number of rows, and no value is looked at as a part of it. Texts lose what Postgres
// does not store. The error says that a column has values of several types.
func ForPostgres(query string, args []driver.NamedValue) (string, []driver.NamedValue, error) {
	if r, ok := Of(args); ok {
		return r.arrays(query)
	}
	return query, args, nil
}

func (r Rows) arrays(head string) (query string, args []driver.NamedValue, err error) {
	casts := make([]string, r.Width)
	args = make([]driver.NamedValue, r.Width)
	for i := range r.Width {
		var cast string
		var array any
		switch r.kind(i).(type) {
		case string:
			cast = "text"
			array, err = column(r, i, tables.Clean)
		case []byte:
			cast = "bytea"
			array, err = column(r, i, func(b []byte) []byte { return b })
		case float64:
			cast = "float8"
			array, err = column(r, i, func(f float64) float64 { return f })
		case bool:
			cast = "bool"
			array, err = column(r, i, func(b bool) bool { return b })
		default:
			cast = "int8"
			array, err = column(r, i, func(n int64) int64 { return n })
		}
		if err != nil {
			return "", nil, err
		}
		casts[i] = "$" + strconv.Itoa(i+1) + "::" + cast + "[]"
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: array}
	}
	return head + " SELECT * FROM unnest(" + strings.Join(casts, ",") + ") " + r.Tail, args, nil
}

// kind returns a value of a column that is not nil, if there is one.
func (r Rows) kind(column int) any {
	for i := column; i < len(r.Values); i += r.Width {
		if v := r.Values[i]; v != nil {
			return v
		}
	}
	return nil
}

// column returns the values of a column; a nil is NULL.
func column[T any](r Rows, column int, as func(T) T) ([]*T, error) {
	all := make([]*T, 0, len(r.Values)/r.Width)
	for i := column; i < len(r.Values); i += r.Width {
		switch v := r.Values[i].(type) {
		case nil:
			all = append(all, nil)
		case T:
			v = as(v)
			all = append(all, &v)
		default:
			return nil, fmt.Errorf("column %d has a %T beside others", column+1, v)
		}
	}
	return all, nil
}
