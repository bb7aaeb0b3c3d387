package settings

import (
	"context"
	"database/sql"
	"errors"

	"reprise/internal/store/db"
)

// backups is the name of the fact that says what is known about backups.
const backups = "backups"

// BackupRecord returns what KeepBackupRecord has stored; empty for nothing.
func (s *Store) BackupRecord(ctx context.Context) (text string, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = $1", backups).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, db.Explain(err)
}

// KeepBackupRecord stores what is known about backups.
func (s *Store) KeepBackupRecord(ctx context.Context, text string) error {
	return s.db.Exec(ctx, `INSERT INTO facts (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, backups, text)
}
