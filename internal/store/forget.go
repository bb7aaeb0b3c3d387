package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"reprise/internal/notify"
	"reprise/internal/resilience"
)

// Forgotten counts what ForgetSecrets has dropped.
type Forgotten struct{ Connections, Channels int }

// ForgetSecrets drops what the lost key sealed, and marks the database with another key: connections stay without their
// credentials, channels without their addresses. It first writes a copy of a database in a file to keep, unless that
// is empty. Everything else stays as it is. Nobody else may use the database meanwhile. It may be repeated.
func ForgetSecrets(ctx context.Context, at Place, key *Key, keep string) (f Forgotten, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return f, fmt.Errorf("open database: %w", err)
	}
	e, err := at.engine()
	if err != nil {
		return f, err
	}
	s := &Store{engine: e, key: key, files: files}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.writer, s.reader, err = s.connect(ctx, locking{alone: true}); err != nil {
		return f, err
	}
	if err := s.intact(ctx, s.writer); err != nil {
		return f, err
	}
	if keep != "" {
		if err := copyTo(ctx, s.writer, keep); err != nil {
			return f, fmt.Errorf("copy the database: %w", err)
		}
	}
	s.unchecked = true
	if err := s.migrate(ctx); err != nil {
		return f, err
	}
	if err := s.shred(ctx, s.writer); err != nil {
		return f, err
	}
	err = s.write(ctx, func(tx *sql.Tx) (err error) {
		f, err = s.forget(ctx, tx)
		return err
	})
	return f, err
}

// forget drops what the key does not open.
func (s *Store) forget(ctx context.Context, tx *sql.Tx) (f Forgotten, err error) {
	counts := map[string]*int{"connections": &f.Connections, "channels": &f.Channels}
	for _, c := range sealedColumns {
		texts, err := c.read(ctx, tx)
		if err != nil {
			return f, err
		}
		for _, v := range texts {
			if c.mixed && !looksSealed(v.text) {
				continue
			}
			place := c.place(v.row)
			if _, err := s.key.open(v.text, place); err == nil {
				continue
			}
			if err := s.forgetText(ctx, tx, c, v); err != nil {
				return f, err
			}
			if n := counts[c.table]; n != nil {
				*n++
			}
		}
	}
	return f, s.markKey(ctx, tx)
}

// forgetText drops one text, with its row if that is nothing without it.
func (s *Store) forgetText(ctx context.Context, tx *sql.Tx, c sealedColumn, v sealedText) error {
	if c.blank == "" {
		return execTx(ctx, tx, "DELETE FROM "+c.table+" WHERE "+c.where(1), v.row...)
	}
	args := append([]any{s.key.seal([]byte(c.blank), c.place(v.row))}, v.row...)
	if err := execTx(ctx, tx, fmt.Sprintf("UPDATE %s SET %s = $1 WHERE %s", c.table, c.column, c.where(2)),
		args...); err != nil || c.table != "channels" {
		return err
	}
	now := millis(time.Now())
	return execTx(ctx, tx, `UPDATE channels SET stopped_at = $1, failing_since = $1, category = $2, reason = $3,
		failures = 1, version = version + 1 WHERE id = $4`, now, resilience.Auth.String(),
		notify.AddressLost(), v.row[0])
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
	all, err := list(ctx, s.reader, s.scanChannel, selectChannel+"WHERE stopped_at > 0 ORDER BY id")
	for _, c := range all {
		if c.URL == lostAddress {
			lost = append(lost, c)
		}
	}
	return lost, err
}
