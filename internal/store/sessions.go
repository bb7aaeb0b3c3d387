package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"time"

	"reprise/internal/accounts"
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

// Update stores the data of a session that began earlier. It does nothing if the session has ended meanwhile.
func (t Sessions) Update(ctx context.Context, token string, b []byte, expiry time.Time) error {
	return t.s.exec(ctx, "UPDATE sessions SET data = $1, expires_at = $2 WHERE id = $3",
		base64.StdEncoding.EncodeToString(b), millis(expiry), fingerprint(token))
}

// Use stores who uses a session, from where and when. If the user has more than most sessions, those that were not used
// for longest end; 0 for no bound.
func (t Sessions) Use(ctx context.Context, token string, user int64, use accounts.Session, most int) error {
	return t.s.write(ctx, func(tx *sql.Tx) error {
		err := execTx(ctx, tx, `UPDATE sessions SET user_id = $1, agent = $2, address = $3, signed_in_at = $4,
			seen_at = $5 WHERE id = $6`, user, use.Agent, use.Address, millis(use.SignedInAt), millis(use.UsedAt),
			fingerprint(token))
		if err != nil || most == 0 {
			return err
		}
		return execTx(ctx, tx, `DELETE FROM sessions WHERE user_id = $1 AND id NOT IN
			(SELECT id FROM sessions WHERE user_id = $1 ORDER BY seen_at DESC, id LIMIT $2)`, user, most)
	})
}

// sessionID is how many characters of a fingerprint name a session to its owner.
const sessionID = 16

// Of returns the sessions of a user, the latest sign-in first.
func (t Sessions) Of(ctx context.Context, user int64) ([]accounts.Session, error) {
	scan := func(r scanner) (v accounts.Session, err error) {
		var in, used int64
		err = r.Scan(&v.ID, &v.Agent, &v.Address, &in, &used)
		v.SignedInAt, v.UsedAt = instant(in), instant(used)
		return v, err
	}
	return list(ctx, t.s.reader, scan, `SELECT substr(id, 1, $1), agent, address, signed_in_at, seen_at FROM sessions
		WHERE user_id = $2 AND expires_at > $3 ORDER BY signed_in_at DESC, id`, sessionID, user, millis(time.Now()))
}

// End ends a session of a user by its ID, or returns library.ErrNotFound.
func (t Sessions) End(ctx context.Context, user int64, id string) error {
	return changed(t.s.writer.ExecContext(ctx, "DELETE FROM sessions WHERE user_id = $1 AND substr(id, 1, $2) = $3",
		user, sessionID, id))
}

// EndOthers ends all sessions of a user but that of a token, and returns their number. Sessions that began before an
// upgrade and were not used since end, too: it is not known whose they are.
func (t Sessions) EndOthers(ctx context.Context, user int64, token string) (n int, err error) {
	err = t.s.write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE user_id = $1 AND id <> $2", user,
			fingerprint(token))
		if err != nil {
			return err
		}
		ended, err := result.RowsAffected()
		n = int(ended)
		return errors.Join(err,
			execTx(ctx, tx, "DELETE FROM sessions WHERE user_id = 0 AND id <> $1", fingerprint(token)))
	})
	return n, err
}

// EndAll ends all sessions of a user, and returns their number.
func (t Sessions) EndAll(ctx context.Context, user int64) (int, error) {
	result, err := t.s.writer.ExecContext(ctx, "DELETE FROM sessions WHERE user_id = $1", user)
	if err != nil {
		return 0, local(err)
	}
	n, err := result.RowsAffected()
	return int(n), local(err)
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

// Tidy deletes what has expired: sessions, links, answers of calls, authorization requests, pending connections, holds,
// cooldowns, old runs, quarters, messages, entries of the log of activity, and what was sent and has been counted.
func (s *Store) Tidy(ctx context.Context) error {
	now := time.Now()
	return errors.Join(
		s.exec(ctx, "DELETE FROM sessions WHERE expires_at <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM links WHERE expires_at <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM oauth_states WHERE created_at <= $1", millis(now.Add(-time.Hour))),
		s.exec(ctx, "DELETE FROM answers WHERE kept_at <= $1", millis(now.Add(-answerLife))),
		s.exec(ctx, "DELETE FROM pending_connections WHERE created_at <= $1", millis(now.Add(-24*time.Hour))),
		s.exec(ctx, "DELETE FROM holds WHERE until <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM key_cooldowns WHERE until <= $1", millis(now)),
		s.exec(ctx, "DELETE FROM runs WHERE started_at <= $1", millis(now.Add(-keepRuns))),
		s.exec(ctx, "DELETE FROM quarters WHERE start_at <= $1", millis(now.Add(-metrics.KeepQuarters))),
		s.tidyActivity(ctx, now),
		s.forgetSendings(ctx, now.Add(-longSent)),
		s.exec(ctx, "DELETE FROM videos WHERE id NOT IN (SELECT source_id FROM playlist_tracks) AND checked_at <= $1",
			millis(now.AddDate(0, 0, -7))),
		s.exec(ctx, `DELETE FROM messages WHERE ended_at > 0 AND ended_at <= $1 AND NOT EXISTS
			(SELECT 1 FROM notifications n WHERE n.id = messages.notification_id AND n.resolved_at = 0)`,
			millis(now.AddDate(0, 0, -30))),
	)
}
