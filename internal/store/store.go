// Package store keeps everything that outlives the process. It has all SQL except that of the queue (internal/queue).
//
// It promises that related changes are written in one transaction, that secrets are sealed before they reach the
// disk, and that an error of the database is a *resilience.LocalError whose sentence says what to do. The engine is
// SQLite or Postgres, with one writer and several readers. Every query is the same on both.
//
// A Store is safe for concurrent use.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/queue"
)

// Store is an open database.
type Store struct {
	engine
	key   *Key
	opt   atomic.Pointer[Options]
	files fs.FS // the migrations

	version     string // of this program
	checkBeside bool   // see Options

	unchecked bool // the key is not compared with that of the database, which is lost

	writer  *sql.DB // one connection: writes wait for it in Go, in a fair order
	reader  *sql.DB
	jobs    *queue.Queue
	known   spellingCache
	music   musicCache
	ruled   rulingsCache
	words   wordCache
	heard   playsCache
	counted countCache
	latest  latestCache
	// restoredAt is when the database was put back from a copy; zero if it never was.
	restoredAt time.Time
	proven     atomic.Int64 // when Ping wrote last, in milliseconds

	check   *soundness // nil before it has begun
	uncheck func()     // ends it
}

// Options are the settings of a Store. Zero values mean the defaults.
type Options struct {
	Version      string        // of this program; a database names the one that upgraded it. Empty: it names none
	Attempts     int           // how often a new delivery may be attempted; default delivery.Schedule's
	ArchiveEvery time.Duration // how long a month of the archive waits for more listens; default not at all
	// CheckBeside lets Open return before a large database is checked for damage; see Sound.
	CheckBeside bool
	// Elected, for a Postgres database that several servers share, is called when the store has the lock, before it
	// changes anything, and each time a new connection has it again. backend is that connection's process in Postgres.
	// With an error the lock is given back. Without Elected, Open does not wait for another server to stop.
	Elected func(ctx context.Context, backend uint32) error
}

func (o Options) withDefaults() Options {
	if o.Attempts == 0 {
		o.Attempts = delivery.Schedule{}.WithDefaults().Attempts()
	}
	return o
}

// Configure changes the settings, for deliveries from now on.
func (s *Store) Configure(opt Options) {
	opt = opt.withDefaults()
	s.opt.Store(&opt)
}

// Options returns the settings that hold now.
func (s *Store) Options() Options { return *s.opt.Load() }

// readers is the number of connections that read.
const readers = 4

// Open opens a database, creates it if there is none, and brings it up to date (see migrate). Every error is a
// sentence for the person who starts the server. On Postgres, the store locks the database for itself until Close; with
// Options.Elected it waits until no other server has it locked.
func Open(ctx context.Context, at Place, key *Key, opt Options) (*Store, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return openWith(ctx, at, key, opt, files)
}

func openWith(ctx context.Context, at Place, key *Key, opt Options, files fs.FS) (*Store, error) {
	e, err := at.engine()
	if err != nil {
		return nil, err
	}
	s := &Store{engine: e, key: key, files: files, version: opt.Version, checkBeside: opt.CheckBeside}
	s.Configure(opt)
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if s.writer, s.reader, err = s.connect(ctx, locking{alone: true, elected: s.Options().Elected}); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return s.blame(ctx, err)
	}
	if err := s.comeBack(ctx); err != nil {
		return s.blame(ctx, err)
	}
	if err := s.openQueue(ctx); err != nil {
		return s.blame(ctx, err)
	}
	return s.blame(ctx, s.prove(ctx))
}

