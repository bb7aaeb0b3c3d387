package sharing

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

const selectComparison = `SELECT id, user_id, link, host, name, document, read_at, tried_at, expires_at, problem
	FROM comparisons `

func (s *Store) scanComparison(r db.Scanner) (v library.Comparison, err error) {
	var link, document string
	var read, tried, expires int64
	err = r.Scan(&v.ID, &v.User, &link, &v.Host, &v.Name, &document, &read, &tried, &expires, &v.Problem)
	if plain, e := s.db.Key.Open(link, comparisonPlace(v.ID)); e == nil {
		v.Link = string(plain)
	}
	v.Document, v.ReadAt, v.TriedAt = []byte(document), db.Instant(read), db.Instant(tried)
	v.ExpiresAt = db.Instant(expires)
	return v, err
}

func comparisonPlace(id int64) string { return "comparisons.link." + strconv.FormatInt(id, 10) }

// Comparisons returns what a person compares with on other servers, in the order in which they began.
func (s *Store) Comparisons(ctx context.Context, user int64) ([]library.Comparison, error) {
	return db.List(ctx, s.db.Reader, s.scanComparison, selectComparison+"WHERE user_id = $1 ORDER BY id", user)
}

// Comparison returns one of a person's comparisons, or library.ErrNotFound.
func (s *Store) Comparison(ctx context.Context, user, id int64) (library.Comparison, error) {
	v, err := s.scanComparison(s.db.Reader.QueryRowContext(ctx, selectComparison+"WHERE user_id = $1 AND id = $2", user,
		id))
	return v, db.Found(err)
}

// AddComparison stores a comparison and returns it with its id: that of the same link, if the person has it already.
func (s *Store) AddComparison(ctx context.Context, v library.Comparison) (library.Comparison, error) {
	hash := accounts.HashToken(v.Link)
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT id FROM comparisons WHERE user_id = $1 AND hash = $2", v.User, hash).
			Scan(&v.ID)
		if !errors.Is(err, sql.ErrNoRows) {
			return errors.Join(err, s.changeComparison(ctx, tx, v))
		}
		if v.ID, err = db.NextIDs(ctx, tx, "comparisons", 1); err != nil {
			return err
		}
		err = db.ExecTx(ctx, tx, `INSERT INTO comparisons (id, user_id, hash, link, host, name, document, read_at,
			tried_at, expires_at, problem) VALUES ($1, $2, $3, $4, $5, '', '', 0, 0, 0, '')`, v.ID, v.User, hash,
			s.db.Key.Seal([]byte(v.Link), comparisonPlace(v.ID)), v.Host)
		return errors.Join(err, s.changeComparison(ctx, tx, v))
	})
	return v, err
}

// ChangeComparison stores what became of the last attempt to read a comparison, or returns library.ErrNotFound if the
// person has removed it.
func (s *Store) ChangeComparison(ctx context.Context, v library.Comparison) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error { return s.changeComparison(ctx, tx, v) })
}

func (s *Store) changeComparison(ctx context.Context, tx *sql.Tx, v library.Comparison) error {
	return db.Changed(tx.ExecContext(ctx, `UPDATE comparisons SET name = $3, document = $4, read_at = $5, tried_at = $6,
		expires_at = $7, problem = $8 WHERE user_id = $1 AND id = $2`, v.User, v.ID, v.Name, string(v.Document),
		db.Millis(v.ReadAt), db.Millis(v.TriedAt), db.Millis(v.ExpiresAt), v.Problem))
}

// DeleteComparison removes one of a person's comparisons with all that was read, or returns library.ErrNotFound.
func (s *Store) DeleteComparison(ctx context.Context, user, id int64) error {
	return db.Explain(db.Changed(s.db.Change(ctx, "DELETE FROM comparisons WHERE user_id = $1 AND id = $2", user, id)))
}
