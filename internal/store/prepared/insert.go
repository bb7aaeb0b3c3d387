package prepared

import (
	"context"
	"database/sql/driver"
	"math/bits"
	"strings"

	"reprise/internal/store/rows"
)

// rowsAtOnce is the most rows that one statement inserts.
const rowsAtOnce = 64

// fewRows is the largest number of rows that go into one statement as they are. Larger numbers are split into powers of
// two: a connection keeps every statement prepared, so there should be few of them.
const fewRows = 8

// CheckNamedValue implements driver.NamedValueChecker.
func (c *preparedConn) CheckNamedValue(v *driver.NamedValue) error { return rows.Convert(v) }

// insert inserts rows with statements that name each value.
func (c *preparedConn) insert(ctx context.Context, head string, all rows.Rows) (driver.Result, error) {
	group := "(?" + strings.Repeat(",?", all.Width-1) + ")"
	var total driver.RowsAffected
	for values := all.Values; len(values) > 0; {
		n := min(len(values)/all.Width, rowsAtOnce)
		if n > fewRows {
			n = 1 << (bits.Len(uint(n)) - 1)
		}
		args := make([]driver.NamedValue, n*all.Width)
		for i := range args {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: values[i]}
		}
		values = values[len(args):]
		result, err := c.ExecContext(ctx, head+" VALUES "+group+strings.Repeat(","+group, n-1)+" "+all.Tail, args)
		if err != nil {
			return nil, err
		}
		changed, _ := result.RowsAffected() // SQLite always knows
		total += driver.RowsAffected(changed)
	}
	return total, nil
}
