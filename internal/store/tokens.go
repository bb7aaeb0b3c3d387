package store

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/words"
)

const selectToken = `SELECT id, user_id, name, hash, last_four, scope, created_at, last_used_at, expires_at
	FROM tokens `

func scanToken(r scanner) (t accounts.Token, err error) {
	var created, used, expires int64
	err = r.Scan(&t.ID, &t.User, &t.Name, &t.Hash, &t.LastFour, &t.Scope, &created, &used, &expires)
	t.CreatedAt, t.LastUsedAt, t.ExpiresAt = instant(created), instant(used), instant(expires)
	return t, err
}

// AddToken implements accounts.TokenStore. It stores a new token and returns it with its ID. It refuses a token if its
// owner has one with that name, or most tokens. An expired token with that name is replaced.
func (s *Store) AddToken(ctx context.Context, t accounts.Token, most int) (accounts.Token, error) {
	err := s.write(ctx, func(tx *sql.Tx) error {
		err := execTx(ctx, tx, `DELETE FROM tokens
			WHERE user_id = $1 AND name = $2 AND expires_at BETWEEN 1 AND $3`, t.User, t.Name, millis(time.Now()))
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
		if t.ID, err = nextIDs(ctx, tx, "tokens", 1); err != nil {
			return err
		}
		return execTx(ctx, tx, `INSERT INTO tokens
			(id, user_id, name, hash, last_four, scope, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			t.ID, t.User, t.Name, t.Hash, t.LastFour, string(t.Scope), millis(t.CreatedAt), millis(t.ExpiresAt))
	})
	return t, err
}

// Tokens returns a person's tokens, the newest first.
func (s *Store) Tokens(ctx context.Context, user int64) ([]accounts.Token, error) {
	return list(ctx, s.reader, scanToken, selectToken+"WHERE user_id = $1 ORDER BY id DESC", user)
}

// TokenByHash finds a token, or library.ErrNotFound.
func (s *Store) TokenByHash(ctx context.Context, hash string) (accounts.Token, error) {
	t, err := scanToken(s.reader.QueryRowContext(ctx, selectToken+"WHERE hash = $1", hash))
	return t, found(err)
}

// TokenByID finds a token of a person, or library.ErrNotFound.
func (s *Store) TokenByID(ctx context.Context, user, id int64) (accounts.Token, error) {
	t, err := scanToken(s.reader.QueryRowContext(ctx, selectToken+"WHERE user_id = $1 AND id = $2", user, id))
	return t, found(err)
}

// TouchToken stores when a token was last used.
func (s *Store) TouchToken(ctx context.Context, id int64, at time.Time) error {
	return s.exec(ctx, "UPDATE tokens SET last_used_at = $1 WHERE id = $2", millis(at), id)
}

// DeleteToken removes a token of a person, or returns library.ErrNotFound.
func (s *Store) DeleteToken(ctx context.Context, user, id int64) error {
	return changed(s.writer.ExecContext(ctx, "DELETE FROM tokens WHERE user_id = $1 AND id = $2", user, id))
}
