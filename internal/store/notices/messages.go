package notices

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/notify"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
)

// gatherFor is how long a channel waits for more messages to send together.
const gatherFor = 2 * time.Second

// enqueueMessages enqueues a message about a notification that was just opened for each channel of its person that
// wants it, except the channel that the notification is about.
func (s *Store) enqueueMessages(ctx context.Context, tx *sql.Tx, n notify.Notification) error {
	type row struct {
		id    int64
		least notify.Severity
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.id, &v.least) }
	all, err := db.List(ctx, tx, scan, "SELECT id, least FROM channels WHERE user_id = $1 ORDER BY id", n.User)
	for _, c := range all {
		if err == nil && n.Severity.AtLeast(c.least) && n.Cause != notify.ChannelCause(c.id) {
			err = s.EnqueueMessage(ctx, tx, c.id, n, notify.Opened)
		}
	}
	return err
}

// withdrawMessages drops the messages about a notification that were not sent before another took its place.
func withdrawMessages(ctx context.Context, tx *sql.Tx, notification int64) error {
	return db.ExecTx(ctx, tx, `DELETE FROM messages
		WHERE notification_id = $1 AND event = 'opened' AND ended_at = 0`, notification)
}

// told is a message by which a channel has told, or is to tell, that something happened.
type told struct {
	channel, notification int64
	opened                int64
	severity              notify.Severity
	cause                 string
	sent                  bool
}

// enqueueRecovery enqueues a message that a notification is resolved, for the channels that sent it or are to send it.
// A connection recovers once, when nothing is wrong with it any more: however many alerts about it a channel has sent,
// it tells of one recovery, which began with the first of them.
func (s *Store) enqueueRecovery(ctx context.Context, tx *sql.Tx, n notify.Notification) error {
	of, shared := n.AlertOf()
	whole := shared && n.Trouble()
	if whole {
		open, err := openBeside(ctx, tx, n)
		if err != nil || slices.ContainsFunc(n.Like(open), notify.Notification.Trouble) {
			return err
		}
	}
	scan := func(r db.Scanner) (v told, err error) {
		return v, r.Scan(&v.channel, &v.notification, &v.opened, &v.severity, &v.cause, &v.sent)
	}
	all, err := db.List(ctx, tx, scan,
		`SELECT channel_id, notification_id, opened_at, severity, cause, sent FROM messages
		WHERE channel_id IN (SELECT id FROM channels WHERE user_id = $1) AND connection = $2 AND event = 'opened'
			AND answered = 0 AND (sent = 1 OR ended_at = 0)
		ORDER BY channel_id, sent DESC, opened_at, id`, n.User, n.Connection)
	if err != nil {
		return err
	}
	channel := int64(0)
	for _, t := range all {
		about, _ := notify.Notification{User: n.User, Connection: n.Connection, Cause: t.cause}.AlertOf()
		if whole && (about != of || !notify.IsTrouble(t.severity, t.cause)) || !whole && t.notification != n.ID {
			continue
		}
		first := t.channel != channel
		channel = t.channel
		if err := s.answer(ctx, tx, n, t, first && n.MendedBy != n.User); err != nil {
			return err
		}
	}
	return nil
}

// answer ends a message, whose cause is over, and enqueues one that says so.
func (s *Store) answer(ctx context.Context, tx *sql.Tx, n notify.Notification, t told, say bool) error {
	const which = " WHERE channel_id = $1 AND notification_id = $2 AND opened_at = $3 AND event = 'opened'"
	err := db.ExecTx(ctx, tx, "UPDATE messages SET answered = 1"+which, t.channel, t.notification, t.opened)
	if err == nil && !t.sent && !say {
		err = db.ExecTx(ctx, tx, "UPDATE messages SET ended_at = $4"+which+" AND ended_at = 0", t.channel,
			t.notification,
			t.opened, db.Millis(time.Now()))
	}
	if err != nil || !say {
		return err
	}
	n.ID, n.CreatedAt = t.notification, db.Instant(t.opened)
	if n.Connection != "" {
		n.Action.URL = "/connections/" + string(n.Connection)
	}
	return s.EnqueueMessage(ctx, tx, t.channel, n, notify.Resolved)
}

