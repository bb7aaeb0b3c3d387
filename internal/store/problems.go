package store

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
)

// local turns a database error into a *resilience.LocalError that says what to do. It returns sql.ErrNoRows and the
// error of a canceled context as they are.
func local(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return err
	}
	problem := "The database cannot be used right now."
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		problem = sqliteProblem(e.Code()&0xff, problem)
	} else if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		problem = postgresProblem(e.Code, problem)
	} else if unreachable(err) {
		problem = noServer
	} else if !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &resilience.LocalError{Problem: problem, Err: err}
}

// sqliteProblem returns the sentence for a result code of SQLite, or other.
func sqliteProblem(code int, other string) string {
	switch code {
	case sqlite3.SQLITE_FULL:
		return "The disk is full. Make room on it; nothing that was stored is lost."
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "The database cannot be written. Check the permissions of the data directory and its files."
	case sqlite3.SQLITE_IOERR:
		return "The disk reports an error, or is full. Look at it before anything else."
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return "The database is damaged. Stop the server and put back a copy."
	case sqlite3.SQLITE_BUSY:
		return inUse
	}
	return other
}

const noSchema = "3F000"

const noServer = "The database server cannot be reached. Look whether it runs, and whether the address in " +
	"database_url is right, and its sslmode; nothing that was stored is lost."

const inUse = "Another program is using the database. Make sure that only one server runs on it."

// postgresProblem returns the sentence for an error code of Postgres (appendix A of its manual), or other.
func postgresProblem(code, other string) string {
	switch {
	case code == "53100":
		return "The disk of the database server is full. Make room on it; nothing that was stored is lost."
	case code == "55P03":
		return inUse
	case code == "53300":
		return "The database server has no connection left for Reprise, which needs five. Let it have more " +
			"(max_connections)."
	case code == "25006", code == "42501":
		return "The database cannot be written. Make the user in database_url the owner of the database, and use " +
			"a server that is no copy of another."
	case code == "3D000", code == noSchema:
		return "There is no such database on that server. Make it (createdb -O USER NAME), or correct the name in " +
			"database_url."
	case code == "42704", code == "08P01":
		return "The database server does not know a setting of the connection. Look at what is behind the ? in " +
			"database_url, and name the server itself, not a program that shares connections, such as PgBouncer."
	case strings.HasPrefix(code, "28"):
		return "The database server refuses the user or the password in database_url. Correct them."
	case code == "XX001", code == "XX002":
		return "The database is damaged. Stop the server and put back a copy."
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"):
		return "The database server is stopping or starting. Reprise goes on when it is there."
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
