// Package reports stores which channels get a weekly report, and the latest week whose report was due.
package reports

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/notify"
	"reprise/internal/store/db"
	"reprise/internal/store/notices"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db      *db.DB
	notices *notices.Store
}

// New returns the part of a database.
func New(d *db.DB, n *notices.Store) *Store { return &Store{db: d, notices: n} }

// SwitchReport implements weekly.Store.
func (s *Store) SwitchReport(ctx context.Context, user, channel int64, reported time.Time) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.Changed(tx.ExecContext(ctx, "UPDATE channels SET reported = $1 WHERE user_id = $2 AND id = $3",
			db.Millis(reported), user, channel))
		if err != nil || !reported.IsZero() {
			return err
		}
		return dropReports(ctx, tx, channel)
	})
}

// dropReports drops the reports that still wait for a channel.
func dropReports(ctx context.Context, tx *sql.Tx, channel int64) error {
	return db.ExecTx(ctx, tx, "UPDATE messages SET ended_at = $1 WHERE channel_id = $2 AND event = $3 AND ended_at = 0",
		db.Millis(time.Now()), channel, string(notify.Report))
}

// ReportsWanted implements weekly.Store.
func (s *Store) ReportsWanted(ctx context.Context) ([]notify.Subscription, error) {
	scan := func(r db.Scanner) (v notify.Subscription, err error) {
		var week int64
		err = r.Scan(&v.User, &v.Channel, &v.Zone, &week)
		v.Week = db.Instant(week)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan,
		"SELECT user_id, id, zone, reported FROM channels WHERE reported > 0 ORDER BY id")
}

// EnqueueReport implements weekly.Store. One transaction notes the week and enqueues the report.
func (s *Store) EnqueueReport(ctx context.Context, to notify.Subscription, from, until time.Time) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		noted, err := tx.ExecContext(ctx, `UPDATE channels SET reported = $1
			WHERE id = $2 AND reported > 0 AND reported < $1`, db.Millis(to.Week), to.Channel)
		if err != nil {
			return err
		}
		if n, err := noted.RowsAffected(); err != nil || n == 0 { // another server was quicker, or it was switched off
			return err
		}
		var heard bool
		err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM listens
			WHERE user_id = $1 AND played_at >= $2 AND played_at < $3)`,
			to.User, db.Millis(from), db.Millis(until)).Scan(&heard)
		if err != nil || !heard {
			return err
		}
		if err := dropReports(ctx, tx, to.Channel); err != nil { // the new report replaces them
			return err
		}
		return s.notices.EnqueueMessage(ctx, tx, to.Channel, notify.Notification{User: to.User, CreatedAt: to.Week,
			Severity: notify.Info}, notify.Report)
	})
}
