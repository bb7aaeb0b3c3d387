package copies

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
)

// Copy returns a copy, or library.ErrNotFound when none is wanted.
func (s *Store) Copy(
	ctx context.Context, user int64, conn library.ConnectionID, kind, ref string,
) (delivery.Copy, error) {
	c, err := scanCopy(s.db.Reader.QueryRowContext(ctx, selectCopy+"WHERE "+thisCopy, user, conn, kind, ref))
	return c, db.Found(err)
}

// thisCopy selects one copy by the first four arguments.
const thisCopy = "user_id = $1 AND connection = $2 AND kind = $3 AND ref = $4"

const selectCopy = `SELECT user_id, connection, kind, ref, wanted, written, remote_id, report, written_at, marks,
	snapshot, drift, choice, agreed, decided, pending FROM copies `

func scanCopy(r db.Scanner) (c delivery.Copy, err error) {
	var at int64
	var decided string
	err = r.Scan(&c.User, &c.Connection, &c.Kind, &c.Ref, &c.Wanted, &c.Written, &c.RemoteID, &c.Report, &at,
		&c.Marks, &c.Snapshot, &c.Drift, &c.Choice, &c.Agreed, &decided, &c.Pending)
	side, seen, _ := strings.Cut(decided, " ")
	c.Decided, c.Seen = delivery.Side(side), seen
	c.WrittenAt = db.Instant(at)
	return c, err
}

// Copies returns all copies of a kind that one person has.
func (s *Store) Copies(ctx context.Context, user int64, kind string) ([]delivery.Copy, error) {
	return db.List(ctx, s.db.Reader, scanCopy, selectCopy+"WHERE user_id = $1 AND kind = $2 ORDER BY connection, ref",
		user, kind)
}

// SaveRemote stores the id that a copy has at its provider, the report of writing it, its marks, and what is being
// written.
func (s *Store) SaveRemote(ctx context.Context, c delivery.Copy) error {
	return s.db.Exec(ctx, "UPDATE copies SET remote_id = $5, report = $6, marks = $7, pending = $8 WHERE "+
		thisCopy, c.User, c.Connection, c.Kind, c.Ref, c.RemoteID, c.Report, c.Marks, c.Pending)
}

// compareAtOnce is how many copies CopiesToCompare returns at most.
const compareAtOnce = 500

// CopiesToCompare returns copies of playlists that were neither written nor compared since a time, by connection. It
// leaves out those that are about to be written, those that are left as they are there or wait for their person's
// decision, and restored versions.
func (s *Store) CopiesToCompare(ctx context.Context, since time.Time) ([]delivery.Copy, error) {
	return db.List(ctx, s.db.Reader, scanCopy, selectCopy+`WHERE kind = $1 AND written = wanted AND remote_id <> ''
		AND ref NOT LIKE '%@%' AND written_at < $2 AND checked_at < $2
		AND NOT (drift <> '' AND choice IN ('leave', 'both'))
		ORDER BY user_id, connection, ref LIMIT $3`, delivery.WritePlaylist, db.Millis(since), compareAtOnce)
}

