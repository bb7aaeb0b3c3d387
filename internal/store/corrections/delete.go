package corrections

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/deletions"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
)

// DeleteListens deletes the listens of a selection, which stay known: what services tell of them later is no listen. It
// returns the correction, or library.ErrNotFound if nothing is selected. What waited to be sent of them is cancelled,
// and their deletion at the connections of the selection enqueued.
// If it breaks off halfway, the correction has what was deleted until then.
func (s *Store) DeleteListens(ctx context.Context, v library.Selection) (library.Correction, error) {
	c := library.Correction{User: v.User, Kind: library.Deleted, Artist: v.Artist,
		MadeAt: db.Instant(db.Millis(time.Now()))}
	for ids, next := []int64(nil), ""; ; {
		var err error
		if ids, next, err = s.selected(ctx, v, next); err != nil {
			return c, err
		}
		if err := s.db.Write(ctx, func(tx *sql.Tx) error {
			return s.deleteSome(ctx, tx, &c, v.There,
				ids)
		}); err != nil {
			return c, err
		}
		if next == "" {
			break
		}
	}
	if c.ID == 0 {
		return c, library.ErrNotFound
	}
	all := []library.Correction{c}
	err := s.deletions.AddThere(ctx, all)
	return all[0], err
}

// selected returns the ids of some listens of a selection, and the cursor for more, empty at the end.
func (s *Store) selected(ctx context.Context, v library.Selection, before string) (ids []int64, next string,
	err error) {
	if len(v.IDs) > 0 {
		return v.IDs, "", nil
	}
	page, next, err := s.listens.FindListens(ctx, v.ListenFilter, before, listens.DeleteAtOnce)
	for _, l := range page {
		if v.Newest == 0 || l.ID <= v.Newest {
			ids = append(ids, l.ID)
		}
	}
	return ids, next, err
}

// CountSelected returns how many listens a selection has, and the highest number of them.
func (s *Store) CountSelected(ctx context.Context, v library.Selection) (n int, newest int64, err error) {
	if len(v.IDs) > 0 {
		some, err := listens.Owned(ctx, s.db.Reader, v.User, v.IDs)
		for _, l := range some {
			newest = max(newest, l.Listen)
		}
		return len(some), newest, err
	}
	if n, err = s.listens.CountFound(ctx, v.ListenFilter); err != nil {
		return 0, 0, err
	}
	err = s.db.Reader.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM listens WHERE user_id = $1", v.User).
		Scan(&newest)
	return n, newest, db.Explain(err)
}

// deleteSome deletes listens as a part of a correction, which is stored with the first of them. They are to be deleted
// at the connections in there, too.
func (s *Store) deleteSome(ctx context.Context, tx *sql.Tx, c *library.Correction, there []library.ConnectionID,
	ids []int64) error {
	some, err := listens.Owned(ctx, tx, c.User, ids)
	if err != nil || len(some) == 0 {
		return err
	}
	now := *c
	now.Listens += len(some)
	if now.ID == 0 {
		if len(some) == 1 && now.Listens == 1 {
			err = tx.QueryRowContext(ctx, `SELECT p.title, p.artist FROM listens l
				JOIN spellings p ON p.id = l.spelling_id WHERE l.id = $1`, some[0].Listen).Scan(&now.Title, &now.Artist)
		}
		err = errors.Join(err, addCorrection(ctx, tx, &now))
	} else {
		err = db.ExecTx(ctx, tx, "UPDATE corrections SET listens = $2, title = '' WHERE id = $1", now.ID, now.Listens)
	}
	if err == nil {
		err = s.putAway(ctx, tx, now, some)
	}
	if err == nil {
		err = s.deletions.DeleteThere(ctx, tx, now, some, there)
	}
	if err == nil {
		*c = now
	}
	return err
}

