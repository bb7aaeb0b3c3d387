package db

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"strconv"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"reprise/internal/leases"
	"reprise/internal/resilience"
	"reprise/internal/store/rows"
	"reprise/internal/store/traffic"
	"reprise/internal/tables"
)

// postgres is a database of a Postgres server.
type postgres struct {
	config  *pgx.ConnConfig
	traffic *traffic.Traffic
}

// connectWithin is how long a connection to the server may take.
const connectWithin = 10 * time.Second

func newPostgres(address string) (postgres, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil { // its text may hold the password
		return postgres{}, errors.New("database_url is no address of a Postgres server, or something behind its ? " +
			"is wrong, such as sslmode or the file of a certificate. It looks like " +
			"postgres://user:password@host:5432/database")
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectWithin
	}
	// Both sides notice a dead connection within a minute.
	c.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second,
		Interval: 10 * time.Second, Count: 3}}).DialContext
	// River stores times as text without a zone. Every query has an index, which SQLite always uses. Postgres would
	// plan a prepared query while its tables are empty, and go on reading them from end to end when they are large.
	// Without such scans its estimates of cost are too high to decide by them what to compile.
	maps.Copy(c.RuntimeParams, map[string]string{"timezone": "UTC", "application_name": "reprise",
		"enable_seqscan": "off", "jit": "off",
		"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"})
	return postgres{c, &traffic.Traffic{}}, nil
}

func (p postgres) counts() *traffic.Traffic { return p.traffic }

func (p postgres) String() string {
	return p.config.Database + " at " + net.JoinHostPort(p.config.Host, strconv.Itoa(int(p.config.Port)))
}

// The locks of a schema. The numbers are arbitrary ones that keep them apart from those of other programs.
const (
	// serveAlone keeps every other server out, and serveTogether those that would be alone. They belong to the
	// connection that writes. They return true if there is no schema.
	serveAlone    = "SELECT pg_advisory_lock(hashtextextended(current_schema(), 8420)) IS NULL"
	serveTogether = "SELECT pg_advisory_lock_shared(hashtextextended(current_schema(), 8420)) IS NULL"
	// beginWriting begins a transaction that writes. It waits for those of other processes: one of them runs at a
	// time, as if there were one connection.
	beginWriting = "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 8422))"
	// beginWritingFor is the same for what belongs to one person, whose number is to be filled in: others write at once
	// what belongs to them. What waits for its person keeps nobody else waiting.
	beginWritingFor = "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/%d', 8423)); " +
		"SELECT pg_advisory_xact_lock_shared(hashtextextended(current_schema(), 8422))"
)

// shared returns the database at a place if several servers can share it.
func shared(at Place) (postgres, error) {
	if at.URL == "" {
		return postgres{}, errors.New("several servers can only share a Postgres database. Set database_url")
	}
	return newPostgres(at.URL)
}

// OpenAlone opens connections to a Postgres database, apart from those of an open DB: it takes no lock and changes
// nothing. The error is [ErrWrongKey] if the key is not that of the database.
func OpenAlone(ctx context.Context, at Place, key *Key) (*sql.DB, error) {
	p, err := shared(at)
	if err != nil {
		return nil, err
	}
	own := p.pool(false, func(context.Context, *pgx.Conn) error { return nil })
	own.SetMaxOpenConns(2) // a lease that is waited for holds up no confirmation
	there, err := p.exists(ctx)
	if err == nil && there {
		var fits bool
		if fits, err = opens(ctx, own, key); err == nil && !fits {
			err = ErrWrongKey
		}
	}
	if err != nil {
		return nil, errors.Join(Explain(err), own.Close())
	}
	return own, nil
}

// Connect opens a connection of pgx to a Postgres database, on which to wait for notifications. The caller closes it.
func Connect(ctx context.Context, at Place) (*pgx.Conn, error) {
	p, err := shared(at)
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, p.config)
}

func (p postgres) connect(ctx context.Context, how locking) (writer, reader *sql.DB, err error) {
	writer = p.pool(true, func(ctx context.Context, c *pgx.Conn) error {
		return errors.Join(serve(ctx, c, how), under(ctx, c, how.lease))
	})
	writer.SetMaxOpenConns(1)
	reader = p.pool(false, func(ctx context.Context, c *pgx.Conn) error {
		if err := under(ctx, c, how.lease); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "SET default_transaction_read_only = on")
		return err
	})
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	return writer, reader, Explain(writer.PingContext(ctx))
}

