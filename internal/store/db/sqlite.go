package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	_ "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"reprise/internal/store/prepared"
	"reprise/internal/store/traffic"
	"reprise/internal/tables"
)

// FileName is the database's name in the data directory.
const FileName = "reprise.db"

// SQLiteFile is a database in a file, with a write-ahead log beside it. The lock of the data directory makes sure that
// only one server uses it.
type SQLiteFile struct {
	Path    string
	traffic *traffic.Traffic
}

func newSQLite(dir string) SQLiteFile {
	return SQLiteFile{filepath.Join(dir, FileName), &traffic.Traffic{}}
}

func (f SQLiteFile) String() string { return f.Path }

func (f SQLiteFile) counts() *traffic.Traffic { return f.traffic }

// exists refuses a file without content: none of ours ever is, and to SQLite it would be a new database.
func (f SQLiteFile) exists(context.Context) (bool, error) {
	info, err := os.Stat(f.Path)
	if err == nil && info.Size() == 0 {
		return false, fmt.Errorf("the database %s is empty, as a copy onto a full disk is. Put back a backup, or "+
			"delete the file to start over; nothing was changed", f)
	}
	return err == nil, nil
}

func (f SQLiteFile) connect(ctx context.Context, _ locking) (writer, reader *sql.DB, err error) {
	there, err := f.exists(ctx)
	if err == nil && !there {
		err = f.create(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	if writer, err = prepared.Open(DSN(f.Path, "_txlock=immediate&"+noJournals), f.traffic); err != nil {
		return nil, nil, fmt.Errorf("open database: %w", err)
	}
	writer.SetMaxOpenConns(1)
	if reader, err = prepared.Open(DSN(f.Path, "_pragma=query_only(1)"), f.traffic); err != nil {
		return writer, nil, fmt.Errorf("open database: %w", err)
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	return writer, reader, nil
}

// create makes an empty database, with its write-ahead log. It has its name only when it is complete.
func (f SQLiteFile) create(ctx context.Context) error {
	part := f.Path + partial
	// SQLite gives the files that it creates beside this one the same permissions. The errors are ignored because
	// SQLite reports the same problem on first use.
	_, _ = Remove(part), private(part)
	db, err := sql.Open("sqlite", DSN(part, noJournals))
	if err == nil {
		err = errors.Join(db.PingContext(ctx), db.Close())
	}
	if err == nil {
		err = os.Rename(part, f.Path)
	}
	if err != nil {
		_ = Remove(part)
		return fmt.Errorf("the database %s cannot be opened: %w", f, Explain(err))
	}
	return nil
}

// partial ends the names of files that are still being written.
const partial = ".part"

// DSN returns the address of a database file for the driver, with more parameters, such as "mode=ro".
func DSN(path, more string) string {
	return address(path) +
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&" +
		more
}

// noJournals keeps in memory what a statement that fails is undone from. In a file it would be most of what is written:
// each statement that inserts rows copies every page that it changes.
const noJournals = "_pragma=temp_store(2)"

// address returns the URL of a path for SQLite.
func address(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

const quickCheck = "PRAGMA quick_check(1)"

// Intact reads the whole file once, so that damage is found at start.
func (f SQLiteFile) Intact(ctx context.Context, writer *sql.DB) error {
	var answer string
	err := writer.QueryRowContext(ctx, quickCheck).Scan(&answer)
	if err == nil && answer == "ok" {
		return nil
	}
	if err != nil && !isCode(err, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) {
		return fmt.Errorf("the database %s cannot be opened: %w", f, Explain(err))
	}
	return damaged(f)
}

// beside returns nil: a file has one writer.
func (f SQLiteFile) beside(locking) (people, ids *sql.DB) { return nil, nil }

// serial returns true. Commands that change accounts beside a server wait for it in SQLite.
func (f SQLiteFile) serial() bool { return true }

func (f SQLiteFile) dialect() goose.Dialect { return goose.DialectSQLite3 }

func (f SQLiteFile) steps(files fs.FS) (fs.FS, error) { return files, nil }

func (f SQLiteFile) has(ctx context.Context, db *sql.DB, table string) (there bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM sqlite_master WHERE name = $1", table).Scan(&there)
	return there, err
}

// Driver returns River's driver for the file.
func (f SQLiteFile) Driver(writer *sql.DB) riverdriver.Driver[*sql.Tx] {
	return riversqlite.New(writer)
}

// Rows returns what reads and writes rows of any table.
func (f SQLiteFile) Rows() tables.Dialect { return tables.SQLite }

// Shred makes SQLite overwrite freed data with zeros, so that it does not remain in free pages.
func (f SQLiteFile) Shred(ctx context.Context, writer *sql.DB) error {
	_, err := writer.ExecContext(ctx, "PRAGMA secure_delete = 1")
	return Explain(err)
}

// keep writes a consistent copy of the database to the file <name>.<step>.bak beside it. The file exists only when it
// is complete. It replaces the copy of an interrupted upgrade.
func (f SQLiteFile) keep(ctx context.Context, writer *sql.DB, step int64) error {
	return CopyTo(ctx, writer, fmt.Sprintf("%s.%d.bak", f.Path, step))
}

// CopyTo writes a consistent copy of the database to a private file, which exists only when it is complete.
func CopyTo(ctx context.Context, writer *sql.DB, path string) error {
	part := path + partial
	if err := Remove(part); err != nil {
		return err
	}
	if err := private(part); err != nil {
		return err
	}
	if _, err := writer.ExecContext(ctx, "VACUUM INTO $1", part); err != nil {
		return errors.Join(Explain(err), os.Remove(part))
	}
	return os.Rename(part, path)
}

// private creates an empty file that only its owner can read, if there is none.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// look copies a database that was not closed, as after a power cut, to the directory for temporary files before it
// reads it: reading it in place would change the files beside it.
func (f SQLiteFile) look(ctx context.Context, how looking, key *Key) (Look, error) {
	switch how {
	case quick:
		return lookAtFile(ctx, address(f.Path)+"?mode=rw&_pragma=busy_timeout(5000)", "SELECT 'ok'", key)
	case live:
		return lookAtFile(ctx, address(f.Path)+"?mode=ro&_pragma=busy_timeout(5000)", quickCheck, key)
	}
	log, err := os.Stat(f.Path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && log.Size() == 0 {
		return lookAtFile(ctx, address(f.Path)+"?mode=ro&immutable=1", quickCheck, key)
	}
	removeOld(filepath.Join(os.TempDir(), looked+"*"))
	temporary, err := os.MkdirTemp("", looked)
	if err != nil {
		return Look{}, err
	}
	defer os.RemoveAll(temporary)
	copied := filepath.Join(temporary, FileName)
	for _, end := range []string{"", "-wal"} {
		if err := Duplicate(f.Path+end, copied+end); err != nil {
			return Look{}, err
		}
	}
	return lookAtFile(ctx, address(copied)+"?mode=rw", quickCheck, key)
}

// looked begins the names of the temporary folders of look, and lookLasts is longer than it takes.
const (
	looked    = "reprise-check-"
	lookLasts = time.Hour
)

// removeOld removes what a killed process has left behind.
func removeOld(pattern string) {
	left, _ := filepath.Glob(pattern) // the pattern is valid
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > lookLasts {
			_ = os.RemoveAll(path) // fails for those of other users
		}
	}
}

func lookAtFile(ctx context.Context, dsn, check string, key *Key) (l Look, err error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return l, fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	var answer string
	err = db.QueryRowContext(ctx, check).Scan(&answer)
	if isCode(err, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) || err == nil && answer != "ok" {
		return l, nil
	}
	if err != nil {
		return l, Explain(err)
	}
	return l, l.read(ctx, db,
		"SELECT count(*) FROM sqlite_master WHERE name IN ('schema_version', 'facts', 'listens')", key)
}

// Duplicate copies a file to one that does not exist,.
func Duplicate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
