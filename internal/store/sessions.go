package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"time"

	"reprise/internal/metrics"
)

// Sessions stores the sessions of browsers for scs. It stores only fingerprints of their tokens.
type Sessions struct{ s *Store }

// Sessions returns the session store over this database.
func (s *Store) Sessions() Sessions { return Sessions{s} }

// FindCtx implements scs.CtxStore.
func (t Sessions) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	var data string
	err := t.s.reader.QueryRowContext(ctx, "SELECT data FROM sessions WHERE id = $1 AND expires_at > $2",
		fingerprint(token), millis(time.Now())).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, local(err)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	return b, err == nil, err
}

// CommitCtx implements scs.CtxStore.
func (t Sessions) CommitCtx(ctx context.Context, token string, b []byte, expiry time.Time) error {
	return t.s.exec(ctx, `INSERT INTO sessions (id, data, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`,
		fingerprint(token), base64.StdEncoding.EncodeToString(b), millis(expiry))
}

// DeleteCtx implements scs.CtxStore.
func (t Sessions) DeleteCtx(ctx context.Context, token string) error {
	return t.s.exec(ctx, "DELETE FROM sessions WHERE id = $1", fingerprint(token))
}

// Find implements scs.Store.
func (t Sessions) Find(token string) ([]byte, bool, error) {
	return t.FindCtx(context.Background(), token)
}

// Commit implements scs.Store.
func (t Sessions) Commit(token string, b []byte, expiry time.Time) error {
	return t.CommitCtx(context.Background(), token, b, expiry)
}

// Delete implements scs.Store.
func (t Sessions) Delete(token string) error { return t.DeleteCtx(context.Background(), token) }

// Tidy deletes what has expired: sessions, links, authorization requests, pending connections, holds, cooldowns, and
// old runs, quarters, messages and entries of the log of activity.
func (s *Store) Tidy(ctx context.Context) error {
	now := time.Now()
	return errors.Join(
		s.exec(ctx, "DELETE FROM sessions WHERE expires_at <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM links WHERE expires_at <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM oauth_states WHERE created_at <= $1", millis(now.Add(-time.Hour))),
		s.exec(ctx, "DELETE FROM pending_connections WHERE created_at <= $1", millis(now.Add(-24*time.Hour))),
		s.exec(ctx, "DELETE FROM holds WHERE until <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM key_cooldowns WHERE until <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM runs WHERE started_at <= $1", millis(now.Add(-keepRuns))),
		s.exec(ctx, "DELETE FROM quarters WHERE start_at <= $1", millis(now.Add(-metrics.KeepQuarters))),
		s.tidyActivity(ctx, now),
		s.exec(ctx, `DELETE FROM messages WHERE ended_at > 0 AND ended_at <= $1 AND NOT EXISTS
			(SELECT 1 FROM notifications n WHERE n.id = messages.notification_id AND n.resolved_at = 0)`,
			millis(now.AddDate(0, 0, -30))),
	)
}
