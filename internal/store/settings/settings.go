package settings

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/activity"
	"reprise/internal/settings"
	"reprise/internal/store/db"
	"reprise/internal/store/people"
)

// Settings returns the settings that administrators have changed. A secret that the key does not open is left out of
// the values and is in lost, with its path.
func (s *Store) Settings(ctx context.Context) (values map[string]string, lost []string, err error) {
	return db.ReadSettings(ctx, s.db.Reader, s.db.Key)
}

// SaveSettings stores changed settings, and what was done for the log of activity, all or nothing.
func (s *Store) SaveSettings(ctx context.Context, changed []settings.Stored, log []activity.Entry) error {
	by, now := activity.ActorOf(ctx), db.Millis(time.Now())
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for _, c := range changed {
			if err := db.ExecTx(ctx, tx, "DELETE FROM settings WHERE path = $1", c.Path); err != nil {
				return err
			}
			value, sealed := c.Value, ""
			switch {
			case c.Gone:
				continue
			case c.Secret:
				value, sealed = "", s.db.Key.Seal([]byte(c.Value), db.SettingPlace(c.Path))
			}
			if err := db.ExecTx(ctx, tx, `INSERT INTO settings (path, value, sealed, updated_at, updated_by)
				VALUES ($1, $2, $3, $4, $5)`, c.Path, value, sealed, now, by.ID); err != nil {
				return err
			}
		}
		var errs []error
		for _, e := range log {
			errs = append(errs, people.AddEntry(ctx, tx, by, e))
		}
		return errors.Join(errs...)
	})
}
