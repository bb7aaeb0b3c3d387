package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
)

const notificationColumns = ` id, user_id, connection, cause, generation, severity, category, title, message,
	detail, action_label, action_url, created_at, acknowledged_at, resolved_at `

func scanNotification(r scanner) (n notify.Notification, err error) {
	var created, acknowledged, resolved int64
	err = r.Scan(&n.ID, &n.User, &n.Connection, &n.Cause, &n.Generation, &n.Severity, &n.Category, &n.Title,
		&n.Message, &n.Detail, &n.Action.Label, &n.Action.URL, &created, &acknowledged, &resolved)
	n.CreatedAt, n.AcknowledgedAt, n.ResolvedAt = instant(created), instant(acknowledged), instant(resolved)
	return n, err
}

// OpenNotification implements notify.Store. It does not open one about a credential that has been replaced. It opens a
// resolved one again when its cause returns.
func (s *Store) OpenNotification(
	ctx context.Context, n notify.Notification,
) (stored notify.Notification, opened bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		var replaced bool
		err := tx.QueryRowContext(ctx,
			"SELECT EXISTS (SELECT 1 FROM connections WHERE user_id = $1 AND connection = $2 AND generation > $3)",
			n.User, n.Connection, n.Generation).Scan(&replaced)
		if err != nil || n.Generation > 0 && replaced {
			return err
		}
		id, err := nextIDs(ctx, tx, "notifications", 1)
		if err != nil {
			return err
		}
		stored, err = scanNotification(tx.QueryRowContext(ctx, `INSERT INTO notifications
			(id, user_id, connection, cause, generation, severity, category, title, message, detail, action_label,
			action_url, created_at, acknowledged_at, resolved_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, 0)
			ON CONFLICT (user_id, connection, cause, generation) DO UPDATE
			SET severity = excluded.severity, category = excluded.category, title = excluded.title,
				message = excluded.message, detail = excluded.detail, action_label = excluded.action_label,
				action_url = excluded.action_url, created_at = excluded.created_at, acknowledged_at = 0,
				resolved_at = 0
			WHERE notifications.resolved_at > 0 OR $14 = 1 AND notifications.severity <> excluded.severity
			RETURNING`+notificationColumns,
			id, n.User, n.Connection, n.Cause, n.Generation, n.Severity, n.Category, n.Title, n.Message, n.Detail,
			n.Action.Label, n.Action.URL, millis(n.CreatedAt), flag(n.Instead)))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		opened = true
		return s.enqueueMessages(ctx, tx, stored)
	})
	return stored, opened, err
}

// ResolveNotifications implements notify.Store.
func (s *Store) ResolveNotifications(ctx context.Context, user int64, conn library.ConnectionID,
	causes ...string) ([]notify.Notification, error) {
	query := resolveOpen
	args := []any{millis(time.Now()), conn, user}
	if len(causes) == 0 {
		query += " AND generation > 0"
	} else {
		query += " AND cause IN " + numbered(4, len(causes))
		for _, c := range causes {
			args = append(args, c)
		}
	}
	var closed []notify.Notification
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		closed, err = s.resolve(ctx, tx, query, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return closed, nil
}

// resolveOpen resolves the open notifications of connection $2 of user $3 at time $1. User 0 selects all users.
const resolveOpen = `UPDATE notifications SET resolved_at = $1
	WHERE resolved_at = 0 AND connection = $2 AND ($3 = 0 OR user_id = $3)`

func (s *Store) resolve(ctx context.Context, tx *sql.Tx, query string, args ...any) ([]notify.Notification, error) {
	closed, err := list(ctx, tx, scanNotification, query+" RETURNING"+notificationColumns, args...)
	for _, n := range closed {
		err = errors.Join(err, s.enqueueRecovery(ctx, tx, n))
	}
	return closed, err
}

// AckNotification implements notify.Store.
func (s *Store) AckNotification(ctx context.Context, user, id int64) (bool, error) {
	acknowledged := false
	err := s.write(ctx, func(tx *sql.Tx) error {
		now := millis(time.Now())
		result, err := tx.ExecContext(ctx, `UPDATE notifications SET acknowledged_at = $1
			WHERE user_id = $2 AND id = $3 AND acknowledged_at = 0`, now, user, id)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if acknowledged = n > 0; err != nil || !acknowledged {
			return err
		}
		// The person has seen it, so no channel needs to send it.
		return execTx(ctx, tx, `UPDATE messages SET ended_at = $1
			WHERE notification_id = $2 AND ended_at = 0 AND event = 'opened'`, now, id)
	})
	return acknowledged && err == nil, err
}

// Notifications returns a user's latest 200 notifications, or the latest 200 open ones, the newest first.
func (s *Store) Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error) {
	query := "SELECT" + notificationColumns + "FROM notifications WHERE user_id = $1"
	if openOnly {
		query += " AND resolved_at = 0"
	}
	return list(ctx, s.reader, scanNotification, query+" ORDER BY created_at DESC, id DESC LIMIT 200", user)
}

// Notification returns one notification of a user, or library.ErrNotFound.
func (s *Store) Notification(ctx context.Context, user, id int64) (notify.Notification, error) {
	n, err := scanNotification(s.reader.QueryRowContext(ctx,
		"SELECT"+notificationColumns+"FROM notifications WHERE user_id = $1 AND id = $2", user, id))
	return n, found(err)
}
