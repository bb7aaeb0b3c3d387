package corrections

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

const (
	selectCorrection = `SELECT id, user_id, kind, listens, title, artist, becomes, made_at, undone_at, '', '', 0,
		coalesce((SELECT p.name FROM play_rules p WHERE p.id = corrections.rule_id), ''), rule_id FROM corrections `
	SelectRule = `SELECT r.id, coalesce(r.made_by, 0), r.kind, r.listens,
		CASE WHEN r.entity = 'artist' THEN '' ELSE r.name END,
		CASE WHEN r.entity = 'artist' THEN r.name ELSE r.artist END, r.becomes, r.made_at, r.undone_at, r.entity,
		coalesce(u.name, ''), r.entity_id, '', 0 FROM music_rules r LEFT JOIN users u ON u.id = r.made_by `
)

// ScanCorrection reads a row of [SelectRule], or of a correction of listens.
func ScanCorrection(r db.Scanner) (c library.Correction, err error) {
	var made, undone int64
	err = r.Scan(&c.ID, &c.User, &c.Kind, &c.Listens, &c.Title, &c.Artist, &c.Becomes, &made, &undone, &c.About, &c.By,
		&c.Of, &c.PlayRule, &c.PlayRuleID)
	c.MadeAt, c.UndoneAt = db.Instant(made), db.Instant(undone)
	return c, err
}

// Corrections returns a page of a person's corrections and those of the household's music, the newest first, and the
// cursor of the next page, empty at the end. limit is 1 to 1,000. An invalid cursor is library.ErrBadCursor.
func (s *Store) Corrections(ctx context.Context, user int64, before string, limit int) (
	page []library.Correction, next string, err error) {
	last := int64(1 << 62)
	if before != "" {
		if last, err = strconv.ParseInt(before, 10, 64); err != nil {
			return nil, "", library.ErrBadCursor
		}
	}
	page, err = db.List(ctx, s.db.Reader, ScanCorrection,
		selectCorrection+"WHERE user_id = $1 AND id < $2 UNION ALL "+SelectRule+
			"WHERE r.id < $2 ORDER BY 1 DESC LIMIT $3", user, last, limit+1)
	if len(page) > limit {
		page = page[:limit]
		next = strconv.FormatInt(page[limit-1].ID, 10)
	}
	return page, next, errors.Join(err, s.deletions.AddThere(ctx, page))
}

// addCorrection stores a new correction, and gives it its ID.
func addCorrection(ctx context.Context, tx *sql.Tx, c *library.Correction) (err error) {
	if c.ID, err = db.NextIDs(ctx, tx, "corrections", 1); err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, `INSERT INTO corrections (id, user_id, kind, listens, title, artist, becomes, made_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		c.ID, c.User, c.Kind, c.Listens, c.Title, c.Artist, c.Becomes, db.Millis(c.MadeAt))
}

// UndoCorrection undoes a person's correction, and returns it. One that is undone already stays so. It returns
// library.ErrNotFound if there is none. If it breaks off halfway, the next call goes on.
func (s *Store) UndoCorrection(ctx context.Context, user, id int64) (c library.Correction, err error) {
	for done := false; !done; {
		err = s.db.Write(ctx, func(tx *sql.Tx) error {
			c, err = ScanCorrection(tx.QueryRowContext(ctx,
				selectCorrection+"WHERE user_id = $1 AND id = $2", user, id))
			if err != nil {
				return db.Found(err)
			}
			if done = !c.UndoneAt.IsZero(); done {
				return nil
			}
			if done, err = s.undo(ctx, tx, c); err != nil || !done {
				return err
			}
			c.UndoneAt = db.Instant(db.Millis(time.Now()))
			return db.ExecTx(ctx, tx, "UPDATE corrections SET undone_at = $2 WHERE id = $1", id, db.Millis(c.UndoneAt))
		})
		if err != nil {
			return c, err
		}
	}
	all := []library.Correction{c}
	err = s.deletions.AddThere(ctx, all)
	return all[0], err
}

// undo undoes a part of a correction, and reports whether nothing of it is left.
func (s *Store) undo(ctx context.Context, tx *sql.Tx, c library.Correction) (done bool, err error) {
	switch c.Kind {
	case library.Deleted:
		return s.bringBack(ctx, tx, c)
	case library.Edited:
		return true, s.changeBack(ctx, tx, c)
	case library.Added:
		return true, s.takeAway(ctx, tx, c)
	case library.Apart:
		return true, s.rejoin(ctx, tx, c)
	case library.Checked:
		return true, db.ExecTx(ctx, tx, "DELETE FROM checked_listens WHERE correction_id = $1", c.ID)
	}
	return false, errors.New("a correction of an unknown kind: " + c.Kind)
}
