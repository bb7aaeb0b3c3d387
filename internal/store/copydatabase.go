package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"reprise/internal/tables"
)

// unfinished is the name of the fact that marks a copy that is not complete, and says what it is a copy of.
const unfinished = "unfinished_copy"

// UnfinishedError reports that a database is a copy that is not complete.
type UnfinishedError struct{ Of string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("it's an unfinished copy of %s. Run server copy-database again with the same two: it empties "+
		"the copy and starts over", e.Of)
}

// UnopenedError names the one of two databases that could not be opened.
type UnopenedError struct {
	Place string
	Err   error
}

func (e *UnopenedError) Error() string { return e.Place + ": " + e.Err.Error() }
func (e *UnopenedError) Unwrap() error { return e.Err }

// nameUnfinished names the database in the error of an unfinished copy.
func nameUnfinished(e engine, err error) error {
	if _, ok := errors.AsType[*UnfinishedError](err); ok {
		return fmt.Errorf("the database %s can't be used: %w", e, err)
	}
	return err
}

// CopyOf says which database to copy where.
type CopyOf struct {
	From, To Place
	Key      *Key                  // opens the secrets of both
	Tell     func(done, all int64) // hears how much of the work is done; nil for nobody
}

// notCopied are the tables that stay in a copy as a new database has them: what the migrations did, which processes
// serve the database now, River's, which a start fills, and the words of a search, which Index makes again.
var notCopied = []string{"schema_version", "river_job", "river_leader", "river_migration", "river_notification",
	"river_queue", "leader", "servers", "search_texts", "search_words"}

// copiedRows are the conditions for the rows of the tables of which a copy has some.
var copiedRows = map[string]string{
	"facts":     "name <> '" + unfinished + "'",
	"sequences": "name NOT IN ('" + indexedSpellings + "', '" + indexedArtists + "', 'search_words')",
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
		return r, fmt.Errorf("the copy isn't complete: %w", local(odd(err)))
	}
	if err := to.Index(ctx); err != nil {
		return r, err
	}
	return r, to.exec(ctx, "DELETE FROM facts WHERE name = $1", unfinished)
}

// open locks one of the two databases.
func (c CopyOf) open(ctx context.Context, at Place) (*Store, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	e, err := at.engine()
	if err != nil {
		return nil, err
	}
	s := &Store{engine: e, key: c.Key, files: files}
	s.Configure(Options{})
	if s.writer, s.reader, err = s.connect(ctx, locking{alone: true}); err != nil {
		return nil, errors.Join(&UnopenedError{e.String(), err}, s.Close())
	}
	return s, nil
}

// copyable returns an error if the database cannot be copied as it is.
func (s *Store) copyable(ctx context.Context) error {
	if err := s.intact(ctx, s.writer); err != nil {
		return err
	}
	all, err := s.tables(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(all, "facts") || !slices.Contains(all, "river_job") {
		return fmt.Errorf("the database %s is empty, so there's nothing to copy", s.engine)
	}
	opens, err := opens(ctx, s.reader, s.key)
	if err != nil {
		return nameUnfinished(s.engine, err)
	}
	if !opens {
		return ErrWrongKey
	}
	var l Look
	if l.Newest, err = newestStep(); err != nil {
		return err
	}
	err = s.reader.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM schema_version").Scan(&l.Step)
	if err == nil && l.Step != l.Newest {
		err = otherVersion(s.engine, l)
	}
	return local(err)
}

// tables returns the names of the tables.
func (s *Store) tables(ctx context.Context) (names []string, err error) {
	all, err := tables.Schema(ctx, s.rows(), s.reader)
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names, local(err)
}

// prepareCopy makes the tables for a copy of another database, and marks them as an unfinished one.
func (s *Store) prepareCopy(ctx context.Context, of string) error {
	if err := s.room(ctx, of); err != nil {
		return err
	}
	p, err := s.provider()
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	if _, err := p.UpTo(ctx, 1); err != nil { // which makes facts
		return fmt.Errorf("make the database: %w", local(err))
	}
	err = s.exec(ctx, "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", unfinished, of)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("make the database: %w", local(err))
	}
	return s.openQueue(ctx)
}

// room returns an error if the database has something else than an unfinished copy of another one, which it removes.
func (s *Store) room(ctx context.Context, of string) error {
	taken := fmt.Errorf("the database %s isn't empty, and nothing in it was changed. Name an empty one", s.engine)
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
	scan := func(r scanner) (fact [2]string, err error) { return fact, r.Scan(&fact[0], &fact[1]) }
	facts, err := list(ctx, s.reader, scan, "SELECT name, value FROM facts WHERE name <> 'ping' ORDER BY name")
	if err != nil || len(facts) == 0 { // a copy or a server was ended while it made the tables
		return err
	}
	i := slices.IndexFunc(facts, func(f [2]string) bool { return f[0] == unfinished })
	switch {
	case i < 0:
		return taken
	case facts[i][1] != of:
		return fmt.Errorf("%w: %w", taken, &UnfinishedError{facts[i][1]})
	}
	return s.discard(ctx)
}

// discard removes an unfinished copy. The mark stays until nothing else is left.
func (s *Store) discard(ctx context.Context) (err error) {
	f, ok := s.engine.(sqliteFile)
	if !ok { // what is copied is emptied later
		return s.exec(ctx, "TRUNCATE search_texts, search_words, sequences")
	}
	if err := s.Close(); err != nil {
		return local(err)
	}
	for _, end := range []string{"", "-wal", "-shm"} { // SQLite ignores the others without the first
		if err := os.Remove(f.path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the unfinished copy: %w", err)
		}
	}
	s.writer, s.reader, err = s.connect(ctx, locking{alone: true})
	return err
}

// fill copies the rows of another database.
func (s *Store) fill(ctx context.Context, from *Store, tell func(done, all int64)) (r tables.Result, err error) {
	var state *sql.TxOptions // a transaction of SQLite sees one state of the database as it is
	if from.rows() == tables.Postgres {
		state = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := from.reader.BeginTx(ctx, state)
	if err != nil {
		return r, err
	}
	defer tx.Rollback() // it has written nothing
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return tables.Copy{From: tx, Engine: from.rows(), To: conn, Into: s.rows(), Skip: notCopied, Where: copiedRows,
		Tell: tell}.Run(ctx)
}

// odd explains why Postgres refuses a row that SQLite had.
func odd(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.Code, "23") {
		return errors.New(strings.Join([]string{err.Error(), e.Detail}, ". ")) // no trouble with the database
	}
	return err
}
