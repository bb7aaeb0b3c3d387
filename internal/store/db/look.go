package db

import (
	"context"
	"database/sql"
	"io/fs"
	"strconv"
)

// Look is what is known about a database without opening it as a Store.
type Look struct {
	Sound        bool   // the file is consistent; if not, nothing else was read
	Step, Newest int64  // the database's version, and the newest one that this program knows
	Oldest       int64  // the oldest version whose programs can use it; Step when that is not known
	By           string // the version of Reprise that brought it to its step; empty when that is not known
	Opens        bool   // the key opens its secrets; also true if it has none
	Listens      int64
	// Connections and Players are how many there are, and Unheard the players that have sent no play yet and are not
	// paused. They are 0 in a database of another version.
	Connections, Players, Unheard int64
	// SecondSteps and Passkeys are how many people have set up; 0 in a database of another version.
	SecondSteps, Passkeys int
	// Settings are those that administrators have changed, by path, without the secrets that the key does not open.
	Settings map[string]string
}

// Usable reports whether a server of this program can use the database beside others: it has this program's version,
// or a newer one that it works with.
func (l Look) Usable() bool {
	return l.Step == l.Newest || l.Step > l.Newest && l.Oldest <= l.Newest
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

// RefuseNewer returns an error for a database of a newer version than this program's that servers of both can't share.
// A server may be using it.
func RefuseNewer(ctx context.Context, at Place) error {
	e, err := at.engine()
	if err != nil {
		return err
	}
	look, err := e.look(ctx, quick, nil)
	if err == nil && look.Step > look.Newest && !look.Usable() {
		err = newer(e, look)
	}
	return err
}

// read fills l from a sound database. tables is a query that counts how many of three tables exist.
func (l *Look) read(ctx context.Context, db *sql.DB, tables string, key *Key) (err error) {
	l.Sound = true
	if _, l.Newest, err = stepsOf(Steps()); err != nil {
		return err
	}
	var there int
	err = db.QueryRowContext(ctx, tables).Scan(&there)
	if err != nil || there < 3 { // created, and still empty
		l.Opens = true
		return Explain(err)
	}
	if err := l.readStep(ctx, db, Steps()); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM listens").Scan(&l.Listens); err != nil {
		return Explain(err)
	}
	if l.Step == l.Newest {
		err := db.QueryRowContext(ctx, `SELECT
			(SELECT count(*) FROM connections),
			(SELECT count(*) FROM sending_players),
			(SELECT count(*) FROM sending_players WHERE last_play_at = 0 AND paused = 0),
			(SELECT count(*) FROM factors WHERE kind = 'codes' AND confirmed = 1),
			(SELECT count(*) FROM factors WHERE kind = 'passkey')`).
			Scan(&l.Connections, &l.Players, &l.Unheard, &l.SecondSteps, &l.Passkeys)
		if err != nil {
			return Explain(err)
		}
	}
	if l.Step <= l.Newest || l.Usable() {
		if l.Settings, _, err = ReadSettings(ctx, db, key); err != nil {
			return err
		}
	}
	l.Opens, err = opens(ctx, db, key)
	return err
}

// readStep fills the versions of l for a program with these migrations.
func (l *Look) readStep(ctx context.Context, db RowQuerier, files fs.FS) (err error) {
	if _, l.Newest, err = stepsOf(files); err != nil {
		return err
	}
	var oldest string
	err = db.QueryRowContext(ctx, `SELECT
		(SELECT coalesce(max(version_id), 0) FROM schema_version),
		coalesce((SELECT value FROM facts WHERE name = $1), '')`, oldestStep).Scan(&l.Step, &oldest)
	if err != nil {
		return Explain(err)
	}
	if l.Oldest, err = strconv.ParseInt(oldest, 10, 64); err != nil { // no program has noted it
		l.Oldest = l.Step
	}
	l.By = UpgradedBy(ctx, db, l.Step)
	return nil
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
