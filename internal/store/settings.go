package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/activity"
	"reprise/internal/settings"
)

func settingPlace(path string) string { return "settings.sealed." + path }

// Settings returns the settings that administrators have changed. A secret that the key does not open is left out of
// the values and is in lost, with its path.
func (s *Store) Settings(ctx context.Context) (values map[string]string, lost []string, err error) {
	return readSettings(ctx, s.reader, s.key)
}

// readSettings is Settings for a database. A nil key opens no secrets.
func readSettings(ctx context.Context, db querier, key *Key) (values map[string]string, lost []string, err error) {
	type row struct{ path, value, sealed string }
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.path, &v.value, &v.sealed) }
	rows, err := list(ctx, db, scan, "SELECT path, value, sealed FROM settings ORDER BY path")
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
			plain, err = key.open(r.sealed, settingPlace(r.path))
		}
		if key == nil || err != nil {
			lost = append(lost, r.path)
			continue
		}
		values[r.path] = string(plain)
	}
	return values, lost, nil
}

// SaveSettings stores changed settings, and what was done for the log of activity, all or nothing.
func (s *Store) SaveSettings(ctx context.Context, changed []settings.Stored, log []activity.Entry) error {
	by, now := activity.ActorOf(ctx), millis(time.Now())
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, c := range changed {
			if err := execTx(ctx, tx, "DELETE FROM settings WHERE path = $1", c.Path); err != nil {
				return err
			}
			value, sealed := c.Value, ""
			switch {
			case c.Gone:
				continue
			case c.Secret:
				value, sealed = "", s.key.seal([]byte(c.Value), settingPlace(c.Path))
			}
			if err := execTx(ctx, tx, `INSERT INTO settings (path, value, sealed, updated_at, updated_by)
				VALUES ($1, $2, $3, $4, $5)`, c.Path, value, sealed, now, by.ID); err != nil {
				return err
			}
		}
		var errs []error
		for _, e := range log {
			errs = append(errs, addEntry(ctx, tx, by, e))
		}
		return errors.Join(errs...)
	})
}