// waitingLimits bounds how long a server waits for others. One that is stopped in a transaction keeps them from writing
// for five seconds.
const waitingLimits = "SET lock_timeout = '15s'; SET idle_in_transaction_session_timeout = '5s'"

// serve takes the lock of a server on a connection that writes.
func serve(ctx context.Context, c *pgx.Conn, how locking) error {
	take := serveAlone
	switch {
	case how.shared:
		take = serveTogether
	case !how.alone:
		return nil
	}
	// Postgres may need a moment to notice that the previous connection is gone.
	if _, err := c.Exec(ctx, "SET lock_timeout = '5s'"); err != nil {
		return err
	}
	var nowhere bool
	err := c.QueryRow(ctx, take).Scan(&nowhere)
	if err == nil && nowhere {
		err = &pgconn.PgError{Code: noSchema}
	}
	if err == nil && how.shared {
		_, err = c.Exec(ctx, waitingLimits)
	}
	return err
}

// LeaderName is an expression for how the connections of the server are called that leads under the lease $1.
const LeaderName = "'reprise, lease ' || $1::bigint || ' of ' || left(md5(current_schema()), 16)"

// under names a connection after the lease of its server, and returns an error if the lease has ended. It waits for a
// server that is taking over: that one ends the connections of the lease before, and no new ones can be made.
func under(ctx context.Context, c *pgx.Conn, lease int64) error {
	if lease == 0 {
		return nil
	}
	if _, err := c.Exec(ctx, "SELECT set_config('application_name', "+LeaderName+", false)", lease); err != nil {
		return err
	}
	var now int64
	err := c.QueryRow(ctx, "SELECT lease FROM leader FOR SHARE").Scan(&now)
	if err == nil && now != lease {
		// What repeats a statement until it succeeds, as River does, ends with a canceled one.
		err = &resilience.LocalError{Problem: LeaseEnded,
			Err: fmt.Errorf("lease %d has followed %d: %w", now, lease, context.Canceled)}
	}
	return err
}

// pool returns a pool that calls prepare on each new connection.
func (p postgres) pool(writes bool, prepare func(context.Context, *pgx.Conn) error) *sql.DB {
	after := func(ctx context.Context, c *pgx.Conn) error {
		err := direct(ctx, c)
		if err == nil {
			err = prepare(ctx, c)
		}
		if err != nil {
			return errors.Join(err, c.Close(ctx))
		}
		return nil
	}
	made := connector{stdlib.GetConnector(*p.config, stdlib.OptionAfterConnect(after)), writes}
	return sql.OpenDB(traffic.Connector{Connector: made, Traffic: p.traffic})
}

// direct returns an error if a pooler is between: the process that answers is not the one that was announced. A pooler
// lends its connections, and the lock of a server, which belongs to one, would be lent to others.
func direct(ctx context.Context, c *pgx.Conn) error {
	var pid uint32
	err := c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	if err == nil && pid != c.PgConn().PID() {
		err = &resilience.LocalError{Problem: Pooled, Err: errors.New("a connection pooler is between")}
	}
	return err
}

// connector returns connections that accept every text, and whose transactions take turns if they write; see pgConn.
type connector struct {
	driver.Connector
	writes bool
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return pgConn{made.(*stdlib.Conn), c.writes}, nil
}

// pgConn removes from texts the characters that Postgres refuses and SQLite accepts. One such character in an
// upstream's answer would otherwise block everything after it.
type pgConn struct {
	*stdlib.Conn
	writes bool
}

// BeginTx implements driver.ConnBeginTx.
func (c pgConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if !c.writes || opts.ReadOnly {
		return c.Conn.BeginTx(ctx, opts)
	}
	conn := c.Postgres()
	if conn.IsClosed() {
		return nil, driver.ErrBadConn
	}
	begin := beginWriting
	if p := personalOf(ctx); p != nil {
		begin = fmt.Sprintf(beginWritingFor, p.person)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		if !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' { // it has begun, and waited in vain
			_, _ = conn.Exec(context.WithoutCancel(ctx), "ROLLBACK") // the first error is returned
		}
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == noLock {
			err = &resilience.LocalError{Problem: busy, Err: err}
		}
		return nil, err
	}
	if l, ok := leases.Of(ctx); ok {
		if err := underLease(ctx, tx, l); err != nil {
			return nil, errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		}
	}
	return pgTx{ctx, tx}, nil
}

