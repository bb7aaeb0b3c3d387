package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"reprise/internal/activity"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/store/db"
	"reprise/internal/store/runs"
)

// Past is what a household's server would have written down earlier. Only the demo writes one.
type Past struct {
	Runs          []library.Run
	Quarters      []metrics.Quarter
	Notifications []notify.Notification // with all their times
	Activity      []activity.Entry      // with their times and actors, the oldest first
	Deliveries    []PastDelivery        // the oldest first
	Gaps          []PastGap
}

// PastGap is a gap of a connection; what was recovered of it is counted.
type PastGap struct {
	User       int64
	Connection library.ConnectionID
	library.Gap
}

// PastDelivery is a delivery that has ended.
type PastDelivery struct {
	delivery.Draft
	Created, Ended time.Time
}

// WritePast stores a past in one transaction.
func (s *Store) WritePast(ctx context.Context, p Past) error {
	if err := s.AddQuarters(ctx, p.Quarters); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *sql.Tx) error {
		err := errors.Join(pastRuns(ctx, tx, p.Runs), pastNotifications(ctx, tx, p.Notifications),
			pastActivity(ctx, tx, p.Activity))
		for _, g := range p.Gaps {
			err = errors.Join(err, runs.NoteGap(ctx, tx, g.User, g.Connection, g.Gap))
		}
		for _, d := range p.Deliveries {
			if err != nil {
				return err
			}
			err = s.pastDelivery(ctx, tx, d)
		}
		return err
	})
}

func pastRuns(ctx context.Context, tx *sql.Tx, all []library.Run) error {
	const width = 10
	args := make([]any, 0, len(all)*width)
	for _, r := range all {
		args = append(args, r.User, r.Connection, r.Stream, db.Millis(r.Started), r.Took.Milliseconds(), r.Rows,
			r.Result,
			r.Category, r.Words, r.Detail)
	}
	return db.InsertRows(ctx, tx, `INSERT INTO runs
		(user_id, connection, stream, started_at, took_ms, row_count, result, category, words, detail)`,
		width, args, "")
}

func pastNotifications(ctx context.Context, tx *sql.Tx, all []notify.Notification) error {
	for _, n := range all {
		id, err := db.NextIDs(ctx, tx, "notifications", 1)
		if err != nil {
			return err
		}
		err = db.ExecTx(ctx, tx, `INSERT INTO notifications
			(id, user_id, connection, cause, generation, severity, category, title, message, detail, action_label,
			action_url, created_at, acknowledged_at, resolved_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
			id, n.User, n.Connection, n.Cause, n.Generation, n.Severity, n.Category, n.Title, n.Message, n.Detail,
			n.Action.Label, n.Action.URL, db.Millis(n.CreatedAt), db.Millis(n.AcknowledgedAt), db.Millis(n.ResolvedAt))
		if err != nil {
			return err
		}
	}
	return nil
}

func pastActivity(ctx context.Context, tx *sql.Tx, all []activity.Entry) error {
	for _, e := range all {
		id, err := db.NextIDs(ctx, tx, "activity", 1)
		if err != nil {
			return err
		}
		err = db.ExecTx(ctx, tx, `INSERT INTO activity
			(id, at, user_id, actor_id, actor, action, connection, subject, detail, times)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, id, db.Millis(e.At), e.User, e.ActorID, e.Actor,
			string(e.Action), e.Connection, e.Subject, e.Detail, max(e.Times, 1))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) pastDelivery(ctx context.Context, tx *sql.Tx, d PastDelivery) error {
	id, err := s.Insert(ctx, tx, d.Draft)
	if err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, `UPDATE deliveries SET state = 'done', attempts = 1, created_at = $1, due_at = $1,
		ended_at = $2 WHERE id = $3`, db.Millis(d.Created), db.Millis(d.Ended), id)
}

// aged are the columns that Age changes: when people and the server set something up.
var aged = [][2]string{{"users", "created_at"}, {"connections", "created_at"}, {"forwarding", "since"},
	{"channels", "created_at"}, {"digest_people", "since"}, {"activity", "at"}}

// Age makes what has been set up, and the log of it, that much older. Music and what is read of it stay as they are.
func (s *Store) Age(ctx context.Context, by time.Duration) error {
	return s.Write(ctx, func(tx *sql.Tx) error {
		var errs []error
		for _, c := range aged {
			errs = append(errs, db.ExecTx(ctx, tx, fmt.Sprintf("UPDATE %s SET %s = %s - $1", c[0], c[1], c[1]),
				by.Milliseconds()))
		}
		return errors.Join(errs...)
	})
}
