package store

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
	"strings"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
)

// postgres is a database of a Postgres server.
type postgres struct{ config *pgx.ConnConfig }

// connectWithin is how long a connection to the server may take.
const connectWithin = 10 * time.Second

func newPostgres(address string) (postgres, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil { // whose text may hold the password
		return postgres{}, errors.New("database_url is no address of a Postgres server, or something behind its ? " +
			"is wrong, such as sslmode or the file of a certificate. It looks like " +
			"postgres://user:password@host:5432/database")
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectWithin
	}
	// A connection whose other end has vanished is noticed within a minute, on either side.
	c.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second,
		Interval: 10 * time.Second, Count: 3}}).DialContext
	// River's times are texts without a zone.
	maps.Copy(c.RuntimeParams, map[string]string{"timezone": "UTC", "application_name": "reprise",
		"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"})
	return postgres{c}, nil
}

func (p postgres) String() string {
	return p.config.Database + " at " + net.JoinHostPort(p.config.Host, strconv.Itoa(int(p.config.Port)))
}

// oneServer takes the lock that a server has on the schema that it keeps everything in, and says whether there is
// none. The number makes it our own.
const oneServer = "SELECT pg_advisory_lock(hashtextextended(current_schema(), 8420)) IS NULL"

func (p postgres) connect(ctx context.Context, alone bool) (writer, reader *sql.DB, err error) {
	writer = p.pool(func(ctx context.Context, c *pgx.Conn) error {
		if !alone {
			return nil
		}
		// The lock belongs to the connection that writes: whoever does not have it cannot write, also after a
		// connection was lost and made anew. The server may take a moment to notice that the one before is gone.
		if _, err := c.Exec(ctx, "SET lock_timeout = '5s'"); err != nil {
			return err
		}
		var nowhere bool
		err := c.QueryRow(ctx, oneServer).Scan(&nowhere)
		if err == nil && nowhere {
			err = &pgconn.PgError{Code: noSchema}
		}
		return err
	})
	writer.SetMaxOpenConns(1)
	reader = p.pool(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SET default_transaction_read_only = on")
		return err
	})
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	return writer, reader, local(writer.PingContext(ctx))
}

// pool makes a pool whose connections are prepared by a function.
func (p postgres) pool(prepare func(context.Context, *pgx.Conn) error) *sql.DB {
	after := func(ctx context.Context, c *pgx.Conn) error {
		if err := prepare(ctx, c); err != nil {
			return errors.Join(err, c.Close(ctx))
		}
		return nil
	}
	return sql.OpenDB(connector{stdlib.GetConnector(*p.config, stdlib.OptionAfterConnect(after))})
}

// connector makes connections that take every text.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return pgConn{made.(*stdlib.Conn)}, nil
}

// pgConn stores texts of upstreams without the characters that Postgres refuses and SQLite keeps: a single one
// would hold up everything behind it.
type pgConn struct{ *stdlib.Conn }

// CheckNamedValue implements driver.NamedValueChecker.
func (c pgConn) CheckNamedValue(v *driver.NamedValue) error {
	if text, ok := v.Value.(string); ok {
		v.Value = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	}
	return c.Conn.CheckNamedValue(v)
}

// exists says whether the tables are there.
func (p postgres) exists(ctx context.Context) (there bool, err error) {
	err = p.ask(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT to_regclass('facts') IS NOT NULL").Scan(&there)
	})
	return there, err
}

// ask runs fn with connections that cannot write and are gone afterwards.
func (p postgres) ask(ctx context.Context, fn func(*sql.DB) error) error {
	writer, reader, err := p.connect(ctx, false)
	if err == nil {
		err = fn(reader)
	}
	return errors.Join(local(err), writer.Close(), reader.Close())
}

// intact has nothing to do: Postgres checks its own pages.
func (p postgres) intact(context.Context, *sql.DB) error { return nil }

func (p postgres) look(ctx context.Context, _ looking, key *Key) (l Look, err error) {
	return l, p.ask(ctx, func(db *sql.DB) error {
		return l.read(ctx, db, "SELECT count(*) FROM (VALUES ('goose_db_version'), ('facts'), ('listens')) t "+
			"(name) WHERE to_regclass(name) IS NOT NULL", key)
	})
}

func (p postgres) dialect() goose.Dialect { return goose.DialectPostgres }

// steps are the migrations with whole numbers as long as SQLite's.
func (p postgres) steps(files fs.FS) (fs.FS, error) {
	names, err := fs.Glob(files, "*.sql")
	all := fstest.MapFS{}
	for _, name := range names {
		b, e := fs.ReadFile(files, name)
		err = errors.Join(err, e)
		all[name] = &fstest.MapFile{Data: bytes.ReplaceAll(b, []byte(" INTEGER "), []byte(" BIGINT "))}
	}
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return all, nil
}

// keep has nothing to do: each step is one transaction, and copies are made by the server's own tools.
func (p postgres) keep(context.Context, *sql.DB, int64) error { return nil }

// driver returns one that polls, as on SQLite: no other process writes.
func (p postgres) driver(writer *sql.DB) riverdriver.Driver[*sql.Tx] {
	return riverdatabasesql.New(writer)
}

// shred has nothing to do: what the server frees is its own to clean.
func (p postgres) shred(context.Context, *sql.DB) error { return nil }