// OpenBeside opens a database that a server may be using, for work on accounts: the store has no key and no queue.
// It does not change the schema, and refuses a database of another version.
func OpenBeside(ctx context.Context, at Place) (*Store, error) {
	e, err := at.engine()
	if err != nil {
		return nil, err
	}
	look, err := e.look(ctx, quick, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the database %s cannot be opened: %w", e, err)
	case !look.Sound:
		return nil, damaged(e)
	case look.Step != look.Newest:
		return nil, otherVersion(e, look)
	}
	s := &Store{engine: e}
	if s.writer, s.reader, err = e.connect(ctx, locking{}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func otherVersion(e engine, look Look) error {
	if look.Step > look.Newest && look.By != "" {
		return fmt.Errorf("the database %s was written by Reprise %s, which is newer than this program (step %d, this "+
			"one knows %d). Use the program that the server runs", e, look.By, look.Step, look.Newest)
	}
	return fmt.Errorf("the database %s is of another version of Reprise than this program (step %d, this "+
		"one knows %d). Start this version's server once, or use the program that the server runs", e, look.Step,
		look.Newest)
}

func damaged(e engine) error {
	return fmt.Errorf("the database %s is damaged. Put back a copy of it (files beside it that end in .bak are "+
		"copies made before an upgrade), or move it away to start over", e)
}

// keyCheck is the name of the fact that is sealed to check the key, and keyCheckPlace what it is sealed for.
const keyCheck, keyCheckPlace = "key_check", "facts.value.key_check"

// checkKey returns ErrWrongKey if the secrets of the database are sealed with another key, and an *UnfinishedError if
// it is an unfinished copy. It marks a new database with this key.
func (s *Store) checkKey(ctx context.Context) error {
	if s.unchecked {
		return nil
	}
	sealed, err := marks(ctx, s.reader)
	switch {
	case err != nil:
		return nameUnfinished(s.engine, err)
	case sealed == "":
		return local(s.markKey(ctx, s.writer))
	}
	if _, err = s.key.open(sealed, keyCheckPlace); err != nil {
		return ErrWrongKey
	}
	return nil
}

// marks returns the text that checks the key, empty if there is none. The error is an *UnfinishedError if the database
// is a copy that is not complete.
func marks(ctx context.Context, db querier) (sealed string, err error) {
	scan := func(r scanner) (fact [2]string, err error) { return fact, r.Scan(&fact[0], &fact[1]) }
	facts, err := list(ctx, db, scan, "SELECT name, value FROM facts WHERE name IN ($1, $2)", keyCheck, unfinished)
	for _, f := range facts {
		if f[0] == unfinished {
			return "", &UnfinishedError{f[1]}
		}
		sealed = f[1]
	}
	return sealed, err
}

// markKey marks the database with the key, unless it is marked.
func (s *Store) markKey(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}) error {
	_, err := db.ExecContext(ctx, "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
		keyCheck, s.key.seal([]byte("reprise"), keyCheckPlace))
	return err
}

// Close closes the database. It may be called more than once.
func (s *Store) Close() error {
	if s.check != nil {
		s.uncheck()
		<-s.check.done
	}
	var errs []error
	// The writer is closed last because that merges the write-ahead log into the file.
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// provenFor is how long Ping relies on its last write.
const provenFor = 10 * time.Second

// Ping checks that the database can be read, and that it has been written in the last ten seconds, else now.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.reader.PingContext(ctx); err != nil {
		return local(err)
	}
	now := time.Now().UnixMilli()
	if age := now - s.proven.Load(); age >= 0 && age < provenFor.Milliseconds() {
		return nil
	}
	if err := s.prove(ctx); err != nil {
		return err
	}
	s.proven.Store(now)
	return nil
}

// prove writes as much as a page of listens takes, and removes it: a full disk refuses nothing less.
func (s *Store) prove(ctx context.Context) error {
	err := s.exec(ctx, `INSERT INTO facts (name, value) VALUES ('ping', $1)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, strings.Repeat(rand.Text(), 600))
	if err != nil {
		return err
	}
	return s.exec(ctx, "DELETE FROM facts WHERE name = 'ping'")
}

// write runs fn in one transaction.
func (s *Store) write(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return local(err)
	}
	defer tx.Rollback() // does nothing after Commit; its own error would hide the first one
	if err = fn(tx); err == nil {
		err = tx.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // database/sql rolled back because ctx ended
		err = ctx.Err()
	}
	return local(err)
}

// exec runs one statement in a transaction of its own.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.writer.ExecContext(ctx, query, args...)
	return local(err)
}
