package notices

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/store/db"
)

const notificationColumns = ` id, user_id, connection, cause, generation, severity, category, title, message,
	detail, action_label, action_url, also, waits, created_at, seen_at, acknowledged_at, replaced_at, resolved_at `

func scanNotification(r db.Scanner) (n notify.Notification, err error) {
	var created, seen, acknowledged, replaced, resolved int64
	var also string
	err = r.Scan(&n.ID, &n.User, &n.Connection, &n.Cause, &n.Generation, &n.Severity, &n.Category, &n.Title,
		&n.Message, &n.Detail, &n.Action.Label, &n.Action.URL, &also, &n.Waits, &created, &seen, &acknowledged,
		&replaced, &resolved)
	if also != "" {
		n.Also = strings.Split(also, ",")
	}
	n.CreatedAt, n.SeenAt, n.AcknowledgedAt = db.Instant(created), db.Instant(seen), db.Instant(acknowledged)
	n.ReplacedAt, n.ResolvedAt = db.Instant(replaced), db.Instant(resolved)
	return n, err
}

// OpenNotification implements notify.Store. It does not open one about a credential that has been replaced. It opens a
// resolved one again when its cause returns.
func (s *Store) OpenNotification(ctx context.Context, n notify.Notification) (changes notify.Changes, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		var replaced, told bool // told: it is open as it is, so nothing has to be written
		err := tx.QueryRowContext(ctx, `SELECT
			EXISTS (SELECT 1 FROM connections WHERE user_id = $1 AND connection = $2 AND generation > $3),
			EXISTS (SELECT 1 FROM notifications WHERE user_id = $1 AND connection = $2 AND generation = $3
				AND cause = $4 AND resolved_at = 0 AND ($5 = 0 OR severity = $6))`,
			n.User, n.Connection, n.Generation, n.Cause, db.Flag(n.Instead), n.Severity).Scan(&replaced, &told)
		if err != nil || n.Generation > 0 && replaced || told {
			return err
		}
		id, err := db.NextIDs(ctx, tx, "notifications", 1)
		if err != nil {
			return err
		}
		_, shared := n.AlertOf()
		stored, err := scanNotification(tx.QueryRowContext(ctx, `INSERT INTO notifications
			(id, user_id, connection, cause, generation, severity, category, title, message, detail, action_label,
			action_url, waits, created_at, acknowledged_at, resolved_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, 0)
			ON CONFLICT (user_id, connection, cause, generation) DO UPDATE
			SET severity = excluded.severity, category = excluded.category, title = excluded.title,
				message = excluded.message, detail = excluded.detail, action_label = excluded.action_label,
				action_url = excluded.action_url, also = '', waits = excluded.waits, created_at = excluded.created_at,
				seen_at = 0, acknowledged_at = 0, replaced_at = 0, resolved_at = 0
			WHERE notifications.resolved_at > 0 OR $15 = 1 AND notifications.severity <> excluded.severity
			RETURNING`+notificationColumns,
			id, n.User, n.Connection, n.Cause, n.Generation, n.Severity, n.Category, n.Title, n.Message, n.Detail,
			n.Action.Label, n.Action.URL, db.Flag(shared), db.Millis(n.CreatedAt), db.Flag(n.Instead)))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		case shared:
			return s.settle(ctx, tx, stored, &changes)
		}
		changes.Opened = append(changes.Opened, stored)
		return s.enqueueMessages(ctx, tx, stored)
	})
	if err != nil {
		changes = notify.Changes{}
	}
	return changes, err
}

// ResolveNotifications implements notify.Store.
func (s *Store) ResolveNotifications(
	ctx context.Context, closings ...notify.Closing,
) (changes notify.Changes, err error) {
	if len(closings) == 1 && len(closings[0].Begins) > 0 { // each run asks for that, and hardly one finds any
		if some, err := s.anyOpen(ctx, closings[0]); err != nil || !some {
			return changes, err
		}
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		var closed []notify.Notification
		for _, c := range closings {
			some, err := resolve(ctx, tx, c)
			if err != nil {
				return err
			}
			for i := range some {
				some[i].MendedBy = c.MendedBy
			}
			closed = append(closed, some...)
		}
		return s.afterwards(ctx, tx, closed, &changes)
	})
	if err != nil {
		changes = notify.Changes{}
	}
	return changes, err
}

// anyOpen reports whether any notification about a connection is open.
func (s *Store) anyOpen(ctx context.Context, c notify.Closing) (some bool, err error) {
	var n int
	err = s.db.Reader.QueryRowContext(ctx, `SELECT count(*) FROM notifications
		WHERE resolved_at = 0 AND connection = $1 AND ($2 = 0 OR user_id = $2)`, c.Connection, c.User).Scan(&n)
	return n > 0, db.Explain(err)
}

// resolve resolves open notifications and returns them.
func resolve(ctx context.Context, tx *sql.Tx, c notify.Closing) ([]notify.Notification, error) {
	query := `UPDATE notifications SET resolved_at = $1
		WHERE resolved_at = 0 AND connection = $2 AND ($3 = 0 OR user_id = $3)`
	args := []any{db.Millis(time.Now()), c.Connection, c.User}
	if len(c.Begins) > 0 {
		var like []string
		for _, start := range c.Begins {
			args = append(args, start+"%")
			like = append(like, "cause LIKE $"+strconv.Itoa(len(args)))
		}
		query += " AND (" + strings.Join(like, " OR ") + ")"
	}
	switch {
	case len(c.Causes) == 0 && len(c.Begins) > 0:
	case len(c.Causes) == 0:
		query += " AND generation > 0"
	default:
		if len(c.Begins) > 0 {
			query += " AND NOT"
		} else {
			query += " AND"
		}
		query += " cause IN " + db.Numbered(len(args)+1, len(c.Causes))
		for _, cause := range c.Causes {
			args = append(args, cause)
		}
	}
	if len(c.IDs) > 0 {
		query += " AND id IN " + db.Numbered(len(args)+1, len(c.IDs))
		for _, id := range c.IDs {
			args = append(args, id)
		}
	}
	return db.List(ctx, tx, scanNotification, query+" RETURNING"+notificationColumns, args...)
}

