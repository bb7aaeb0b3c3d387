package connections

import (
	"context"
	"database/sql"
	"math"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
	"reprise/internal/store/db"
)

// forever is the end of the cooldown of a key that was refused: only a person can end it.
const forever = math.MaxInt64

// SaveCooldowns stores cooldowns of keys, so that they survive a restart. If a key has one already, the later end wins.
func (s *Store) SaveCooldowns(ctx context.Context, waits []keys.Cooldown) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for _, w := range waits {
			until := db.Millis(w.Until)
			if w.Until.IsZero() {
				until = forever
			}
			err := db.ExecTx(ctx, tx, `INSERT INTO key_cooldowns (provider, fingerprint, category, until)
				VALUES ($1, $2, $3, $4)
				ON CONFLICT (provider, fingerprint) DO UPDATE SET category = excluded.category, until = excluded.until
				WHERE excluded.until > key_cooldowns.until`, w.Provider, w.Key, w.Category.String(), until)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Cooldowns returns the cooldowns of keys that have not ended.
func (s *Store) Cooldowns(ctx context.Context) ([]keys.Cooldown, error) {
	scan := func(r db.Scanner) (w keys.Cooldown, err error) {
		var category string
		var until int64
		err = r.Scan(&w.Provider, &w.Key, &category, &until)
		w.Category = resilience.ParseCategory(category)
		if until != forever {
			w.Until = db.Instant(until)
		}
		return w, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT provider, fingerprint, category, until FROM key_cooldowns
		WHERE until > $1 ORDER BY provider, fingerprint`, db.Millis(time.Now()))
}

// ReadmitKeys deletes the cooldowns of the keys that a provider refused.
func (s *Store) ReadmitKeys(ctx context.Context, provider string) error {
	return s.db.Exec(ctx, "DELETE FROM key_cooldowns WHERE provider = $1 AND until = $2", provider, int64(forever))
}

// ForgetCooldowns deletes the cooldowns of these keys, including those of refused keys.
func (s *Store) ForgetCooldowns(ctx context.Context, cooldowns []keys.Cooldown) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for _, k := range cooldowns {
			err := db.ExecTx(ctx, tx, "DELETE FROM key_cooldowns WHERE provider = $1 AND fingerprint = $2",
				k.Provider, k.Key)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
