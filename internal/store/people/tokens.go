package people

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

const selectToken = `SELECT id, user_id, name, hash, last_four, scope, created_at, last_used_at, expires_at
	FROM tokens `

func scanToken(r db.Scanner) (t accounts.Token, err error) {
	var created, used, expires int64
	err = r.Scan(&t.ID, &t.User, &t.Name, &t.Hash, &t.LastFour, &t.Scope, &created, &used, &expires)
	t.CreatedAt, t.LastUsedAt, t.ExpiresAt = db.Instant(created), db.Instant(used), db.Instant(expires)
	return t, err
}

// AddToken implements accounts.TokenStore. It stores a new token and returns it with its ID. It refuses a token if its
// owner has one with that name, or most tokens. An expired token with that name is replaced.
func (s *Store) AddToken(ctx context.Context, t accounts.Token, most int) (accounts.Token, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.ExecTx(ctx, tx, `DELETE FROM tokens
			WHERE user_id = $1 AND name = $2 AND expires_at BETWEEN 1 AND $3`, t.User, t.Name, db.Millis(time.Now()))
		if err != nil {
			return err
		}
		var all, same int
		err = tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(CASE WHEN name = $2 THEN 1 ELSE 0 END), 0)
			FROM tokens WHERE user_id = $1`, t.User, t.Name).Scan(&all, &same)
		switch {
		case err != nil:
			return err
		case same > 0:
			return accounts.ErrTokenName
		case all >= most:
			return accounts.InputError{Text: words.New("input.tokens", "Number", all)}
		}
		if t.ID, err = db.NextIDs(ctx, tx, "tokens", 1); err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO tokens
			(id, user_id, name, hash, last_four, scope, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			t.ID, t.User, t.Name, t.Hash, t.LastFour, string(t.Scope), db.Millis(t.CreatedAt), db.Millis(t.ExpiresAt))
	})
	return t, err
}

// Tokens returns a person's tokens, the newest first.
func (s *Store) Tokens(ctx context.Context, user int64) ([]accounts.Token, error) {
	return db.List(ctx, s.db.Reader, scanToken, selectToken+"WHERE user_id = $1 ORDER BY id DESC", user)
}

// TokenByHash finds a token, or library.ErrNotFound.
func (s *Store) TokenByHash(ctx context.Context, hash string) (accounts.Token, error) {
	t, err := scanToken(s.db.Reader.QueryRowContext(ctx, selectToken+"WHERE hash = $1", hash))
	return t, db.Found(err)
}

// TokenByID finds a token of a person, or library.ErrNotFound.
func (s *Store) TokenByID(ctx context.Context, user, id int64) (accounts.Token, error) {
	t, err := scanToken(s.db.Reader.QueryRowContext(ctx, selectToken+"WHERE user_id = $1 AND id = $2", user, id))
	return t, db.Found(err)
}

// TouchToken stores when a token was last used.
func (s *Store) TouchToken(ctx context.Context, id int64, at time.Time) error {
	return s.db.Exec(ctx, "UPDATE tokens SET last_used_at = $1 WHERE id = $2", db.Millis(at), id)
}

// DeleteToken removes a token of a person, or returns library.ErrNotFound.
func (s *Store) DeleteToken(ctx context.Context, user, id int64) error {
	return db.Changed(s.db.Change(ctx, "DELETE FROM tokens WHERE user_id = $1 AND id = $2", user, id))
}
