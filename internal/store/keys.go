package store

import (
	"context"
	"database/sql"
	"math"
	"time"

	"reprise/internal/resilience"
)

// forever is the end of a wait that only a person ends: the key was refused.
const forever = math.MaxInt64

// SaveCooldowns keeps the waits of keys, so that they are kept across a restart. A later end counts.
func (s *Store) SaveCooldowns(ctx context.Context, waits []resilience.Cooldown) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, w := range waits {
			until := millis(w.Until)
			if w.Until.IsZero() {
				until = forever
			}
			if err := execTx(ctx, tx, `INSERT INTO key_cooldowns (provider, fingerprint, category, until)
				VALUES ($1, $2, $3, $4)
				ON CONFLICT (provider, fingerprint) DO UPDATE SET category = excluded.category, until = excluded.until
				WHERE excluded.until > key_cooldowns.until`, w.Provider, w.Key, w.Category.String(),
				until); err != nil {
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
		w.Category = resilience.ParseCategory(category)
		if until != forever {
			w.Until = instant(until)
		}
		return w, err
	}
	return list(ctx, s.reader, scan, "SELECT provider, fingerprint, category, until FROM key_cooldowns WHERE "+
		"until > $1 ORDER BY provider, fingerprint", millis(time.Now()))
}

// ReadmitKeys forgets that keys of a provider were refused.
func (s *Store) ReadmitKeys(ctx context.Context, provider string) error {
	return s.exec(ctx, "DELETE FROM key_cooldowns WHERE provider = $1 AND until = $2", provider, int64(forever))
}

// ForgetCooldowns forgets the waits of these keys, refusals too.
func (s *Store) ForgetCooldowns(ctx context.Context, keys []resilience.Cooldown) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, k := range keys {
			if err := execTx(ctx, tx, "DELETE FROM key_cooldowns WHERE provider = $1 AND fingerprint = $2",
				k.Provider, k.Key); err != nil {
				return err
			}
		}
		return nil
	})
}
