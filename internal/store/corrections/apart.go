package corrections

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
	"reprise/internal/store/playrules"
)

// SplitListen makes a listen of each source of a listen, and keeps them apart from now on. The first source keeps the
// listen. It returns library.ErrNotFound if there is none, and library.ErrUnchanged if it has one source.
func (s *Store) SplitListen(ctx context.Context, user, id int64) (c library.Correction, err error) {
	l, told, err := s.OneListen(ctx, user, id)
	if err != nil {
		return c, err
	}
	if len(told) < 2 {
		return c, library.ErrUnchanged
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		from, err := holding(ctx, tx, user, id, intake.Kept)
		if err != nil {
			return err
		}
		c = library.Correction{User: user, Kind: library.Apart, Listens: len(told), Title: l.Title, Artist: l.Artist,
			MadeAt: db.Instant(db.Millis(time.Now()))}
		if err := addCorrection(ctx, tx, &c); err != nil {
			return err
		}
		next, err := db.NextIDs(ctx, tx, "listens", len(told)-1)
		if err != nil {
			return err
		}
		changed := []delivery.Play{{Listen: id, At: time.UnixMilli(from.at)}}
		for side, v := range told {
			to := id
			if side > 0 {
				to = next + int64(side-1)
				if err := moveOut(ctx, tx, user, from, to, v); err != nil {
					return err
				}
				changed = append(changed, delivery.Play{Listen: to, At: v.At})
			}
			err := db.ExecTx(ctx, tx, `INSERT INTO kept_apart
				(correction_id, user_id, connection, source_id, side, listen_id) VALUES ($1, $2, $3, $4, $5, $6)`,
				c.ID, user, v.Connection, v.SourceID, side, to)
			if err != nil {
				return err
			}
		}
		return s.intake.ListensChanged(ctx, tx, user, changed)
	})
	return c, err
}

// moveOut makes a source of a listen a listen of its own, which is taken for sent wherever the first one was.
func moveOut(ctx context.Context, tx *sql.Tx, user int64, from held, to int64, v library.Told) error {
	return errors.Join(
		db.ExecTx(ctx, tx, `INSERT INTO listens (id, user_id, played_at, approximate, spelling_id)
			VALUES ($1, $2, $3, $4, $5)`, to, user, db.Millis(v.At), from.approximate, from.spelt),
		db.ExecTx(ctx, tx, `UPDATE listen_sources SET listen_id = $1, later = 0 WHERE listen_id = $2 AND `+
			connections.SourceOf("listen_sources", 3)+" AND "+listens.IdOf("listen_sources")+" = $4", to, from.id,
			v.Connection,
			v.SourceID),
		db.ExecTx(ctx, tx, `INSERT INTO forwards (listen_id, connection, user_id, delivery_id)
			SELECT CAST($1 AS BIGINT), connection, user_id, 0 FROM forwards WHERE listen_id = $2`, to, from.id),
		db.ExecTx(ctx, tx, `INSERT INTO ruled_listens (listen_id, user_id, spelling_id, rules)
			SELECT CAST($1 AS BIGINT), user_id, spelling_id, rules FROM ruled_listens
			WHERE listen_id = $2`, to, from.id),
		db.ExecTx(ctx, tx, `INSERT INTO withheld (listen_id, connection, rule_id, user_id)
			SELECT CAST($1 AS BIGINT), connection, rule_id, user_id FROM withheld WHERE listen_id = $2`, to, from.id))
}

// rejoin makes one listen again of what a correction keeps apart.
func (s *Store) rejoin(ctx context.Context, tx *sql.Tx, c library.Correction) error {
	type source struct {
		library.Source
		side   int
		listen int64
	}
	scan := func(r db.Scanner) (v source, err error) {
		return v, r.Scan(&v.Connection, &v.SourceID, &v.side, &v.listen)
	}
	all, err := db.List(ctx, tx, scan, `SELECT connection, source_id, side, listen_id FROM kept_apart
		WHERE correction_id = $1 ORDER BY side`, c.ID)
	if err != nil {
		return err
	}
	if err := db.ExecTx(ctx, tx, "DELETE FROM kept_apart WHERE correction_id = $1", c.ID); err != nil || len(all) == 0 {
		return err
	}
	into, err := holding(ctx, tx, c.User, all[0].listen, intake.Kept)
	if errors.Is(err, library.ErrNotFound) {
		return nil // it was deleted since, so nothing is to be joined
	}
	if err != nil {
		return err
	}
	changed := []delivery.Play{{Listen: into.id, At: time.UnixMilli(into.at)}}
	for _, v := range all[1:] {
		from, err := holding(ctx, tx, c.User, v.listen, intake.Kept)
		if errors.Is(err, library.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		err = errors.Join(
			db.ExecTx(ctx, tx, `UPDATE listen_sources SET listen_id = $1, later = later + $5 WHERE listen_id = $2 AND `+
				connections.SourceOf("listen_sources", 3)+" AND "+listens.IdOf("listen_sources")+" = $4", into.id,
				from.id, v.Connection,
				v.SourceID, from.at-into.at),
			db.ExecTx(ctx, tx, `DELETE FROM listens WHERE id = $1
				AND NOT EXISTS (SELECT 1 FROM listen_sources s WHERE s.listen_id = $1)`, from.id))
		if err != nil {
			return err
		}
		changed = append(changed, delivery.Play{Listen: from.id, At: time.UnixMilli(from.at)})
	}
	return errors.Join(outbox.CancelEmpty(ctx, tx, c.User), playrules.ForgetGone(ctx, tx, c.User),
		s.intake.ListensChanged(ctx, tx, c.User, changed))
}
