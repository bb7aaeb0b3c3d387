package store

import (
	"context"
	"errors"
	"time"

	"reprise/internal/metrics"
	"reprise/internal/store/db"
	"reprise/internal/store/runs"
	"reprise/internal/store/sendings"
	"reprise/internal/store/settings"
)

// Tidy deletes what has expired: sessions, grants, tries, links, comparisons, answers of calls, authorization requests,
// pending connections, holds, cooldowns, old runs, quarters, messages, entries of the log of activity, and what was
// sent and has been counted.
func (s *Store) Tidy(ctx context.Context) error {
	now := time.Now()
	return errors.Join(
		s.Exec(ctx, "DELETE FROM sessions WHERE expires_at <= $1", db.Millis(now)),
		s.Exec(ctx, `DELETE FROM grants WHERE asked_at <= $1 AND NOT EXISTS
			(SELECT 1 FROM sessions s WHERE s.grant_id = grants.id)`, db.Millis(now.Add(-2*time.Hour))),
		s.Exec(ctx, "DELETE FROM tries WHERE forgets_at <= $1", db.Millis(now.Add(-time.Hour))), // unused
		s.Exec(ctx, "DELETE FROM links WHERE expires_at <= $1", db.Millis(now)),
		s.Exec(ctx, "DELETE FROM shares WHERE expires_at BETWEEN 1 AND $1", db.Millis(now.AddDate(0, 0, -30))),
		s.Exec(ctx, "UPDATE comparisons SET document = '' WHERE expires_at BETWEEN 1 AND $1 AND document <> ''",
			db.Millis(now)),
		s.Exec(ctx, "DELETE FROM oauth_states WHERE created_at <= $1", db.Millis(now.Add(-time.Hour))),
		s.Exec(ctx, "DELETE FROM answers WHERE kept_at <= $1", db.Millis(now.Add(-settings.AnswerLife))),
		s.Exec(ctx, "DELETE FROM pending_connections WHERE created_at <= $1", db.Millis(now.Add(-24*time.Hour))),
		s.Exec(ctx, "DELETE FROM holds WHERE until <= $1", db.Millis(now)),
		s.Exec(ctx, "DELETE FROM key_cooldowns WHERE until <= $1", db.Millis(now)),
		s.Exec(ctx, "DELETE FROM runs WHERE started_at <= $1", db.Millis(now.Add(-runs.KeepRuns))),
		s.Exec(ctx, "DELETE FROM quarters WHERE start_at <= $1", db.Millis(now.Add(-metrics.KeepQuarters))),
		s.TidyActivity(ctx, now),
		s.ForgetSendings(ctx, now.Add(-sendings.LongSent)),
		s.Exec(ctx, "DELETE FROM videos WHERE id NOT IN (SELECT source_id FROM playlist_tracks) AND checked_at <= $1",
			db.Millis(now.AddDate(0, 0, -7))),
		s.Exec(ctx, `DELETE FROM messages WHERE ended_at > 0 AND ended_at <= $1 AND NOT EXISTS
			(SELECT 1 FROM notifications n WHERE n.id = messages.notification_id AND n.resolved_at = 0)`,
			db.Millis(now.AddDate(0, 0, -30))),
	)
}
