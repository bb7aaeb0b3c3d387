package db

import (
	"context"
	"database/sql"
	"errors"
	"path"
	"strconv"
	"strings"
)

// Look is what is known about a database without opening it as a Store.
type Look struct {
	Sound        bool   // the file is consistent; if not, nothing else was read
	Step, Newest int64  // the database's version, and the newest one that this program knows
	By           string // the version of Reprise that brought it to its step; empty when that is not known
	Opens        bool   // the key opens its secrets; also true if it has none
	Listens      int64
	// Connections and Players are how many there are, and Unheard the players that have sent no play yet and are not
	// paused. They are 0 in a database of another version.
	Connections, Players, Unheard int64
	// Settings are those that administrators have changed, by path, without the secrets that the key does not open.
	Settings map[string]string
}

// looking says how to look at a database.
type looking int

const (
	still looking = iota // no server uses it
	live                 // a server uses it
	quick                // a server may use it, and only its version is wanted
)

// LookAt reads a database without changing it or the files beside it. busy says that a server is using it. A nil key
// opens no secrets.
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

// Glance is LookAt for callers that need the version, while a server may be using the database.
func Glance(ctx context.Context, at Place, key *Key) (Look, error) {
	e, err := at.engine()
	if err != nil {
		return Look{}, err
	}
	return e.look(ctx, quick, key)
}

// RefuseNewer returns an error for a database of a newer version than this program's. A server may be using it.
func RefuseNewer(ctx context.Context, at Place) error {
	e, err := at.engine()
	if err != nil {
		return err
	}
	look, err := e.look(ctx, quick, nil)
	if err == nil && look.Step > look.Newest {
		err = newer(e, look.Step, look.Newest, look.By)
	}
	return err
}

// read fills l from a sound database. tables is a query that counts how many of three tables exist.
func (l *Look) read(ctx context.Context, db *sql.DB, tables string, key *Key) (err error) {
	l.Sound = true
	if l.Newest, err = newestStep(); err != nil {
		return err
	}
	var there int
	err = db.QueryRowContext(ctx, tables).Scan(&there)
	if err != nil || there < 3 { // created, and still empty
		l.Opens = true
		return Explain(err)
	}
	err = db.QueryRowContext(ctx, `SELECT
		(SELECT coalesce(max(version_id), 0) FROM schema_version),
		(SELECT count(*) FROM listens)`).Scan(&l.Step, &l.Listens)
	if err != nil {
		return Explain(err)
	}
	l.By = UpgradedBy(ctx, db, l.Step)
	if l.Step == l.Newest {
		err := db.QueryRowContext(ctx, `SELECT
			(SELECT count(*) FROM connections),
			(SELECT count(*) FROM sending_players),
			(SELECT count(*) FROM sending_players WHERE last_play_at = 0 AND paused = 0)`).
			Scan(&l.Connections, &l.Players, &l.Unheard)
		if err != nil {
			return Explain(err)
		}
	}
	if l.Step <= l.Newest {
		if l.Settings, _, err = ReadSettings(ctx, db, key); err != nil {
			return err
		}
	}
	l.Opens, err = opens(ctx, db, key)
	return err
}

// opens reports whether the key opens the secrets of the database. The error is an *UnfinishedError if that is a copy
// that is not complete.
func opens(ctx context.Context, db *sql.DB, key *Key) (bool, error) {
	sealed, err := marks(ctx, db)
	if err != nil || sealed == "" {
		return err == nil, err
	}
	if key == nil {
		return false, nil
	}
	_, err = key.Open(sealed, keyCheckPlace)
	return err == nil, nil
}

// newestStep returns the number of the last migration.
func newestStep() (newest int64, err error) {
	files, err := migrations.ReadDir("migrations")
	for _, f := range files {
		number, _, _ := strings.Cut(path.Base(f.Name()), "_")
		n, e := strconv.ParseInt(number, 10, 64)
		newest, err = max(newest, n), errors.Join(err, e)
	}
	return newest, err
}

// SettingPlace returns the place, in the sense of [Key.Seal], of the secret setting with a path.
func SettingPlace(path string) string { return "settings.sealed." + path }

// ReadSettings is Settings for a database. A nil key opens no secrets.
func ReadSettings(ctx context.Context, db Querier, key *Key) (values map[string]string, lost []string, err error) {
	type row struct{ path, value, sealed string }
	scan := func(r Scanner) (v row, err error) { return v, r.Scan(&v.path, &v.value, &v.sealed) }
	rows, err := List(ctx, db, scan, "SELECT path, value, sealed FROM settings ORDER BY path")
	if err != nil {
		return nil, nil, err
	}
	values = map[string]string{}
	for _, r := range rows {
		if r.sealed == "" {
			values[r.path] = r.value
			continue
		}
		var plain []byte
		if key != nil {
			plain, err = key.Open(r.sealed, SettingPlace(r.path))
		}
		if key == nil || err != nil {
			lost = append(lost, r.path)
			continue
		}
		values[r.path] = string(plain)
	}
	return values, lost, nil
}
