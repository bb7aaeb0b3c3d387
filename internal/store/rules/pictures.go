package rules

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

// PictureMusic sets the picture of an artist, an album or a track, a JPEG, for the whole household. It returns
// library.ErrNotFound if the person has not heard it, and library.ErrUnchanged if it has this picture already.
func (s *Store) PictureMusic(ctx context.Context, user int64, kind string, id int64, picture []byte) (
	c library.Correction, err error) {
	m, err := s.enrichment.Music(ctx, user, kind, id)
	if err != nil {
		return c, err
	}
	sum := sha256.Sum256(picture)
	name := hex.EncodeToString(sum[:])
	if m.Chosen == name {
		return c, library.ErrUnchanged
	}
	c = ruleOn(user, library.Pictured, library.Heard{ID: m.ID, Entity: m.Entity, Plays: m.Plays})
	c.Becomes, c.Listens = name, 0
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		return errors.Join(
			db.ExecTx(ctx, tx, "INSERT INTO chosen_pictures (name, data) VALUES ($1, $2) ON CONFLICT DO NOTHING", name,
				picture),
			addRule(ctx, tx, &c, m.ID, nil))
	})
	return c, err
}

// AutomaticPicture undoes the rules that set the picture of an artist, an album or a track, so that it has the picture
// from a service again. It returns library.ErrUnchanged if no picture was set.
func (s *Store) AutomaticPicture(ctx context.Context, user int64, kind string, id int64) error {
	m, err := s.enrichment.Music(ctx, user, kind, id)
	if err != nil {
		return err
	}
	ruled, err := s.catalogue.Rulings(ctx)
	if err != nil {
		return err
	}
	type row struct{ rule, of int64 }
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.rule, &v.of) }
	all, err := db.List(ctx, s.db.Reader, scan, `SELECT r.id, coalesce(j.entity_id, r.entity_id) FROM music_rules r
		LEFT JOIN joined_ids j ON j.old_id = r.entity_id WHERE r.kind = 'picture' AND r.undone_at = 0 ORDER BY r.id`)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(v row) bool { return ruled.End(v.of) != m.ID })
	if len(all) == 0 {
		return library.ErrUnchanged
	}
	for _, v := range all {
		if _, err := s.UndoRule(ctx, v.rule); err != nil {
			return err
		}
	}
	return nil
}

// ChosenPicture returns a picture that an administrator has chosen, or library.ErrNotFound.
func (s *Store) ChosenPicture(ctx context.Context, name string) (picture []byte, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT data FROM chosen_pictures WHERE name = $1", name).Scan(&picture)
	return picture, db.Found(err)
}
