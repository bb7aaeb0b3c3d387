package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/notify"
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
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.id, &v.least) }
	all, err := list(ctx, tx, scan, "SELECT id, least FROM channels WHERE user_id = $1 ORDER BY id", n.User)
	for _, c := range all {
		if err == nil && n.Severity.AtLeast(c.least) && n.Cause != notify.ChannelCause(c.id) {
			err = s.enqueueMessage(ctx, tx, c.id, n, notify.Opened)
		}
	}
	return err
}

// withdrawMessages drops the messages about a notification that were not sent before another took its place.
func withdrawMessages(ctx context.Context, tx *sql.Tx, notification int64) error {
	return execTx(ctx, tx, `DELETE FROM messages
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
	scan := func(r scanner) (v told, err error) {
		return v, r.Scan(&v.channel, &v.notification, &v.opened, &v.severity, &v.cause, &v.sent)
	}
	all, err := list(ctx, tx, scan, `SELECT channel_id, notification_id, opened_at, severity, cause, sent FROM messages
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
	err := execTx(ctx, tx, "UPDATE messages SET answered = 1"+which, t.channel, t.notification, t.opened)
	if err == nil && !t.sent && !say {
		err = execTx(ctx, tx, "UPDATE messages SET ended_at = $4"+which+" AND ended_at = 0", t.channel, t.notification,
			t.opened, millis(time.Now()))
	}
	if err != nil || !say {
		return err
	}
	n.ID, n.CreatedAt = t.notification, instant(t.opened)
	if n.Connection != "" {
		n.Action.URL = "/connections/" + string(n.Connection)
	}
	return s.enqueueMessage(ctx, tx, t.channel, n, notify.Resolved)
}

func (s *Store) enqueueMessage(ctx context.Context, tx *sql.Tx, channel int64, n notify.Notification,
	event notify.Event) error {
	id, err := nextIDs(ctx, tx, "messages", 1)
	if err != nil {
		return err
	}
	err = execTx(ctx, tx, `INSERT INTO messages
		(id, channel_id, notification_id, opened_at, event, severity, connection, cause, category,
		title, message, action_url, resolved_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (channel_id, notification_id, opened_at, event) DO NOTHING`,
		id, channel, n.ID, millis(n.CreatedAt), string(event), string(n.Severity), n.Connection, n.Cause, n.Category,
		n.Title, n.Says(), n.Action.URL, millis(n.ResolvedAt), millis(time.Now()))
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
	id, err := s.enqueue(ctx, tx, d)
	if err != nil {
		return err
	}
	allowed := "state = 'scheduled'"
	if released {
		allowed = "state IN ('scheduled', 'retrying', 'parked')"
	}
	s.jobs.Look()
	return execTx(ctx, tx, "UPDATE deliveries SET state = "+waiting+", due_at = $1 WHERE id = $2 AND "+allowed+
		" AND (due_at > $1 OR state = 'parked')", millis(d.Due), id)
}

// WaitingMessages implements notify.ChannelStore.
func (s *Store) WaitingMessages(ctx context.Context, channel int64) (all []notify.Waiting, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		now := millis(time.Now())
		same := `o.channel_id = messages.channel_id AND o.notification_id = messages.notification_id
			AND o.opened_at = messages.opened_at`
		err := errors.Join( // a notification that was resolved before it was sent causes no message at all
			execTx(ctx, tx, `UPDATE messages SET ended_at = $1
				WHERE event = 'opened' AND ended_at = 0 AND channel_id = $2
				AND EXISTS (SELECT 1 FROM messages o WHERE `+same+` AND o.event = 'resolved')`, now, channel),
			execTx(ctx, tx, `UPDATE messages SET ended_at = $1
				WHERE event = 'resolved' AND ended_at = 0 AND channel_id = $2
				AND NOT EXISTS (SELECT 1 FROM messages o WHERE `+same+` AND o.event = 'opened' AND o.sent = 1)`,
				now, channel))
		if err != nil {
			return err
		}
		all, err = list(ctx, tx, scanWaiting, `SELECT id, notification_id, event, severity, connection, cause, category,
				title, message, action_url, opened_at, resolved_at, created_at,
				COALESCE((SELECT c.name FROM connections c JOIN channels h ON h.user_id = c.user_id
					WHERE h.id = messages.channel_id AND c.connection = messages.connection), '')
			FROM messages WHERE channel_id = $1 AND ended_at = 0 ORDER BY id`, channel)
		for i := range all {
			if err == nil && all[i].Event == notify.Resolved {
				err = s.caughtUp(ctx, tx, channel, &all[i])
			}
		}
		return err
	})
	return all, err
}

