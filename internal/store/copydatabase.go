package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"reprise/internal/store/db"
	"reprise/internal/store/lookup"
	"reprise/internal/store/outbox"
	"reprise/internal/tables"
)

// CopyOf says which database to copy where.
type CopyOf struct {
	From, To db.Place
	Key      *db.Key               // opens the secrets of both
	Tell     func(done, all int64) // hears how much of the work is done; nil for nobody
}

// notCopied are the tables that stay in a copy as a new database has them: what the migrations did, which processes
// serve the database now, River's, which a start fills, and the words of a search, which Index makes again.
var notCopied = []string{"schema_version", "river_job", "river_leader", "river_migration", "river_notification",
	"river_queue", "leader", "servers", "requests", "search_texts", "search_words"}

// copiedRows are the conditions for the rows of the tables of which a copy has some.
var copiedRows = map[string]string{
	"facts":     "name <> '" + db.Unfinished + "'",
	"sequences": "name NOT IN ('" + lookup.IndexedSpellings + "', '" + lookup.IndexedArtists + "', 'search_words')",
}

// CopyDatabase makes To a copy of From and checks it. From has the version of this program, and is only read. To has
// nothing, or an unfinished copy of the same From, which is emptied first. No server may use either: Postgres is locked
// meanwhile, and the directories of files are locked by the caller. Until the copy is complete, it is marked as
// unfinished, and Open refuses it. The error is ErrWrongKey if the key is not that of From.
func CopyDatabase(ctx context.Context, c CopyOf) (r tables.Result, err error) {
	from, err := c.open(ctx, c.From)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := from.copyable(ctx); err != nil {
		return r, err
	}
	to, err := c.open(ctx, c.To)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := to.prepareCopy(ctx, from.String()); err != nil {
		return r, err
	}
	if r, err = to.fill(ctx, from, c.Tell); err != nil {
		return r, fmt.Errorf("the copy isn't complete: %w", db.Explain(odd(err)))
	}
	if err := to.Index(ctx); err != nil {
		return r, err
	}
	return r, to.Exec(ctx, "DELETE FROM facts WHERE name = $1", db.Unfinished)
}

// open locks one of the two databases.
func (c CopyOf) open(ctx context.Context, at db.Place) (*Store, error) {
	d, err := db.Take(ctx, at, c.Key, true)
	if err != nil {
		return nil, &UnopenedError{Place: at.String(), Err: err}
	}
	s := parts(d)
	s.Configure(outbox.Options{})
	return s, nil
}

// copyable returns an error if the database cannot be copied as it is.
func (s *Store) copyable(ctx context.Context) error {
	if err := s.Intact(ctx, s.Writer); err != nil {
		return err
	}
	all, err := s.tables(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(all, "facts") || !slices.Contains(all, "river_job") {
		return fmt.Errorf("the database %s is empty, so there's nothing to copy", s.DB)
	}
	return s.Fits(ctx)
}

// tables returns the names of the tables.
func (s *Store) tables(ctx context.Context) (names []string, err error) {
	all, err := tables.Schema(ctx, s.Rows(), s.Reader)
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names, db.Explain(err)
}

// prepareCopy makes the tables for a copy of another database, and marks them as an unfinished one.
func (s *Store) prepareCopy(ctx context.Context, of string) error {
	if err := s.room(ctx, of); err != nil {
		return err
	}
	if err := s.MakeUnfinished(ctx, of); err != nil {
		return err
	}
	return s.OpenQueue(ctx, "", false)
}

// room returns an error if the database has something else than an unfinished copy of another one, which it removes.
func (s *Store) room(ctx context.Context, of string) error {
	taken := fmt.Errorf("the database %s isn't empty, and nothing in it was changed. Name an empty one", s.DB)
	all, err := s.tables(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(name string) bool { return name == "schema_version" })
	if !slices.Contains(all, "facts") {
		if len(all) > 0 {
			return fmt.Errorf("%w, which has no tables such as %s", taken, all[0])
		}
		return nil
	}
	scan := func(r db.Scanner) (fact [2]string, err error) { return fact, r.Scan(&fact[0], &fact[1]) }
	facts, err := db.List(ctx, s.Reader, scan, "SELECT name, value FROM facts WHERE name <> 'ping' ORDER BY name")
	if err != nil || len(facts) == 0 { // a copy or a server was ended while it made the tables
		return err
	}
	i := slices.IndexFunc(facts, func(f [2]string) bool { return f[0] == db.Unfinished })
	switch {
	case i < 0:
		return taken
	case facts[i][1] != of:
		return fmt.Errorf("%w: %w", taken, &db.UnfinishedError{Of: facts[i][1]})
	}
	return s.DropUnfinished(ctx)
}

// fill copies the rows of another database.
func (s *Store) fill(ctx context.Context, from *Store, tell func(done, all int64)) (r tables.Result, err error) {
	var state *sql.TxOptions // a transaction of SQLite sees one state of the database as it is
	if from.Rows() == tables.Postgres {
		state = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := from.Reader.BeginTx(ctx, state)
	if err != nil {
		return r, err
	}
	defer tx.Rollback() // it has written nothing
	conn, err := s.Writer.Conn(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return tables.Copy{From: tx, Engine: from.Rows(), To: conn, Into: s.Rows(), Skip: notCopied, Where: copiedRows,
		Tell: tell}.Run(ctx)
}

// odd explains why Postgres refuses a row that SQLite had.
func odd(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.Code, "23") {
		return errors.New(strings.Join([]string{err.Error(), e.Detail}, ". ")) // no trouble with the database
	}
	return err
}

// UnopenedError names the one of two databases that could not be opened.
type UnopenedError struct {
	Place string
	Err   error
}

func (e *UnopenedError) Error() string { return e.Place + ": " + e.Err.Error() }

func (e *UnopenedError) Unwrap() error { return e.Err }