// SaveCompared stores what comparing a copy found, and reports whether it did: not if the copy was requested again, or
// written, or its person chose, since c was read.
func (s *Store) SaveCompared(ctx context.Context, c delivery.Copy) (saved bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE copies SET drift = $5, marks = $6, snapshot = $7, checked_at = $8
			WHERE `+thisCopy+" AND wanted = $9 AND written = $9 AND choice = $10", c.User, c.Connection, c.Kind, c.Ref,
			string(c.Drift), c.Marks, c.Snapshot, db.Millis(time.Now()), c.Wanted, string(c.Choice))
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		saved = n > 0
		return err
	})
	return saved && err == nil, err
}

// ChooseForCopy stores what is done about a copy that is deleted or changed at its provider. What both sides agreed on
// is forgotten.
func (s *Store) ChooseForCopy(ctx context.Context, c delivery.Copy, choice delivery.Choice) error {
	return s.db.Exec(ctx, `UPDATE copies SET choice = $5, agreed = '', decided = '',
		drift = CASE WHEN drift = 'conflict' THEN 'edited' ELSE drift END WHERE `+thisCopy,
		c.User, c.Connection, c.Kind, c.Ref, string(choice))
}

// Decide stores whose changes a person keeps where those of both sides can't be merged, which is c.Decided, and c.Seen,
// and makes writing the copy due now.
func (s *Store) Decide(ctx context.Context, c delivery.Copy) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.ExecTx(ctx, tx, "UPDATE copies SET decided = $5 WHERE "+thisCopy,
			c.User, c.Connection, c.Kind, c.Ref, decision(c.Decided, c.Seen))
		if err != nil {
			return err
		}
		return s.again(ctx, tx, delivery.Draft{User: c.User, Connection: c.Connection, Kind: c.Kind, Ref: c.Ref})
	})
}

// decision is a decision as it is stored, with what it is about.
func decision(side delivery.Side, seen string) string {
	if side == "" {
		return ""
	}
	return string(side) + " " + seen
}

// EndCopy ends the delivery of a copy, as done or as dead. If the original has changed since c was read, it returns
// false, and the delivery must go on. With done, c.Wanted is the version that was written; it is stored unless the
// copy is no longer wanted. With a drift nothing was written, and the time of the latest write stays. EndCopy is one
// transaction, so that it misses no change.
func (s *Store) EndCopy(ctx context.Context, id int64, c delivery.Copy, done bool) (ended bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		var wanted int64
		err := tx.QueryRowContext(ctx, "SELECT wanted FROM copies WHERE "+thisCopy,
			c.User, c.Connection, c.Kind, c.Ref).Scan(&wanted)
		gone := errors.Is(err, sql.ErrNoRows)
		if err != nil && !gone {
			return err
		}
		if done && !gone && (c.Drift == "" || wanted == c.Wanted) { // a drift is looked for again
			at := time.Now()
			if c.Drift != "" {
				at = c.WrittenAt
			}
			err := db.ExecTx(ctx, tx, `UPDATE copies SET written = $5, remote_id = $6, report = $7, written_at = $8,
				marks = $9, drift = $10, snapshot = '',
				agreed = CASE WHEN choice = 'both' THEN CAST($11 AS TEXT) ELSE '' END,
				decided = CASE WHEN wanted = $5 THEN CAST($12 AS TEXT) ELSE decided END, pending = $13 WHERE `+thisCopy,
				c.User, c.Connection, c.Kind, c.Ref, c.Wanted, c.RemoteID, c.Report, db.Millis(at), c.Marks,
				string(c.Drift), c.Agreed, decision(c.Decided, c.Seen), c.Pending)
			if err != nil {
				return err
			}
		}
		if ended = gone || wanted == c.Wanted; !ended {
			return nil
		}
		return outbox.EndNow(ctx, tx, id, done || gone)
	})
	return ended && err == nil, err
}

// WantCopy adds a copy at a connection, and makes writing it due now, whatever has become of it there. With a remoteID
// the copy is what has that id there: it returns delivery.ErrNotTaken if that is another copy already, and
// delivery.ErrUnderWay while an earlier copy is still being written.
func (s *Store) WantCopy(ctx context.Context, d delivery.Draft, remoteID string) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		if remoteID != "" {
			if err := mayBecome(ctx, tx, d, remoteID); err != nil {
				return err
			}
		}
		id, err := s.outbox.EnqueueCopy(ctx, tx, d)
		if err != nil {
			return err
		}
		err = db.ExecTx(ctx, tx, `UPDATE copies SET drift = '', marks = '',
			remote_id = CASE WHEN CAST($5 AS TEXT) = '' THEN remote_id ELSE CAST($5 AS TEXT) END WHERE `+thisCopy,
			d.User, d.Connection, d.Kind, d.Ref, remoteID)
		if err != nil {
			return err
		}
		_, err = s.outbox.BecomeDue(ctx, tx, outbox.Expedited, outbox.IsPending+" AND d.id = $1", id)
		return err
	})
}

// mayBecome returns why what has an id at a connection can't become the copy that a draft is about.
func mayBecome(ctx context.Context, tx *sql.Tx, d delivery.Draft, remoteID string) error {
	var taken, under bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM copies WHERE user_id = $1 AND connection = $2
			AND kind = $3 AND remote_id = $5 AND ref NOT LIKE '%@0'),
		EXISTS (SELECT 1 FROM deliveries WHERE user_id = $1 AND connection = $2 AND kind = $3 AND ref = $4
			AND state NOT IN ('done', 'dead'))`, d.User, d.Connection, d.Kind, d.Ref, remoteID).Scan(&taken, &under)
	switch {
	case err != nil:
		return err
	case taken:
		return delivery.ErrNotTaken
	case under:
		return delivery.ErrUnderWay
	}
	return nil
}

// CopyAgain makes writing a copy due now. What a person has changed there stays noted, and is not written over.
func (s *Store) CopyAgain(ctx context.Context, d delivery.Draft) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error { return s.again(ctx, tx, d) })
}

func (s *Store) again(ctx context.Context, tx *sql.Tx, d delivery.Draft) error {
	id, err := s.outbox.EnqueueCopy(ctx, tx, d)
	if err != nil {
		return err
	}
	_, err = s.outbox.BecomeDue(ctx, tx, outbox.Expedited, outbox.IsPending+" AND d.id = $1", id)
	return err
}

// DropCopy deletes a copy that is no longer wanted. What was written to the provider stays there.
func (s *Store) DropCopy(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) error {
	return s.db.Exec(ctx, "DELETE FROM copies WHERE "+thisCopy, user, conn, kind, ref)
}

