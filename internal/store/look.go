package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// Look is what a database tells of itself.
type Look struct {
	Sound        bool  // nothing in the file contradicts itself; without it, nothing else was read
	Step, Newest int64 // the database's version, and the one that this program brings databases to
	Opens        bool  // the key opens what is sealed in it; also true when nothing is
	Listens      int64
}

// LookAt reads the database in dir and changes nothing: not it, nor the files beside it. live says that a server is using
// it. A database that was not closed, as after a power cut, is read as a copy in the folder for temporary files. key may be
// nil; then it opens nothing.
func LookAt(ctx context.Context, dir string, live bool, key *Key) (Look, error) {
	const check = "PRAGMA quick_check(1)"
	file := filepath.Join(dir, FileName)
	if live {
		return lookAt(ctx, address(file)+"?mode=ro&_pragma=busy_timeout(5000)", check, key)
	}
	log, err := os.Stat(file + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && log.Size() == 0 {
		return lookAt(ctx, address(file)+"?mode=ro&immutable=1", check, key)
	}
	temporary, err := os.MkdirTemp("", "reprise-check-")
	if err != nil {
		return Look{}, err
	}
	defer os.RemoveAll(temporary)
	for _, name := range []string{FileName, FileName + "-wal"} {
		if err := duplicate(filepath.Join(dir, name), filepath.Join(temporary, name)); err != nil {
			return Look{}, err
		}
	}
	return lookAt(ctx, address(filepath.Join(temporary, FileName))+"?mode=rw", check, key)
}

func duplicate(from, to string) error {
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

func lookAt(ctx context.Context, dsn, check string, key *Key) (l Look, err error) {
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
		return l, local(err)
	}
	l.Sound = true
	if l.Newest, err = newestStep(); err != nil {
		return l, err
	}
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name IN ('goose_db_version', 'facts', 'listens')").Scan(&tables)
	if err != nil || tables < 3 { // made, and not filled yet
		l.Opens = true
		return l, local(err)
	}
	err = db.QueryRowContext(ctx, "SELECT (SELECT coalesce(max(version_id), 0) FROM goose_db_version), (SELECT count(*) FROM listens)").Scan(&l.Step, &l.Listens)
	if err != nil {
		return l, local(err)
	}
	l.Opens, err = opens(ctx, db, key)
	return l, err
}

// opens says whether the key opens what is sealed in the database.
func opens(ctx context.Context, db *sql.DB, key *Key) (bool, error) {
	var sealed string
	err := db.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = $1", keyCheck).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil || key == nil {
		return false, local(err)
	}
	_, err = key.open(sealed, keyCheckPlace)
	return err == nil, nil
}

// newestStep is the number of the last migration.
func newestStep() (newest int64, err error) {
	files, err := migrations.ReadDir("migrations")
	for _, f := range files {
		number, _, _ := strings.Cut(path.Base(f.Name()), "_")
		n, e := strconv.ParseInt(number, 10, 64)
		newest, err = max(newest, n), errors.Join(err, e)
	}
	return newest, err
}
