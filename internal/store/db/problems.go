package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Explain turns a database error into a *resilience.LocalError that says what to do. It returns sql.ErrNoRows and the
// error of a canceled context as they are.
func Explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return err
	}
	problem := words.New("trouble.database.any")
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		problem = sqliteProblem(e.Code()&0xff, problem)
	} else if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.Message, unsupported) {
		problem = Pooled
	} else if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		problem = PostgresProblem(e.Code, problem)
	} else if unreachable(err) {
		problem = NoServer
	} else if !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &resilience.LocalError{Problem: problem, Err: err}
}

// sqliteProblem returns the sentence for a result code of SQLite, or other.
func sqliteProblem(code int, other words.Text) words.Text {
	switch code {
	case sqlite3.SQLITE_FULL:
		return words.New("trouble.database.full")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return words.New("trouble.database.write")
	case sqlite3.SQLITE_IOERR:
		return words.New("trouble.database.disk")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return words.New("trouble.database.damaged")
	case sqlite3.SQLITE_BUSY:
		return InUse
	}
	return other
}

const noSchema, noLock = "3F000", "55P03"

// unsupported begins the message of poolers that refuse a setting of the connection, as PgBouncer words it.
const unsupported = "unsupported startup parameter"

var (
	NoServer = words.New("trouble.postgres.unreachable")
	Pooled   = words.New("trouble.postgres.pooler")
	InUse    = words.New("trouble.database.in_use")
	busy     = words.New("trouble.postgres.busy")
	// LeaseEnded is the problem of a server that no longer leads.
	LeaseEnded = words.New("trouble.postgres.lease")
)

// PostgresProblem returns the sentence for an error code of Postgres (appendix A of its manual), or other.
func PostgresProblem(code string, other words.Text) words.Text {
	switch {
	case code == "53100":
		return words.New("trouble.postgres.full")
	case code == noLock:
		return InUse
	case code == "53300":
		return words.New("trouble.postgres.connections")
	case code == "25006", code == "42501":
		return words.New("trouble.postgres.write")
	case code == "3D000", code == noSchema:
		return words.New("trouble.postgres.missing")
	case code == "42704", code == "08P01":
		return words.New("trouble.postgres.setting")
	case strings.HasPrefix(code, "28"):
		return words.New("trouble.postgres.sign_in")
	case code == "XX001", code == "XX002":
		return words.New("trouble.database.damaged")
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"):
		return words.New("trouble.postgres.restarting")
	}
	return other
}

// unreachable reports whether a database call failed because it did not reach the server.
func unreachable(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok && !errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, net.ErrClosed)
}

func isCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	for _, c := range codes {
		if e.Code()&0xff == c { // the low byte of an extended code is the plain one
			return true
		}
	}
	return false
}
