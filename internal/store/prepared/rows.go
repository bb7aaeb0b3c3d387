package prepared

import (
	"context"
	"database/sql/driver"
	"math/bits"
	"strings"
)

// Rows are rows to insert, as the only argument of a statement that ends before VALUES. Each engine takes many of them
// its own way.
type Rows struct {
	Width  int    // how many values a row has
	Values []any  // of all rows; in a column all are of one type, or nil
	Tail   string // what follows in the statement
}

// RowsOf returns the rows that are the arguments of a statement, if they are.
func RowsOf(args []driver.NamedValue) (rows Rows, ok bool) {
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

// rowsAtOnce is the most rows that one statement inserts.
const rowsAtOnce = 64

// fewRows is the largest number of rows that go into one statement as they are. Larger numbers are split into powers of
// two: a connection keeps every statement prepared, so there should be few of them.
const fewRows = 8

// CheckNamedValue implements driver.NamedValueChecker.
func (c *preparedConn) CheckNamedValue(v *driver.NamedValue) error { return Convert(v) }

// insert inserts rows with statements that name each value.
func (c *preparedConn) insert(ctx context.Context, head string, rows Rows) (driver.Result, error) {
	group := "(?" + strings.Repeat(",?", rows.Width-1) + ")"
	var all driver.RowsAffected
	for values := rows.Values; len(values) > 0; {
		n := min(len(values)/rows.Width, rowsAtOnce)
		if n > fewRows {
			n = 1 << (bits.Len(uint(n)) - 1)
		}
		args := make([]driver.NamedValue, n*rows.Width)
		for i := range args {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: values[i]}
		}
		values = values[len(args):]
		result, err := c.ExecContext(ctx, head+" VALUES "+group+strings.Repeat(","+group, n-1)+" "+rows.Tail, args)
		if err != nil {
			return nil, err
		}
		changed, _ := result.RowsAffected() // SQLite always knows
		all += driver.RowsAffected(changed)
	}
	return all, nil
}
