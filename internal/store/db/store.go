package db

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"reprise/internal/store/traffic"
)

// readers is the number of connections that read.
const readers = 4

// OtherVersion returns the error for a database that another version has written, with what to do.
func OtherVersion(e engine, look Look) error {
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

// KeyCheck is the name of the fact that is sealed to check the key, and keyCheckPlace what it is sealed for.
const KeyCheck, keyCheckPlace = "key_check", "facts.value.key_check"

// CheckKey returns ErrWrongKey if the secrets of the database are sealed with another key, and an *UnfinishedError if
// it is an unfinished copy. It marks a new database with this key.
func (s *DB) CheckKey(ctx context.Context) error {
	if s.unchecked {
		return nil
	}
	sealed, err := marks(ctx, s.Reader)
	switch {
	case err != nil:
		return NameUnfinished(s.engine, err)
	case sealed == "":
		return Explain(s.MarkKey(ctx, s.Writer))
	}
	if _, err = s.Key.Open(sealed, keyCheckPlace); err != nil {
		return ErrWrongKey
	}
	return nil
}

// marks returns the text that checks the key, empty if there is none. The error is an *UnfinishedError if the database
// is a copy that is not complete.
func marks(ctx context.Context, db Querier) (sealed string, err error) {
	scan := func(r Scanner) (fact [2]string, err error) { return fact, r.Scan(&fact[0], &fact[1]) }
	facts, err := List(ctx, db, scan, "SELECT name, value FROM facts WHERE name IN ($1, $2)", KeyCheck, Unfinished)
	for _, f := range facts {
		if f[0] == Unfinished {
			return "", &UnfinishedError{f[1]}
		}
		sealed = f[1]
	}
	return sealed, err
}

// MarkKey marks the database with the key, unless it is marked.
func (s *DB) MarkKey(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}) error {
	_, err := db.ExecContext(ctx, "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
		KeyCheck, s.Key.Seal([]byte("reprise"), keyCheckPlace))
	return err
}

// Close closes the database. It may be called more than once.
func (s *DB) Close() error {
	if s.check != nil {
		s.uncheck()
		<-s.check.done
	}
	var errs []error
	// The writer is closed last because that merges the write-ahead log into the file.
	for _, db := range []*sql.DB{s.Reader, s.people, s.ids, s.Writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// provenFor is how long Ping relies on its last write.
const provenFor = 10 * time.Second

// Ping checks that the database can be read, and that it has been written in the last ten seconds, else now.
func (s *DB) Ping(ctx context.Context) error {
	if err := s.Reader.PingContext(ctx); err != nil {
		return Explain(err)
	}
	now := time.Now().UnixMilli()
	if age := now - s.proven.Load(); age >= 0 && age < provenFor.Milliseconds() {
		return nil
	}
	if err := s.Prove(ctx); err != nil {
		return err
	}
	s.proven.Store(now)
	return nil
}

// Prove writes as much as a page of listens takes, and removes it: a full disk refuses nothing less.
func (s *DB) Prove(ctx context.Context) error {
	err := s.Exec(ctx, `INSERT INTO facts (name, value) VALUES ('ping', $1)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, strings.Repeat(rand.Text(), 600))
	if err != nil {
		return err
	}
	return s.Exec(ctx, "DELETE FROM facts WHERE name = 'ping'")
}

// Write runs fn in one transaction.
func (s *DB) Write(ctx context.Context, fn func(*sql.Tx) error) error {
	return write(ctx, s.Writer, fn)
}

func write(ctx context.Context, in *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := in.BeginTx(ctx, nil)
	if err != nil {
		return Explain(err)
	}
	defer tx.Rollback() // does nothing after Commit; its own error would hide the first one
	if err = fn(tx); err == nil {
		err = tx.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // database/sql rolled back because ctx ended
		err = ctx.Err()
	}
	return Explain(err)
}

// Traffic returns what the store has asked of its database.
func (s *DB) Traffic() *traffic.Traffic { return s.counts() }

// Changes is [traffic.Traffic.Changes].
func (s *DB) Changes() uint64 { return s.counts().Changes() }

// Exec runs one statement in a transaction of its own.
func (s *DB) Exec(ctx context.Context, query string, args ...any) error {
	_, err := s.Change(ctx, query, args...)
	return err
}

// Change is Exec, and returns what the statement has changed.
func (s *DB) Change(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	if s.serial() {
		result, err = s.Writer.ExecContext(ctx, query, args...)
		return result, Explain(err)
	}
	err = s.Write(ctx, func(tx *sql.Tx) (err error) {
		result, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return result, err
}
