// Package store holds everything that outlives the process, and is the only place with SQL.
//
// It promises that what belongs together is written in one transaction, that secrets are sealed before they reach the
// disk, and that an error of the database is a *resilience.LocalError whose sentence says what to do. SQLite is the
// engine: one writer, several readers, write-ahead log. Every query is one that Postgres also runs.
//
// A Store is safe for concurrent use.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/riverqueue/river"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"reprise/internal/resilience"
)

// Store is an open database.
type Store struct {
	path   string
	key    *Key
	steps  fs.FS   // the migrations
	writer *sql.DB // one connection: SQLite has one writer, and waiting in Go is fair
	reader *sql.DB
	orders *river.Client[*sql.Tx] // writes deliveries down

	attempts     atomic.Int64 // see SetAttempts
	archiveEvery atomic.Int64 // see SetArchiveEvery
}

// FileName is the database's name in the data directory.
const FileName = "reprise.db"

const readers = 4

// Open opens the database in dir, makes it where there is none, and brings it up to date (after a copy of it, see
// migrate). Every error is a sentence for the person who starts the server.
func Open(ctx context.Context, dir string, key *Key) (*Store, error) {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return openWith(ctx, dir, key, steps)
}

func openWith(ctx context.Context, dir string, key *Key, steps fs.FS) (*Store, error) {
	s := &Store{path: filepath.Join(dir, FileName), key: key, steps: steps}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	// SQLite gives what it makes beside the file the same permissions. Where there is a file that may not be written,
	// or none can be made, SQLite says so below.
	_ = private(s.path)
	if err := s.connect(); err != nil {
		return err
	}
	if err := s.intact(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if err := s.openQueue(ctx); err != nil {
		return err
	}
	return s.Ping(ctx)
}

// OpenBeside opens the database in dir beside a server that may be using it, for accounts only: it has no key and no
// queue. It is taken as it is, and one that this program would first have to bring up to date is refused.
func OpenBeside(ctx context.Context, dir string) (*Store, error) {
	s := &Store{path: filepath.Join(dir, FileName)}
	look, err := lookAt(ctx, address(s.path)+"?mode=rw&_pragma=busy_timeout(5000)", "SELECT 'ok'", nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the database %s cannot be opened: %w", s.path, err)
	case !look.Sound:
		return nil, s.damaged()
	case look.Step != look.Newest:
		return nil, fmt.Errorf("the database %s is of another version of Reprise than this program (step %d, this one knows %d). Start this version's server once, or use the program that the server runs", s.path, look.Step, look.Newest)
	}
	if err := s.connect(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect makes the pools of connections; nothing is opened yet.
func (s *Store) connect() (err error) {
	if s.writer, err = sql.Open("sqlite", dsn(s.path, "_txlock=immediate")); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = sql.Open("sqlite", dsn(s.path, "_pragma=query_only(1)")); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	s.reader.SetMaxOpenConns(readers)
	s.reader.SetMaxIdleConns(readers)
	return nil
}

func dsn(path, more string) string {
	return address(path) + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&" + more
}

// intact reads the whole file once, so that damage is found at start and not in the middle of somebody's history.
func (s *Store) intact(ctx context.Context) error {
	var answer string
	err := s.writer.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer)
	if err == nil && answer == "ok" {
		return nil
	}
	if err != nil && !isCode(err, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) {
		return fmt.Errorf("the database %s cannot be opened: %w", s.path, local(err))
	}
	return s.damaged()
}

func (s *Store) damaged() error {
	return fmt.Errorf("the database %s is damaged. Put back a copy of it (files beside it that end in .bak are copies made before an upgrade), or move it away to start anew", s.path)
}

// The fact that tells whether a key is the right one.
const keyCheck, keyCheckPlace = "key_check", "facts.value.key_check"

// checkKey makes sure that the key opens what is sealed here, before anything is sealed with another one.
func (s *Store) checkKey(ctx context.Context) error {
	var sealed string
	err := s.reader.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = $1", keyCheck).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = s.writer.ExecContext(ctx, "INSERT INTO facts (name, value) VALUES ($1, $2)", keyCheck, s.key.seal([]byte("reprise"), keyCheckPlace))
		return local(err)
	}
	if err != nil {
		return local(err)
	}
	if _, err = s.key.open(sealed, keyCheckPlace); err != nil {
		return ErrWrongKey
	}
	return nil
}

// Exists says whether there is a database in dir.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, FileName))
	return err == nil
}

// Close closes the database. It may be called more than once.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} { // the writer last: it folds the write-ahead log into the file
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Ping says whether the database can be read and written.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.reader.PingContext(ctx); err != nil {
		return local(err)
	}
	return s.exec(ctx, "DELETE FROM facts WHERE name = ''") // there is none: it asks for the right to write, no more
}

// write runs fn in one transaction: all of it is stored, or nothing.
func (s *Store) write(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return local(err)
	}
	defer tx.Rollback() // after Commit it does nothing; before, the error that led here counts
	if err = fn(tx); err == nil {
		err = tx.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // the end of ctx was faster in rolling back
		err = ctx.Err()
	}
	return local(err)
}

// exec runs one statement that stands for itself.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.writer.ExecContext(ctx, query, args...)
	return local(err)
}

// local says of a database error what a person can do about it. A canceled context stays what it is.
func local(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*sqlite.Error](err); !ok && !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	problem := "The database cannot be used right now."
	switch {
	case isCode(err, sqlite3.SQLITE_FULL):
		problem = "The disk is full. Make room on it; nothing that was stored is lost."
	case isCode(err, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
		problem = "The database cannot be written. Check the permissions of the data directory and its files."
	case isCode(err, sqlite3.SQLITE_IOERR):
		problem = "The disk reports an error, or is full. Look at it before anything else."
	case isCode(err, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
		problem = "The database is damaged. Stop the server and put back a copy."
	case isCode(err, sqlite3.SQLITE_BUSY):
		problem = "Another program is using the database. Make sure that only one server runs on it."
	}
	return &resilience.LocalError{Problem: problem, Err: err}
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