func scanWaiting(r scanner) (w notify.Waiting, err error) {
	var opened, resolved, created int64
	err = r.Scan(&w.ID, &w.Notification, &w.Event, &w.Severity, &w.Connection, &w.Cause, &w.Category, &w.Title,
		&w.Message, &w.ActionURL, &opened, &resolved, &created, &w.Name)
	w.OpenedAt, w.ResolvedAt, w.CreatedAt = instant(opened), instant(resolved), instant(created)
	return w, err
}

// Sendings implements notify.ChannelStore.
func (s *Store) Sendings(ctx context.Context, channel int64, since time.Time) ([]time.Time, error) {
	scan := func(r scanner) (at time.Time, err error) {
		var ms int64
		err = r.Scan(&ms)
		return instant(ms), err
	}
	return list(ctx, s.reader, scan, `SELECT DISTINCT ended_at FROM messages
		WHERE channel_id = $1 AND sent = 1 AND ended_at > $2 ORDER BY ended_at`, channel, millis(since))
}

// MessagesSent implements notify.ChannelStore.
func (s *Store) MessagesSent(ctx context.Context, channel int64, messages []int64) (recovered bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		now := millis(time.Now())
		err := tx.QueryRowContext(ctx, `SELECT failures > 0 OR EXISTS (SELECT 1 FROM notifications n
			WHERE n.user_id = channels.user_id AND n.connection = '' AND n.cause = $2 AND n.resolved_at = 0)
			FROM channels WHERE id = $1`, channel, notify.ChannelCause(channel)).Scan(&recovered)
		if errors.Is(err, sql.ErrNoRows) { // removed meanwhile
			return nil
		}
		return errors.Join(err, endMessages(ctx, tx, channel, messages, now, true),
			execTx(ctx, tx, `UPDATE channels SET last_sent_at = $1, failures = 0, failing_since = 0, category = '',
				reason = '' WHERE id = $2`, now, channel))
	})
	return recovered, err
}

// MessagesDropped implements notify.ChannelStore.
func (s *Store) MessagesDropped(ctx context.Context, channel int64, messages []int64) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		return endMessages(ctx, tx, channel, messages, millis(time.Now()), false)
	})
}

func endMessages(ctx context.Context, tx *sql.Tx, channel int64, messages []int64, at int64, sent bool) error {
	var errs []error
	for _, id := range messages {
		errs = append(errs,
			execTx(ctx, tx, "UPDATE messages SET ended_at = $1, sent = $2 WHERE id = $3 AND channel_id = $4",
				at, flag(sent), id, channel))
	}
	return errors.Join(errs...)
}

// dropMessages ends the waiting messages of a delivery's channel, because the delivery is removed.
func dropMessages(ctx context.Context, tx *sql.Tx, id int64) error {
	return execTx(ctx, tx, `UPDATE messages SET ended_at = $1 WHERE ended_at = 0 AND channel_id IN
		(SELECT c.id FROM deliveries d JOIN channels c ON c.user_id = d.user_id AND CAST(c.id AS TEXT) = d.ref
		WHERE d.id = $2 AND d.kind = $3)`, millis(time.Now()), id, delivery.Notify)
}

// EndMessages implements delivery.Store. It is one transaction, so that it misses no message.
func (s *Store) EndMessages(ctx context.Context, id, channel, seen int64, done bool) (ended bool, err error) {
	return s.unlessNewer(ctx, channel, seen, func(tx *sql.Tx) error { return endNow(ctx, tx, id, done) })
}

// DeferMessages implements delivery.Store.
func (s *Store) DeferMessages(
	ctx context.Context, id, channel, seen int64, until time.Time,
) (deferred bool, err error) {
	return s.unlessNewer(ctx, channel, seen, func(tx *sql.Tx) error {
		return execTx(ctx, tx, `UPDATE deliveries SET attempts = attempts - 1, due_at = $1,
			state = CASE WHEN attempts > 1 THEN 'retrying' ELSE 'scheduled' END WHERE id = $2 AND state = 'running'`,
			dueMillis(until), id)
	})
}

// unlessNewer calls then, unless a message with an id above seen waits for the channel, in one transaction. It reports
// whether it called then.
func (s *Store) unlessNewer(
	ctx context.Context, channel, seen int64, then func(*sql.Tx) error,
) (did bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
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
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := s.becomeDue(ctx, tx, released, isParked+` AND d.kind = 'notify' AND EXISTS
			(SELECT 1 FROM channels c WHERE c.user_id = d.user_id AND CAST(c.id AS TEXT) = d.ref AND c.stopped_at = 0)`)
		return err
	})
}
