package notices

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/store/db"
)

// endsWithin is how long before the end of a trouble the run or delivery may have ended that proved it over.
const endsWithin = time.Second

// caughtUp fills in what was read and sent since the trouble ended that a channel's message is about. It counts for
// the person's own connections only.
func caughtUp(ctx context.Context, tx *sql.Tx, channel int64, w *notify.Waiting) error {
	if strings.Contains(w.Cause, " of user ") || strings.HasSuffix(w.Cause, ":app") {
		return nil
	}
	var user int64
	err := tx.QueryRowContext(ctx, "SELECT user_id FROM channels WHERE id = $1", channel).Scan(&user)
	if err == nil {
		err = tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(row_count), 0) FROM runs
			WHERE user_id = $1 AND connection = $2 AND stream = 'listens' AND result = 'ok'
			AND started_at + took_ms >= $3`, user, w.Connection,
			db.Millis(w.ResolvedAt.Add(-endsWithin))).Scan(&w.CaughtUp)
	}
	if err != nil {
		return err
	}
	since, err := sendingStopped(ctx, tx, channel, *w)
	if err != nil || since.IsZero() {
		return err
	}
	return heldBack(ctx, tx, user, since, w)
}

// sendingStopped returns since when nothing could be sent because of the trouble that a message is about. The trouble
// may have caused several alerts. Zero: sending went on.
func sendingStopped(ctx context.Context, tx *sql.Tx, channel int64, w notify.Waiting) (since time.Time, err error) {
	type alert struct {
		notify.Notification
		opened int64
	}
	scan := func(r db.Scanner) (a alert, err error) { return a, r.Scan(&a.Severity, &a.Cause, &a.opened) }
	all, err := db.List(ctx, tx, scan, `SELECT severity, cause, opened_at FROM messages
		WHERE channel_id = $1 AND connection = $2 AND event = 'opened' AND opened_at >= $3 AND opened_at <= $4
		ORDER BY opened_at`, channel, w.Connection, db.Millis(w.OpenedAt), db.Millis(w.ResolvedAt))
	for _, a := range all {
		stream := a.Stopped()
		switch {
		case strings.Contains(a.Cause, " of user ") || strings.HasSuffix(a.Cause, ":app"):
		case a.Severity == notify.Error && (stream == "" || stream == library.Deliveries):
			return db.Instant(a.opened), err
		case a.Cause == notify.CauseStill: // some of it was sent all the time
			since = w.ResolvedAt.Add(-endsWithin)
		}
	}
	return since, err
}

// heldBack counts what was enqueued before a trouble ended and sent since a time, or is about to be sent.
func heldBack(ctx context.Context, tx *sql.Tx, user int64, since time.Time, w *notify.Waiting) error {
	scan := func(r db.Scanner) (t delivery.Tally, err error) { return t, r.Scan(&t.Kind, &t.State, &t.Items) }
	all, err := db.List(ctx, tx, scan, `SELECT kind, state, sum(items) FROM deliveries
		WHERE user_id = $1 AND connection = $2 AND created_at <= $3
		AND (state = 'done' AND ended_at >= $4 OR state IN ('scheduled', 'running', 'retrying'))
		GROUP BY kind, state`, user, w.Connection, db.Millis(w.ResolvedAt), db.Millis(since))
	var sent, left delivery.Waiting
	for _, t := range all {
		if t.State == delivery.Done {
			sent.Add(t)
		} else {
			left.Add(t)
		}
	}
	w.Sent, w.ToSend = sent.Counts(), left.Counts()
	return err
}