// underLease returns an error if the lease of an app has ended. Until the transaction ends, no other server gets it.
func underLease(ctx context.Context, tx pgx.Tx, l leases.Lease) error {
	var holds int
	err := tx.QueryRow(ctx, "SELECT 1 FROM leases WHERE app = $1 AND lease = $2 FOR KEY SHARE", l.App, l.Number).
		Scan(&holds)
	if errors.Is(err, pgx.ErrNoRows) {
		return &leases.Elsewhere{App: l.App}
	}
	return err
}

// pgTx is a transaction of pgx as database/sql takes it.
type pgTx struct {
	ctx context.Context
	tx  pgx.Tx
}

// Commit implements driver.Tx.
func (t pgTx) Commit() error { return t.tx.Commit(t.ctx) }

// Rollback implements driver.Tx.
func (t pgTx) Rollback() error { return t.tx.Rollback(t.ctx) }

// Postgres returns the connection as tables.Postgres needs it.
func (c pgConn) Postgres() *pgx.Conn { return c.Conn.Conn() }

// CheckNamedValue implements driver.NamedValueChecker.
func (c pgConn) CheckNamedValue(v *driver.NamedValue) error {
	switch value := v.Value.(type) {
	case string:
		v.Value = tables.Clean(value)
	case rows.Rows:
		return rows.Convert(v)
	}
	return c.Conn.CheckNamedValue(v)
}

// ExecContext implements driver.ExecerContext.
func (c pgConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, args, err := rows.ForPostgres(query, args)
	if err != nil {
		return nil, err
	}
	return c.Conn.ExecContext(ctx, query, args)
}

// exists reports whether the tables are there.
func (p postgres) exists(ctx context.Context) (there bool, err error) {
	err = p.ask(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT to_regclass('facts') IS NOT NULL").Scan(&there)
	})
	return there, err
}

// ask calls fn with a read-only pool, which it closes afterwards.
func (p postgres) ask(ctx context.Context, fn func(*sql.DB) error) error {
	writer, reader, err := p.connect(ctx, locking{})
	if err == nil {
		err = fn(reader)
	}
	return errors.Join(Explain(err), writer.Close(), reader.Close())
}

// Intact does nothing: Postgres checks its own pages.
func (p postgres) Intact(context.Context, *sql.DB) error { return nil }

func (p postgres) look(ctx context.Context, _ looking, key *Key) (l Look, err error) {
	return l, p.ask(ctx, func(db *sql.DB) error {
		return l.read(ctx, db, "SELECT count(*) FROM (VALUES ('schema_version'), ('facts'), ('listens')) t "+
			"(name) WHERE to_regclass(name) IS NOT NULL", key)
	})
}

func (p postgres) dialect() goose.Dialect { return goose.DialectPostgres }

// steps returns the migrations with integers of 64 bits, as SQLite has them, and without what only SQLite knows.
func (p postgres) steps(files fs.FS) (fs.FS, error) {
	names, err := fs.Glob(files, "*.sql")
	all := fstest.MapFS{}
	for _, name := range names {
		b, e := fs.ReadFile(files, name)
		err = errors.Join(err, e)
		b = bytes.ReplaceAll(b, []byte(" INTEGER "), []byte(" BIGINT "))
		b = bytes.ReplaceAll(b, []byte(" BLOB"), []byte(" BYTEA"))
		b = bytes.ReplaceAll(b, []byte(") WITHOUT ROWID;"), []byte(");"))
		all[name] = &fstest.MapFile{Data: fullText.ReplaceAll(b, []byte(textTable))}
	}
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return all, nil
}

func (p postgres) has(ctx context.Context, db *sql.DB, table string) (there bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", table).Scan(&there)
	return there, err
}

// keep does nothing: each step is one transaction, and backups are made with Postgres' own tools.
func (p postgres) keep(context.Context, *sql.DB, int64) error { return nil }

// serial returns false: other processes may write.
func (p postgres) serial() bool { return false }

// Driver returns a driver that polls, as on SQLite: one server works the jobs.
func (p postgres) Driver(writer *sql.DB) riverdriver.Driver[*sql.Tx] {
	return riverdatabasesql.New(writer)
}

// Rows returns what reads and writes rows of any table.
func (p postgres) Rows() tables.Dialect { return tables.Postgres }

// Shred does nothing: Postgres cleans what it frees.
func (p postgres) Shred(context.Context, *sql.DB) error { return nil }
