package notices

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	"reprise/internal/words"
)

// waitingMessages counts the messages that wait for a channel. It leaves out pairs of a notification that was opened
// and resolved before either message was sent.
const waitingMessages = `(SELECT count(*) FROM messages m
	WHERE m.channel_id = channels.id AND m.ended_at = 0 AND NOT EXISTS (
		SELECT 1 FROM messages o
		WHERE o.channel_id = m.channel_id AND o.notification_id = m.notification_id AND o.opened_at = m.opened_at
		AND o.event <> m.event AND o.ended_at = 0))`

// SelectChannel selects channels for [Store.ScanChannel]; a condition follows.
const SelectChannel = `SELECT id, user_id, kind, name, url, setting <> '', least, quiet_from, quiet_to, zone,
	errors_at_night, version, stopped_at, category, reason, failures, failing_since, last_sent_at, created_at, reported,
	` + waitingMessages + `
	FROM channels `

// ScanChannel reads a row of [SelectChannel], and opens its URL.
func (s *Store) ScanChannel(r db.Scanner) (c notify.Channel, err error) {
	var stopped, failing, sent, created, reported int64
	var sealed string
	err = r.Scan(&c.ID, &c.User, &c.Kind, &c.Name, &sealed, &c.FromSettings, &c.Least, &c.QuietFrom, &c.QuietTo,
		&c.Zone, &c.ErrorsAtNight, &c.Version, &stopped, &c.Category, &c.Reason, &c.Failures, &failing, &sent,
		&created, &reported, &c.Waiting)
	if err != nil {
		return c, err
	}
	c.StoppedAt, c.FailingSince = db.Instant(stopped), db.Instant(failing)
	c.LastSentAt, c.CreatedAt, c.Reported = db.Instant(sent), db.Instant(created), db.Instant(reported)
	plain, err := s.db.Key.Open(sealed, channelPlace(c.ID))
	c.URL = resilience.Secret(plain)
	return c, err
}

// channelPlace returns the place that the address of a channel is sealed for.
func channelPlace(id int64) string { return "channels.url." + strconv.FormatInt(id, 10) }

// Channels implements notify.ChannelStore.
func (s *Store) Channels(ctx context.Context, user int64) ([]notify.Channel, error) {
	return db.List(ctx, s.db.Reader, s.ScanChannel, SelectChannel+"WHERE user_id = $1 ORDER BY id", user)
}

// Channel implements notify.ChannelStore.
func (s *Store) Channel(ctx context.Context, user, id int64) (notify.Channel, error) {
	c, err := s.ScanChannel(s.db.Reader.QueryRowContext(ctx, SelectChannel+"WHERE user_id = $1 AND id = $2", user, id))
	return c, db.Found(err)
}

// AddChannel implements notify.ChannelStore.
func (s *Store) AddChannel(ctx context.Context, c notify.Channel) (notify.Channel, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		var have int
		err = tx.QueryRowContext(ctx, "SELECT count(*) FROM channels WHERE user_id = $1", c.User).Scan(&have)
		if err != nil {
			return err
		}
		if have >= notify.MostChannels && !c.FromSettings {
			return notify.ErrCrowded
		}
		c, err = s.addChannel(ctx, tx, c)
		return err
	})
	return c, err
}

