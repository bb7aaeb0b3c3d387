package people

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

const selectYearLink = "SELECT l.id, l.user_id, l.year, l.hash, l.code, l.parts, l.zone, l.made_at FROM year_links l "

const deleteYearLink = "DELETE FROM year_links WHERE user_id = $1 AND year = $2"

func (s *Store) scanYearLink(r db.Scanner) (l library.YearLink, err error) {
	var sealed, parts string
	var id, made int64
	err = r.Scan(&id, &l.User, &l.Year, &l.Hash, &sealed, &parts, &l.Zone, &made)
	l.Code = s.openCode(sealed, yearPlace(id), l.Hash)
	l.Parts, l.MadeAt = strings.Fields(parts), db.Instant(made)
	return l, err
}

func yearPlace(id int64) string { return "year_links.code." + strconv.FormatInt(id, 10) }

// YearLink returns the link to a year of a person, or library.ErrNotFound.
func (s *Store) YearLink(ctx context.Context, user int64, year int) (library.YearLink, error) {
	l, err := s.scanYearLink(s.db.Reader.QueryRowContext(ctx, selectYearLink+
		"WHERE l.user_id = $1 AND l.year = $2", user, year))
	return l, db.Found(err)
}

// YearLinkByHash returns the link whose code has a hash. It returns library.ErrNotFound if there is none, or if its
// person is being removed.
func (s *Store) YearLinkByHash(ctx context.Context, hash string) (library.YearLink, error) {
	l, err := s.scanYearLink(s.db.Reader.QueryRowContext(ctx, selectYearLink+
		"JOIN users u ON u.id = l.user_id WHERE l.hash = $1 AND u.role <> $2", hash, Leaving))
	return l, db.Found(err)
}

// KeepYearLink stores the link to a person's year, in place of an earlier one. A link without a hash keeps that of the
// earlier one; if there is none, it returns library.ErrNotFound.
func (s *Store) KeepYearLink(ctx context.Context, l library.YearLink) error {
	parts := strings.Join(l.Parts, " ")
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		if l.Hash == "" {
			n, err := db.Affected(tx.ExecContext(ctx, `UPDATE year_links SET parts = $3, zone = $4
				WHERE user_id = $1 AND year = $2`, l.User, l.Year, parts, l.Zone))
			if err == nil && n == 0 {
				err = library.ErrNotFound
			}
			return err
		}
		err := db.ExecTx(ctx, tx, deleteYearLink, l.User, l.Year)
		if err != nil {
			return err
		}
		id, err := db.NextIDs(ctx, tx, "year_links", 1)
		if err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO year_links
			(id, user_id, year, hash, code, parts, zone, made_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			id, l.User, l.Year, l.Hash, s.db.Key.Seal([]byte(l.Code), yearPlace(id)), parts, l.Zone,
			db.Millis(l.MadeAt))
	})
}

// DeleteYearLink removes the link to a person's year, or returns library.ErrNotFound.
func (s *Store) DeleteYearLink(ctx context.Context, user int64, year int) error {
	n, err := db.Affected(s.db.Change(ctx, deleteYearLink, user, year))
	if err == nil && n == 0 {
		return library.ErrNotFound
	}
	return db.Explain(err)
}