// EnqueueMessage enqueues a message about a notification for a channel, unless that was done before. A notification
// without an id is for another event, such as a report, and is identified by its time.
func (s *Store) EnqueueMessage(ctx context.Context, tx *sql.Tx, channel int64, n notify.Notification,
	event notify.Event) error {
	id, err := db.NextIDs(ctx, tx, "messages", 1)
	if err != nil {
		return err
	}
	err = db.ExecTx(ctx, tx, `INSERT INTO messages
		(id, channel_id, notification_id, opened_at, event, severity, connection, cause, category,
		title, message, action_url, resolved_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (channel_id, notification_id, opened_at, event) DO NOTHING`,
		id, channel, n.ID, db.Millis(n.CreatedAt), string(event), string(n.Severity), n.Connection, n.Cause, n.Category,
		n.Title, n.Says(), n.Action.URL, db.Millis(n.ResolvedAt), db.Millis(time.Now()))
	if err != nil {
		return err
	}
	return s.enqueueNotify(ctx, tx, n.User, channel, false)
}

// enqueueNotify enqueues the delivery of a channel's messages. A delivery that is scheduled for later becomes due after
// gatherFor. One that is parked or waits after a failure does so only with released.
func (s *Store) enqueueNotify(ctx context.Context, tx *sql.Tx, user, channel int64, released bool) error {
	d := delivery.Messages(user, channel)
	d.Due = time.Now().Add(gatherFor)
	id, err := s.outbox.Insert(ctx, tx, d)
	if err != nil {
		return err
	}
	allowed := "state = 'scheduled'"
	if released {
		allowed = "state IN ('scheduled', 'retrying', 'parked')"
	}
	s.outbox.Jobs.Look(delivery.Send{}.Kind())
	return db.ExecTx(ctx, tx,
		"UPDATE deliveries SET state = "+outbox.Waiting+", due_at = $1 WHERE id = $2 AND "+allowed+
			" AND (due_at > $1 OR state = 'parked')", db.Millis(d.Due), id)
}

// WaitingMessages implements notify.ChannelStore.
func (s *Store) WaitingMessages(ctx context.Context, channel int64) (all []notify.Waiting, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		now := db.Millis(time.Now())
		same := `o.channel_id = messages.channel_id AND o.notification_id = messages.notification_id
			AND o.opened_at = messages.opened_at`
		err := errors.Join( // a notification that was resolved before it was sent causes no message at all
			db.ExecTx(ctx, tx, `UPDATE messages SET ended_at = $1
				WHERE event = 'opened' AND ended_at = 0 AND channel_id = $2
				AND EXISTS (SELECT 1 FROM messages o WHERE `+same+` AND o.event = 'resolved')`, now, channel),
			db.ExecTx(ctx, tx, `UPDATE messages SET ended_at = $1
				WHERE event = 'resolved' AND ended_at = 0 AND channel_id = $2
				AND NOT EXISTS (SELECT 1 FROM messages o WHERE `+same+` AND o.event = 'opened' AND o.sent = 1)`,
				now, channel))
		if err != nil {
			return err
		}
		all, err = db.List(ctx, tx, scanWaiting,
			`SELECT id, notification_id, event, severity, connection, cause, category,
				title, message, action_url, opened_at, resolved_at, created_at,
				COALESCE((SELECT c.name FROM connections c JOIN channels h ON h.user_id = c.user_id
					WHERE h.id = messages.channel_id AND c.connection = messages.connection), '')
			FROM messages WHERE channel_id = $1 AND ended_at = 0 ORDER BY id`, channel)
		for i := range all {
			if err == nil && all[i].Event == notify.Resolved {
				err = caughtUp(ctx, tx, channel, &all[i])
			}
		}
		return err
	})
	return all, err
}

func scanWaiting(r db.Scanner) (w notify.Waiting, err error) {
	var opened, resolved, created int64
	err = r.Scan(&w.ID, &w.Notification, &w.Event, &w.Severity, &w.Connection, &w.Cause, &w.Category, &w.Title,
		&w.Message, &w.ActionURL, &opened, &resolved, &created, &w.Name)
	w.OpenedAt, w.ResolvedAt, w.CreatedAt = db.Instant(opened), db.Instant(resolved), db.Instant(created)
	return w, err
}