// CopyDelivery returns the latest delivery of a copy that is kept, or library.ErrNotFound.
func (s *Store) CopyDelivery(
	ctx context.Context, user int64, conn library.ConnectionID, kind, ref string,
) (delivery.Delivery, error) {
	d, err := outbox.ScanDelivery(s.db.Reader.QueryRowContext(ctx, outbox.SelectDelivery+`
		WHERE d.user_id = $1 AND d.connection = $2 AND d.kind = $3 AND d.ref = $4
		ORDER BY d.id DESC LIMIT 1`, user, conn, kind, ref))
	return d, db.Found(err)
}

// EnqueueCopies enqueues writing the copies of what has just been stored.
func (s *Store) EnqueueCopies(ctx context.Context, tx *sql.Tx, user int64, kind, ref string) error {
	scan := func(r db.Scanner) (id library.ConnectionID, err error) { return id, r.Scan(&id) }
	all, err := db.List(ctx, tx, scan, "SELECT connection FROM copies WHERE user_id = $1 AND kind = $2 AND ref = $3",
		user, kind, ref)
	for _, conn := range all {
		_, e := s.outbox.EnqueueCopy(ctx, tx, delivery.Draft{User: user, Connection: conn, Kind: kind, Ref: ref})
		err = errors.Join(err, e)
	}
	return err
}

// EnqueueChanged enqueues the copies that are kept equal both ways and are the playlist that has just been stored.
func (s *Store) EnqueueChanged(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID,
	source string) error {
	scan := func(r db.Scanner) (ref string, err error) { return ref, r.Scan(&ref) }
	all, err := db.List(ctx, tx, scan, `SELECT ref FROM copies WHERE user_id = $1 AND connection = $2 AND kind = $3
		AND remote_id = $4 AND choice = 'both'`, user, conn, delivery.WritePlaylist, source)
	for _, ref := range all {
		_, e := s.outbox.EnqueueCopy(ctx, tx,
			delivery.Draft{User: user, Connection: conn, Kind: delivery.WritePlaylist, Ref: ref})
		err = errors.Join(err, e)
	}
	return err
}

// matchLife is how long a search that found no track is not repeated.
const matchLife = 24 * time.Hour

// Matches returns the known matches of these tracks at a connection, by track.
func (s *Store) Matches(ctx context.Context, user int64, conn library.ConnectionID, tracks []string) (
	map[string]match.Result, error) {
	known := make(map[string]match.Result, len(tracks))
	type row struct {
		track string
		match.Result
	}
	scan := func(r db.Scanner) (v row, err error) {
		return v, r.Scan(&v.track, &v.Found.SourceID, &v.Found.Title, &v.Found.Artist, &v.How, &v.Score)
	}
	for chunk := range slices.Chunk(tracks, 100) {
		args := []any{user, conn, db.Millis(time.Now().Add(-matchLife))}
		for _, t := range chunk {
			args = append(args, t)
		}
		rows, err := db.List(ctx, s.db.Reader, scan, `SELECT track, source_id, title, artist, how, score
			FROM track_matches
			WHERE user_id = $1 AND connection = $2 AND (source_id <> '' OR checked_at > $3)
			AND track IN `+db.Numbered(4, len(chunk)), args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			known[r.track] = r.Result
		}
	}
	return known, nil
}

// SaveMatches stores the matches of tracks at a connection.
func (s *Store) SaveMatches(ctx context.Context, user int64, conn library.ConnectionID,
	found map[string]match.Result) error {
	if len(found) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		args := make([]any, 0, len(found)*9)
		for track, m := range found {
			args = append(args, user, conn, track, m.Found.SourceID, m.Found.Title, m.Found.Artist, string(m.How),
				m.Score, db.Millis(time.Now()))
		}
		return db.InsertRows(ctx, tx, `INSERT INTO track_matches
			(user_id, connection, track, source_id, title, artist, how, score, checked_at)`, 9, args,
			`ON CONFLICT (user_id, connection, track) DO UPDATE
			SET source_id = excluded.source_id, title = excluded.title, artist = excluded.artist,
				how = excluded.how, score = excluded.score, checked_at = excluded.checked_at`)
	})
}

// ForgetMatches deletes the matches with these tracks at a connection, so that they are searched for again.
func (s *Store) ForgetMatches(ctx context.Context, user int64, conn library.ConnectionID, sourceIDs []string) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for chunk := range slices.Chunk(sourceIDs, 100) {
			args := []any{user, conn}
			for _, id := range chunk {
				args = append(args, id)
			}
			err := db.ExecTx(ctx, tx,
				"DELETE FROM track_matches WHERE user_id = $1 AND connection = $2 AND source_id IN "+
					db.Numbered(3, len(chunk)), args...)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
