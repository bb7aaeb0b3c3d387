package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/store/db"
	"reprise/internal/store/notices"
)

// Forgotten counts what ForgetSecrets has dropped.
type Forgotten struct{ Connections, Channels, SecondSteps, Passkeys int }

// ForgetSecrets drops what the lost key sealed, and marks the database with another key: connections stay without their
// credentials, channels without their addresses, accounts without second steps and passkeys. It first
// writes a copy of a database in a file to keep, unless that is empty. Everything else stays as it is. Nobody else may
// use the database meanwhile. It may be repeated.
func ForgetSecrets(ctx context.Context, at db.Place, key *db.Key, keep string) (f Forgotten, err error) {
	d, err := db.Take(ctx, at, key, false)
	if err != nil {
		return f, err
	}
	s := parts(d)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Intact(ctx, s.Writer); err != nil {
		return f, err
	}
	if keep != "" {
		if err := db.CopyTo(ctx, s.Writer, keep); err != nil {
			return f, fmt.Errorf("copy the database: %w", err)
		}
	}
	if err := s.Migrate(ctx); err != nil {
		return f, err
	}
	if err := s.Shred(ctx, s.Writer); err != nil {
		return f, err
	}
	err = s.Write(ctx, func(tx *sql.Tx) (err error) {
		f, err = s.forget(ctx, tx)
		return err
	})
	return f, err
}

// forget drops what the key does not open.
func (s *Store) forget(ctx context.Context, tx *sql.Tx) (f Forgotten, err error) {
	counts := map[string]*int{"connections": &f.Connections, "channels": &f.Channels}
	before, err := countFactors(ctx, tx)
	if err != nil {
		return f, err
	}
	for _, c := range db.SealedColumns {
		texts, err := c.Read(ctx, tx)
		if err != nil {
			return f, err
		}
		for _, v := range texts {
			if c.Mixed && !looksSealed(v.Text) {
				continue
			}
			place := c.Place(v.Row)
			if _, err := s.Key.Open(v.Text, place); err == nil {
				continue
			}
			if err := s.forgetText(ctx, tx, c, v); err != nil {
				return f, err
			}
			if n := counts[c.Table]; n != nil {
				*n++
			}
		}
	}
	after, err := countFactors(ctx, tx)
	if err != nil {
		return f, err
	}
	f.SecondSteps = before[accounts.Codes] - after[accounts.Codes]
	f.Passkeys = before[accounts.Passkey] - after[accounts.Passkey]
	return f, errors.Join(
		db.ExecTx(ctx, tx, `DELETE FROM recovery_codes WHERE NOT EXISTS (SELECT 1 FROM factors f
			WHERE f.user_id = recovery_codes.user_id AND f.kind = $1 AND f.confirmed = 1)`, accounts.Codes),
		s.MarkKey(ctx, tx))
}

// countFactors counts the factors that count, by kind.
func countFactors(ctx context.Context, tx *sql.Tx) (map[string]int, error) {
	n := map[string]int{}
	for _, kind := range []string{accounts.Codes, accounts.Passkey} {
		var of int
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM factors WHERE kind = $1 AND confirmed = 1", kind).Scan(&of)
		if err != nil {
			return nil, err
		}
		n[kind] = of
	}
	return n, nil
}

// forgetText drops one text, with its row if that is nothing without it.
func (s *Store) forgetText(ctx context.Context, tx *sql.Tx, c db.SealedColumn, v db.SealedText) error {
	if c.Blank == "" {
		return db.ExecTx(ctx, tx, "DELETE FROM "+c.Table+" WHERE "+c.Where(1), v.Row...)
	}
	args := append([]any{s.Key.Seal([]byte(c.Blank), c.Place(v.Row))}, v.Row...)
	if err := db.ExecTx(ctx, tx, fmt.Sprintf("UPDATE %s SET %s = $1 WHERE %s", c.Table, c.Column, c.Where(2)),
		args...); err != nil || c.Table != "channels" {
		return err
	}
	now := db.Millis(time.Now())
	return db.ExecTx(ctx, tx, `UPDATE channels SET stopped_at = $1, failing_since = $1, category = $2, reason = $3,
		failures = 1, version = version + 1 WHERE id = $4`, now, resilience.Auth.String(),
		notify.AddressLost(), v.Row[0])
}

// looksSealed reports whether a text has the form of a sealed one: the id of a key, a colon and base64.
func looksSealed(text string) bool {
	const id = 8 // hexadecimal digits
	if len(text) <= id || text[id] != ':' {
		return false
	}
	for _, r := range text[:id] {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}

// LostChannels returns the channels of all people whose address was forgotten and not entered again.
func (s *Store) LostChannels(ctx context.Context) (lost []notify.Channel, err error) {
	all, err := db.List(ctx, s.Reader, s.ScanChannel, notices.SelectChannel+"WHERE stopped_at > 0 ORDER BY id")
	for _, c := range all {
		if c.URL == db.LostAddress {
			lost = append(lost, c)
		}
	}
	return lost, err
}