// Sendings implements notify.ChannelStore.
func (s *Store) Sendings(ctx context.Context, channel int64, since time.Time) ([]time.Time, error) {
	scan := func(r db.Scanner) (at time.Time, err error) {
		var ms int64
		err = r.Scan(&ms)
		return db.Instant(ms), err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT DISTINCT ended_at FROM messages
		WHERE channel_id = $1 AND sent = 1 AND ended_at > $2 ORDER BY ended_at`, channel, db.Millis(since))
}

// MessagesSent implements notify.ChannelStore.
func (s *Store) MessagesSent(ctx context.Context, channel int64, messages []int64) (recovered bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		now := db.Millis(time.Now())
		err := tx.QueryRowContext(ctx, `SELECT failures > 0 OR EXISTS (SELECT 1 FROM notifications n
			WHERE n.user_id = channels.user_id AND n.connection = '' AND n.cause = $2 AND n.resolved_at = 0)
			FROM channels WHERE id = $1`, channel, notify.ChannelCause(channel)).Scan(&recovered)
		if errors.Is(err, sql.ErrNoRows) { // removed meanwhile
			return nil
		}
		return errors.Join(err, endMessages(ctx, tx, channel, messages, now, true),
			db.ExecTx(ctx, tx, `UPDATE channels SET last_sent_at = $1, failures = 0, failing_since = 0, category = '',
				reason = '' WHERE id = $2`, now, channel))
	})
	return recovered, err
}

// MessagesDropped implements notify.ChannelStore.
func (s *Store) MessagesDropped(ctx context.Context, channel int64, messages []int64) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return endMessages(ctx, tx, channel, messages, db.Millis(time.Now()), false)
	})
}

func endMessages(ctx context.Context, tx *sql.Tx, channel int64, messages []int64, at int64, sent bool) error {
	var errs []error
	for _, id := range messages {
		errs = append(errs,
			db.ExecTx(ctx, tx, "UPDATE messages SET ended_at = $1, sent = $2 WHERE id = $3 AND channel_id = $4",
				at, db.Flag(sent), id, channel))
	}
	return errors.Join(errs...)
}

// EndMessages implements delivery.Store. It is one transaction, so that it misses no message.
func (s *Store) EndMessages(ctx context.Context, id, channel, seen int64, done bool) (ended bool, err error) {
	return s.unlessNewer(ctx, channel, seen, func(tx *sql.Tx) error { return outbox.EndNow(ctx, tx, id, done) })
}

// DeferMessages implements delivery.Store.
func (s *Store) DeferMessages(
	ctx context.Context, id, channel, seen int64, until time.Time,
) (deferred bool, err error) {
	return s.unlessNewer(ctx, channel, seen, func(tx *sql.Tx) error {
		return db.ExecTx(ctx, tx, `UPDATE deliveries SET attempts = attempts - 1, due_at = $1,
			state = CASE WHEN attempts > 1 THEN 'retrying' ELSE 'scheduled' END WHERE id = $2 AND state = 'running'`,
			outbox.DueMillis(until), id)
	})
}

// unlessNewer calls then, unless a message with an id above seen waits for the channel, in one transaction. It reports
// whether it called then.
func (s *Store) unlessNewer(
	ctx context.Context, channel, seen int64, then func(*sql.Tx) error,
) (did bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		var newer int
		err := tx.QueryRowContext(ctx,
			"SELECT count(*) FROM messages WHERE channel_id = $1 AND ended_at = 0 AND id > $2",
			channel, seen).Scan(&newer)
		if did = newer == 0; err != nil || !did {
			return err
		}
		return then(tx)
	})
	return did && err == nil, err
}

// ReleaseChannels implements delivery.Store.
func (s *Store) ReleaseChannels(ctx context.Context) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := s.outbox.BecomeDue(ctx, tx, outbox.Released, outbox.IsParked+` AND d.kind = 'notify' AND EXISTS
			(SELECT 1 FROM channels c WHERE c.user_id = d.user_id AND CAST(c.id AS TEXT) = d.ref AND c.stopped_at = 0)`)
		return err
	})
}