// putAway moves listens from those that are kept to those that were removed.
func (s *Store) putAway(ctx context.Context, tx *sql.Tx, c library.Correction, some []delivery.Play) error {
	err := db.InChunks(listens.IdsOf(some), func(these string, args []any) error {
		with := func(first any) []any { return append([]any{first}, args...) }
		return errors.Join(
			db.ExecTx(ctx, tx, `INSERT INTO removed_listens
				(id, user_id, played_at, approximate, spelling_id, correction_id)
				SELECT id, user_id, played_at, approximate, spelling_id, CAST($1 AS BIGINT) FROM listens
				WHERE id IN `+these, with(c.ID)...),
			db.ExecTx(ctx, tx, `INSERT INTO removed_sources `+sourceColumns+` SELECT `+plainSources+`
				FROM listen_sources WHERE CAST($1 AS BIGINT) > 0 AND listen_id IN `+these, with(c.ID)...),
			db.ExecTx(ctx, tx, `INSERT INTO removed_forwards (listen_id, connection, user_id, delivery_id)
				SELECT f.listen_id, f.connection, f.user_id, CASE WHEN f.delivery_id = 0
				OR d.state IN ('done', 'running') THEN f.delivery_id ELSE -1 END
				FROM forwards f LEFT JOIN deliveries d ON d.id = f.delivery_id
				WHERE CAST($1 AS BIGINT) > 0 AND f.listen_id IN `+these, with(c.ID)...),
			db.ExecTx(ctx, tx, "DELETE FROM listens WHERE +user_id = $1 AND id IN "+these, with(c.User)...))
	})
	if err == nil {
		err = outbox.CancelEmpty(ctx, tx, c.User)
	}
	return errors.Join(err, s.intake.ListensChanged(ctx, tx, c.User, some))
}

const (
	plainSources  = "listen_id, connection, source_key, name_id, later, stored_at, player"
	sourceColumns = "(" + plainSources + ")"
)

// bringBack brings back some listens that a correction has deleted, and reports whether those were all.
func (s *Store) bringBack(ctx context.Context, tx *sql.Tx, c library.Correction) (done bool, err error) {
	scan := func(r db.Scanner) (v delivery.Play, err error) {
		var at int64
		err = r.Scan(&v.Listen, &at)
		v.At = time.UnixMilli(at)
		return v, err
	}
	some, err := db.List(ctx, tx, scan, `SELECT id, played_at FROM removed_listens WHERE correction_id = $1
		ORDER BY id LIMIT $2`, c.ID, listens.DeleteAtOnce)
	if err == nil {
		err = deletions.KeepThere(ctx, tx, c)
	}
	if err != nil {
		return false, err
	}
	err = db.InChunks(listens.IdsOf(some), func(these string, args []any) error {
		args = append([]any{c.ID}, args...)
		return errors.Join(
			db.ExecTx(ctx, tx, `INSERT INTO listens (id, user_id, played_at, approximate, spelling_id)
				SELECT id, user_id, played_at, approximate, spelling_id FROM removed_listens
				WHERE +correction_id = $1 AND id IN `+these, args...),
			db.ExecTx(ctx, tx, `INSERT INTO listen_sources `+sourceColumns+` SELECT `+plainSources+`
				FROM removed_sources WHERE CAST($1 AS BIGINT) > 0 AND listen_id IN `+these, args...),
			db.ExecTx(ctx, tx, `INSERT INTO forwards (listen_id, connection, user_id, delivery_id)
				SELECT f.listen_id, f.connection, f.user_id, coalesce(d.id, 0)
				FROM removed_forwards f LEFT JOIN deliveries d ON d.id = f.delivery_id
				WHERE CAST($1 AS BIGINT) > 0 AND f.delivery_id >= 0 AND f.listen_id IN `+these, args...))
	})
	if err == nil {
		err = s.sendAgain(ctx, tx, c, some)
	}
	if err == nil {
		err = db.InChunks(listens.IdsOf(some), func(these string, args []any) error {
			return db.ExecTx(ctx, tx, "DELETE FROM removed_listens WHERE +correction_id = $1 AND id IN "+these,
				append([]any{c.ID}, args...)...)
		})
	}
	return len(some) < listens.DeleteAtOnce, errors.Join(err, s.intake.ListensChanged(ctx, tx, c.User, some))
}

// sendAgain enqueues what was cancelled when these listens were deleted, as far as it is still wanted.
func (s *Store) sendAgain(ctx context.Context, tx *sql.Tx, c library.Correction, some []delivery.Play) error {
	rules, err := outbox.ForwardingRules(ctx, tx, c.User)
	for _, r := range rules {
		var ids []int64
		err = errors.Join(err, db.InChunks(listens.IdsOf(some), func(these string, args []any) error {
			more, err := db.List(ctx, tx, db.ScanID, `SELECT listen_id FROM removed_forwards
				WHERE connection = $1 AND delivery_id = -1 AND NOT EXISTS (SELECT 1 FROM withheld w
				WHERE w.listen_id = removed_forwards.listen_id AND w.connection IN ('', $1))
				AND listen_id IN `+these+" ORDER BY listen_id",
				append([]any{r.Connection}, args...)...)
			ids = append(ids, more...)
			return err
		}))
		if err != nil {
			return err
		}
		if err := s.outbox.EnqueueAll(ctx, tx, r.Batches(ids, true)); err != nil {
			return err
		}
	}
	return err
}
