package store

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/resilience"
)

// SaveCooldowns keeps the waits of keys, so that they are kept across a restart. A later end counts.
func (s *Store) SaveCooldowns(ctx context.Context, waits []resilience.Cooldown) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, w := range waits {
			if err := execTx(ctx, tx, `INSERT INTO key_cooldowns (provider, fingerprint, category, until) VALUES ($1, $2, $3, $4)
				ON CONFLICT (provider, fingerprint) DO UPDATE SET category = excluded.category, until = excluded.until
				WHERE excluded.until > key_cooldowns.until`, w.Provider, w.Key, w.Category.String(), millis(w.Until)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cooldowns returns the waits of keys that have not ended.
func (s *Store) Cooldowns(ctx context.Context) ([]resilience.Cooldown, error) {
	scan := func(r scanner) (w resilience.Cooldown, err error) {
		var category string
		var until int64
		err = r.Scan(&w.Provider, &w.Key, &category, &until)
		w.Category, w.Until = resilience.ParseCategory(category), instant(until)
		return w, err
	}
	return list(ctx, s.reader, scan, "SELECT provider, fingerprint, category, until FROM key_cooldowns WHERE until > $1 ORDER BY provider, fingerprint", millis(time.Now()))
}