// afterwards draws the consequences of closed notifications: what waited behind them is shown, and channels get
// messages.
func (s *Store) afterwards(
	ctx context.Context, tx *sql.Tx, closed []notify.Notification, changes *notify.Changes,
) error {
	type alert struct {
		user int64
		conn library.ConnectionID
		of   string
	}
	done := map[alert]bool{}
	for _, n := range closed {
		changes.Others = append(changes.Others, n)
		of, shared := n.AlertOf()
		which := alert{n.User, n.Connection, of}
		if shared && !done[which] {
			done[which] = true
			if err := s.settle(ctx, tx, n, changes); err != nil {
				return err
			}
		}
		if err := s.enqueueRecovery(ctx, tx, n); err != nil {
			return err
		}
	}
	return nil
}

// settle shows the alert about the connection of n that notify chooses.
func (s *Store) settle(ctx context.Context, tx *sql.Tx, n notify.Notification, changes *notify.Changes) error {
	open, err := openBeside(ctx, tx, n)
	if err != nil {
		return err
	}
	choice := notify.Choose(n, open, time.Now())
	for _, o := range choice.Replaced {
		if err := errors.Join(saveShown(ctx, tx, o), withdrawMessages(ctx, tx, o.ID)); err != nil {
			return err
		}
	}
	changes.Others = append(changes.Others, choice.Replaced...)
	if choice.Shown == nil {
		return nil
	}
	if choice.Announce {
		changes.Opened = append(changes.Opened, *choice.Shown)
	} else {
		changes.Others = append(changes.Others, *choice.Shown)
	}
	return errors.Join(saveShown(ctx, tx, *choice.Shown), s.enqueueMessages(ctx, tx, *choice.Shown))
}

// openBeside returns the open notifications about the same connection as n.
func openBeside(ctx context.Context, tx *sql.Tx, n notify.Notification) ([]notify.Notification, error) {
	return db.List(ctx, tx, scanNotification, "SELECT"+notificationColumns+`FROM notifications
		WHERE user_id = $1 AND connection = $2 AND resolved_at = 0 ORDER BY id`, n.User, n.Connection)
}

// saveShown stores which alert of a connection is shown, and since when.
func saveShown(ctx context.Context, tx *sql.Tx, n notify.Notification) error {
	return db.ExecTx(ctx, tx, `UPDATE notifications SET also = $1, waits = $2, created_at = $3, seen_at = $4,
		acknowledged_at = $5, replaced_at = $6 WHERE id = $7`, strings.Join(n.Also, ","), db.Flag(n.Waits),
		db.Millis(n.CreatedAt), db.Millis(n.SeenAt), db.Millis(n.AcknowledgedAt), db.Millis(n.ReplacedAt), n.ID)
}

// SeeNotification implements notify.Store.
func (s *Store) SeeNotification(ctx context.Context, user, id int64) (bool, error) {
	result, err := s.db.Change(ctx,
		"UPDATE notifications SET seen_at = $1 WHERE user_id = $2 AND id = $3 AND seen_at = 0",
		db.Millis(time.Now()), user, id)
	if err != nil {
		return false, db.Explain(err)
	}
	n, err := result.RowsAffected()
	return n > 0, db.Explain(err)
}

// AckNotification implements notify.Store.
func (s *Store) AckNotification(ctx context.Context, user, id int64) (bool, error) {
	acknowledged := false
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		now := db.Millis(time.Now())
		result, err := tx.ExecContext(ctx, `UPDATE notifications SET acknowledged_at = $1
			WHERE user_id = $2 AND id = $3 AND acknowledged_at = 0`, now, user, id)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if acknowledged = n > 0; err != nil || !acknowledged {
			return err
		}
		// The person has read it, so no channel needs to send it.
		return db.ExecTx(ctx, tx, `UPDATE messages SET ended_at = $1
			WHERE notification_id = $2 AND ended_at = 0 AND event = 'opened'`, now, id)
	})
	return acknowledged && err == nil, err
}

// Notifications returns a user's latest 200 notifications, or the latest 200 open ones, the newest first.
func (s *Store) Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error) {
	query := "SELECT" + notificationColumns + "FROM notifications WHERE user_id = $1 AND (waits = 0 OR replaced_at > 0)"
	if openOnly {
		query += " AND resolved_at = 0 AND waits = 0"
	}
	return db.List(ctx, s.db.Reader, scanNotification, query+" ORDER BY created_at DESC, id DESC LIMIT 200", user)
}

// Notification returns one notification of a user, or library.ErrNotFound.
func (s *Store) Notification(ctx context.Context, user, id int64) (notify.Notification, error) {
	n, err := scanNotification(s.db.Reader.QueryRowContext(ctx,
		"SELECT"+notificationColumns+"FROM notifications WHERE user_id = $1 AND id = $2", user, id))
	return n, db.Found(err)
}
