package store

import (
	"context"
	"database/sql"
	"errors"
	"path"
	"strconv"
	"strings"
)

// Look is what a database tells of itself.
type Look struct {
	Sound        bool  // nothing in the file contradicts itself; without it, nothing else was read
	Step, Newest int64 // the database's version, and the one that this program brings databases to
	Opens        bool  // the key opens what is sealed in it; also true when nothing is
	Listens      int64
}

// How a database is looked at.
type looking int

const (
	still looking = iota // nobody uses it
	live                 // a server uses it
	quick                // a server may use it, and only its version is asked for
)

// LookAt reads a database and changes nothing: not it, nor files beside it. busy says that a server is using it.
// key may be nil; then it opens nothing.
func LookAt(ctx context.Context, at Place, busy bool, key *Key) (Look, error) {
	e, err := at.engine()
	if err != nil {
		return Look{}, err
	}
	how := still
	if busy {
		how = live
	}
	return e.look(ctx, how, key)
}

// read reads what a sound database tells. tables is a query for the number of those tables that it has of three.
func (l *Look) read(ctx context.Context, db *sql.DB, tables string, key *Key) (err error) {
	l.Sound = true
	if l.Newest, err = newestStep(); err != nil {
		return err
	}
	var there int
	err = db.QueryRowContext(ctx, tables).Scan(&there)
	if err != nil || there < 3 { // made, and not filled yet
		l.Opens = true
		return local(err)
	}
	err = db.QueryRowContext(ctx, "SELECT (SELECT coalesce(max(version_id), 0) FROM goose_db_version), (SELECT "+
		"count(*) FROM listens)").Scan(&l.Step, &l.Listens)
	if err != nil {
		return local(err)
	}
	l.Opens, err = opens(ctx, db, key)
	return err
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
