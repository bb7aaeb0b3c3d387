package people

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// These are the bounds of the log of activity.
const (
	keepActivity = 90 * 24 * time.Hour
	MostActivity = 20_000 // entries about one person, or about the installation
	mostDetail   = 500    // characters of one entry's detail, and of its subject
)

// Note adds an entry to the log of activity, done now by the actor in ctx. It does not stop when ctx ends, because the
// request may end before its activity is stored.
func (s *Store) Note(ctx context.Context, e activity.Entry) error {
	by := activity.ActorOf(ctx)
	ctx = context.WithoutCancel(ctx)
	return s.db.Write(ctx, func(tx *sql.Tx) error { return AddEntry(ctx, tx, by, e) })
}

// AddEntry adds an entry to the activity log. An entry about a person who is gone is left out.
func AddEntry(ctx context.Context, tx *sql.Tx, by activity.Actor, e activity.Entry) error {
	if e.User != 0 {
		if _, err := Person(ctx, tx, e.User); errors.Is(err, accounts.ErrUnknown) { // removed meanwhile
			return nil
		} else if err != nil {
			return err
		}
	}
	id, err := db.NextIDs(ctx, tx, "activity", 1)
	if err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, `INSERT INTO activity
		(id, at, user_id, actor_id, actor, action, connection, subject, detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		id, db.Millis(time.Now()), e.User, by.ID, by.Name, string(e.Action), e.Connection,
		cut(e.Subject, mostDetail), cutText(e.Detail))
}

// cutText bounds a text that somebody else wrote. A sentence of ours is stored whole.
func cutText(t words.Text) words.Text {
	if t.ID() == "" {
		return words.Plain(cut(t.String(), mostDetail))
	}
	return t
}

// mostSubjects is how many subjects of one action NoteOften tells apart within its time.
const mostSubjects = 5

// NoteOften does what Note does, for what may happen often: if there is an entry about the same user, action and
// subject that is younger than within, it counts that entry once more. From the sixth subject on it counts under "other
// addresses", so that no flood fills the log.
func (s *Store) NoteOften(ctx context.Context, e activity.Entry, within time.Duration) error {
	by, since := activity.ActorOf(ctx), db.Millis(time.Now().Add(-within))
	ctx = context.WithoutCancel(ctx)
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		if done, err := noteAgain(ctx, tx, e, since); done || err != nil {
			return err
		}
		var subjects int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM activity WHERE user_id = $1 AND at > $2 AND action = $3`,
			e.User, since, string(e.Action)).Scan(&subjects)
		if err != nil {
			return err
		}
		if subjects >= mostSubjects {
			e.Subject = activity.OtherAddresses
			if done, err := noteAgain(ctx, tx, e, since); done || err != nil {
				return err
			}
		}
		return AddEntry(ctx, tx, by, e)
	})
}

// noteAgain counts an entry once more if there is one that is younger than since.
func noteAgain(ctx context.Context, tx *sql.Tx, e activity.Entry, since int64) (done bool, err error) {
	result, err := tx.ExecContext(ctx, `UPDATE activity SET times = times + 1 WHERE id = (
		SELECT id FROM activity WHERE user_id = $1 AND at > $2 AND action = $3 AND subject = $4
		ORDER BY id DESC LIMIT 1)`, e.User, since, string(e.Action), e.Subject)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// cut shortens a text to so many characters, and marks that it did.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Activity returns a page of the log, the newest first, and the cursor of the next page, empty at the end. An invalid
// cursor is library.ErrBadCursor.
func (s *Store) Activity(ctx context.Context, f activity.Filter, before string, limit int) (
	page []activity.Entry, next string, err error) {
	last := int64(math.MaxInt64)
	if before != "" {
		if last, err = strconv.ParseInt(before, 10, 64); err != nil || last < 0 {
			return nil, "", library.ErrBadCursor
		}
	}
	scan := func(r db.Scanner) (e activity.Entry, err error) {
		var at int64
		err = r.Scan(&e.ID, &at, &e.User, &e.ActorID, &e.Actor, &e.Action, &e.Connection, &e.Subject, &e.Detail,
			&e.Times)
		e.At = db.Instant(at)
		return e, err
	}
	other := f.User
	if f.Installation {
		other = 0
	}
	page, err = db.List(ctx, s.db.Reader, scan, `SELECT id, at, user_id, actor_id, actor, action, connection, subject,
		detail, times FROM activity
		WHERE user_id IN ($1, $2) AND ($3 = '' OR connection = $3) AND `+connections.OfProvider("connection", 4)+`
		AND id < $5 ORDER BY id DESC LIMIT $6`, f.User, other, f.Connection, f.Provider, last, limit+1)
	if len(page) > limit {
		page = page[:limit]
		next = strconv.FormatInt(page[limit-1].ID, 10)
	}
	return page, next, err
}

// TidyActivity deletes the entries outside of the bounds of the log.
func (s *Store) TidyActivity(ctx context.Context, now time.Time) error {
	if err := s.db.Exec(ctx, "DELETE FROM activity WHERE at <= $1", db.Millis(now.Add(-keepActivity))); err != nil {
		return err
	}
	scan := func(r db.Scanner) (user int64, err error) {
		err = r.Scan(&user)
		return user, err
	}
	many, err := db.List(ctx, s.db.Reader, scan, "SELECT user_id FROM activity GROUP BY user_id HAVING count(*) > $1",
		MostActivity)
	for _, user := range many { // each on its own, so that nobody pushes out what is about others
		if err == nil {
			err = s.db.Exec(ctx, `DELETE FROM activity WHERE user_id = $1 AND id <= (SELECT id FROM activity
				WHERE user_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`, user, MostActivity)
		}
	}
	return err
}
