// Package traffic counts what is asked of a database.
package traffic

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Traffic counts what a store asks of its database, from its opening on. It is safe for concurrent use.
type Traffic struct{ statements, transactions, changes atomic.Uint64 }

// Statements returns the number of statements, the queue's included, without those that begin and end transactions.
func (t *Traffic) Statements() uint64 { return t.statements.Load() }

// Transactions returns the number of transactions that were begun, the queue's included. A single statement needs none.
func (t *Traffic) Transactions() uint64 { return t.transactions.Load() }

// Changes returns the number of statements that changed a row. What only has to be done after a change of the database
// compares it with the number at its last look, and so asks the database nothing while nothing happens.
func (t *Traffic) Changes() uint64 { return t.changes.Load() }

// ChangedRemotely notes that another process has changed rows.
func (t *Traffic) ChangedRemotely() { t.changes.Add(1) }

// Connector is a driver.Connector whose connections count what they are asked.
type Connector struct {
	driver.Connector
	Traffic *Traffic
}

// Connect implements driver.Connector.
func (d Connector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countedConn{c.(fullConn), d.Traffic}, nil
}

// fullConn is what the connections of both engines implement.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
}

type countedConn struct {
	fullConn
	traffic *Traffic
}

// Postgres returns the connection to a Postgres database, as tables.Postgres needs it. What it does is not counted.
func (c *countedConn) Postgres() *pgx.Conn {
	return c.fullConn.(interface{ Postgres() *pgx.Conn }).Postgres()
}

// BeginTx implements driver.ConnBeginTx.
func (c *countedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.traffic.transactions.Add(1)
	return c.fullConn.BeginTx(ctx, opts)
}

// ExecContext implements driver.ExecerContext.
func (c *countedConn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	c.traffic.statements.Add(1)
	result, err := c.fullConn.ExecContext(ctx, query, args)
	if err == nil && result != nil { // an empty statement has none
		if n, _ := result.RowsAffected(); n > 0 {
			c.traffic.changes.Add(1)
		}
	}
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c *countedConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	c.traffic.statements.Add(1)
	rows, err := c.fullConn.QueryContext(ctx, query, args)
	if err == nil && strings.Contains(query, "RETURNING") {
		return &changedRows{Rows: rows, traffic: c.traffic}, nil
	}
	return rows, err
}

// PrepareContext implements driver.ConnPrepareContext. A statement that is prepared to be run several times, which only
// those that insert are, counts once.
func (c *countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.traffic.statements.Add(1)
	c.traffic.changes.Add(1)
	return c.fullConn.PrepareContext(ctx, query)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *countedConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.fullConn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// IsValid implements driver.Validator.
func (c *countedConn) IsValid() bool {
	v, ok := c.fullConn.(driver.Validator)
	return !ok || v.IsValid()
}

// changedRows are the rows that a statement has changed.
type changedRows struct {
	driver.Rows
	traffic *Traffic
	noted   bool
}

// Next implements driver.Rows.
func (r *changedRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == nil && !r.noted {
		r.noted = true
		r.traffic.changes.Add(1)
	}
	return err
}
