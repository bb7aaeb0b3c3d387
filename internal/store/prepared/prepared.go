// Package prepared opens SQLite with connections that keep their statements prepared.
package prepared

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strconv"
	"strings"

	"modernc.org/sqlite"

	"reprise/internal/store/rows"
	"reprise/internal/store/traffic"
)

// Open returns a pool of connections that keep their statements prepared, because preparing a statement takes
// longer than running most of them: without, BenchmarkDeliver/100 sends little more than half as much in a second.
func Open(dsn string, t *traffic.Traffic) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(traffic.Connector{Connector: preparing{c}, Traffic: t}), nil
}

// preparing is a driver.Connector whose connections keep prepared statements.
type preparing struct{ driver.Connector }

// Connect implements driver.Connector.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &preparedConn{sqliteConn: c.(sqliteConn), idle: map[string]sqliteStmt{}}, nil
}

// sqliteConn is what database/sql needs of a connection, and the driver's connections implement.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// keptStatements is the most prepared statements that a connection keeps. The store has fewer, except for those with a
// varying number of values.
const keptStatements = 128

// preparedConn is a connection that prepares a statement once. database/sql calls it from one goroutine at a time.
type preparedConn struct {
	sqliteConn
	idle map[string]sqliteStmt // by their text, without those in use, so that none runs twice at once
}

func (c *preparedConn) take(ctx context.Context, query string) (sqliteStmt, error) {
	if s := c.idle[query]; s != nil {
		delete(c.idle, query)
		return s, nil
	}
	s, err := c.PrepareContext(ctx, unnumbered(query))
	if err != nil {
		return nil, err
	}
	return s.(sqliteStmt), nil
}

// unnumbered returns a query with ? in place of $1, $2 and so on, if they come in this order, each once; else the query
// as it is. SQLite keeps numbered parameters as names, in a list that it goes through for each of them: of 500 values
// that takes longer than looking them up.
func unnumbered(query string) string {
	b := make([]byte, 0, len(query))
	for i, n := 0, 0; i < len(query); i++ {
		c := query[i]
		b = append(b, c)
		switch c {
		case '\'', '"':
			end := strings.IndexByte(query[i+1:], c)
			if end < 0 {
				return query
			}
			b = append(b, query[i+1:i+2+end]...)
			i += 1 + end
		case '$':
			n++
			number := strconv.Itoa(n)
			if !strings.HasPrefix(query[i+1:], number) {
				return query
			}
			i += len(number)
			if i+1 < len(query) && query[i+1] >= '0' && query[i+1] <= '9' {
				return query
			}
			b[len(b)-1] = '?'
		case '?', '@', ':', '-', '/', '`', '[': // other parameters, or what may be a comment or a quotation
			return query
		}
	}
	return string(b)
}

func (c *preparedConn) put(query string, s sqliteStmt) error {
	if c.idle[query] != nil {
		return s.Close()
	}
	if len(c.idle) >= keptStatements {
		for query, s := range c.idle { // any of them
			delete(c.idle, query)
			if err := s.Close(); err != nil {
				return err
			}
			break
		}
	}
	c.idle[query] = s
	return nil
}

// ExecContext implements driver.ExecerContext.
func (c *preparedConn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	if all, ok := rows.Of(args); ok {
		return c.insert(ctx, query, all)
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	if err != nil {
		_ = s.Close() // the first error is returned
		return nil, err
	}
	return result, c.put(query, s)
}

// QueryContext implements driver.QueryerContext.
func (c *preparedConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = s.Close() // the first error is returned
		return nil, err
	}
	return &preparedRows{Rows: rows, conn: c, query: query, stmt: s}, nil
}

// Close implements driver.Conn.
func (c *preparedConn) Close() error {
	for _, s := range c.idle {
		_ = s.Close() // closing the connection reports the same problem
	}
	clear(c.idle)
	return c.sqliteConn.Close()
}

// preparedRows returns its statement to the connection when it is closed.
type preparedRows struct {
	driver.Rows
	conn  *preparedConn
	query string
	stmt  sqliteStmt
}

// Close implements driver.Rows.
func (r *preparedRows) Close() error {
	if err := r.Rows.Close(); err != nil {
		_ = r.stmt.Close() // the first error is returned
		return err
	}
	return r.conn.put(r.query, r.stmt)
}