func (s *Store) addChannel(ctx context.Context, tx *sql.Tx, c notify.Channel) (_ notify.Channel, err error) {
	if c.ID, err = db.NextIDs(ctx, tx, "channels", 1); err != nil {
		return c, err
	}
	setting := ""
	if c.FromSettings {
		setting = "notify.urls"
	}
	return c, db.ExecTx(ctx, tx, `INSERT INTO channels (id, user_id, kind, name, url, setting, least,
		quiet_from, quiet_to, zone, errors_at_night, last_sent_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		c.ID, c.User, c.Kind, c.Name, s.db.Key.Seal([]byte(c.URL), channelPlace(c.ID)), setting, string(c.Least),
		c.QuietFrom, c.QuietTo, c.Zone, db.Flag(c.ErrorsAtNight), db.Millis(c.LastSentAt), db.Millis(time.Now()))
}

// ChangeChannel implements notify.ChannelStore.
func (s *Store) ChangeChannel(ctx context.Context, c notify.Channel) (notify.Channel, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `UPDATE channels
			SET name = $1, url = $2, least = $3, quiet_from = $4, quiet_to = $5, zone = $6, errors_at_night = $7,
				version = version + 1, stopped_at = 0, category = '', reason = '', failures = 0, failing_since = 0
			WHERE id = $8 AND user_id = $9 RETURNING version`,
			c.Name, s.db.Key.Seal([]byte(c.URL), channelPlace(c.ID)), string(c.Least), c.QuietFrom, c.QuietTo, c.Zone,
			db.Flag(c.ErrorsAtNight), c.ID, c.User).Scan(&c.Version)
		if err != nil {
			return db.Found(err)
		}
		var waits bool
		err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM messages WHERE channel_id = $1 AND ended_at = 0)",
			c.ID).Scan(&waits)
		if err != nil || !waits {
			return err
		}
		return s.enqueueNotify(ctx, tx, c.User, c.ID, true)
	})
	return c, err
}

// RemoveChannel implements notify.ChannelStore. A running delivery to the channel ends without sending anything.
func (s *Store) RemoveChannel(ctx context.Context, user, id int64) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.Changed(tx.ExecContext(ctx, "DELETE FROM channels WHERE user_id = $1 AND id = $2", user, id))
		if err != nil {
			return err
		}
		return s.dropDeliveries(ctx, tx, user, id)
	})
}

// dropDeliveries removes the deliveries of a channel that was removed.
func (s *Store) dropDeliveries(ctx context.Context, tx *sql.Tx, user, id int64) error {
	name := delivery.ChannelName(id)
	return db.ExecTx(ctx, tx, "DELETE FROM deliveries WHERE "+outbox.OfConnection+" AND state <> 'running'", user, name)
}

// AdoptChannels implements notify.ChannelStore.
func (s *Store) AdoptChannels(ctx context.Context, all []notify.Channel) (adopted bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		var admin int64
		err := tx.QueryRowContext(ctx, "SELECT id FROM users WHERE role = $1 ORDER BY id LIMIT 1",
			accounts.Admin).Scan(&admin)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		have, err := db.List(ctx, tx, s.ScanChannel, SelectChannel+"WHERE setting <> ''")
		if err != nil {
			return err
		}
		known := map[resilience.Secret]bool{}
		named := func(url resilience.Secret) bool {
			return slices.ContainsFunc(all, func(c notify.Channel) bool { return c.URL == url })
		}
		for _, c := range have {
			if c.User == admin && named(c.URL) {
				known[c.URL] = true
				continue
			}
			closed, e := resolve(ctx, tx, notify.Closing{User: c.User, Causes: []string{notify.ChannelCause(c.ID)}})
			err = errors.Join(err, e, s.afterwards(ctx, tx, closed, &notify.Changes{}),
				db.ExecTx(ctx, tx, "DELETE FROM channels WHERE id = $1", c.ID),
				s.dropDeliveries(ctx, tx, c.User, c.ID))
		}
		for _, c := range all { // in the order of the settings
			if known[c.URL] {
				continue
			}
			known[c.URL], c.User, c.FromSettings = true, admin, true
			_, e := s.addChannel(ctx, tx, c)
			err = errors.Join(err, e)
		}
		adopted = err == nil
		return err
	})
	return adopted && err == nil, err
}

// ChannelFailed implements notify.ChannelStore.
func (s *Store) ChannelFailed(
	ctx context.Context, channel int64, category string, reason words.Text,
) (n int, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `UPDATE channels
			SET category = $1, reason = $2, failures = failures + 1,
				failing_since = CASE WHEN failing_since = 0 THEN $3 ELSE failing_since END
			WHERE id = $4 RETURNING failures`, category, reason, db.Millis(time.Now()), channel).Scan(&n)
	})
	if errors.Is(err, sql.ErrNoRows) { // removed meanwhile
		err = nil
	}
	return n, db.Explain(err)
}

// ChannelStopped implements notify.ChannelStore.
func (s *Store) ChannelStopped(
	ctx context.Context, channel, version int64, category string, reason words.Text,
) (bool, error) {
	now := db.Millis(time.Now())
	err := db.Changed(s.db.Change(ctx, `UPDATE channels
		SET stopped_at = $1, category = $2, reason = $3, failures = failures + 1,
			failing_since = CASE WHEN failing_since = 0 THEN $1 ELSE failing_since END
		WHERE id = $4 AND version = $5 AND stopped_at = 0`, now, category, reason, channel, version))
	if errors.Is(err, library.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Vapid returns the key that signs pushes to browsers. If there is none yet, it stores the one that make returns.
func (s *Store) Vapid(ctx context.Context, make func() (string, error)) (string, error) {
	const name, place = "vapid", "facts.value.vapid"
	var sealed string
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = $1", name).Scan(&sealed)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		key, err := make()
		if err != nil {
			return err
		}
		sealed = s.db.Key.Seal([]byte(key), place)
		return db.ExecTx(ctx, tx, "INSERT INTO facts (name, value) VALUES ($1, $2)", name, sealed)
	})
	if err != nil {
		return "", err
	}
	key, err := s.db.Key.Open(sealed, place)
	return string(key), err
}
