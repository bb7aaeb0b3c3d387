package store

import (
	"context"
	"database/sql"

	"reprise/internal/oauth"
)

// mostStates is how many requests for consent a person may have open; older ones end.
const mostStates = 20

// SaveState implements oauth.StateStore.
func (s *Store) SaveState(ctx context.Context, v oauth.State) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		err := execTx(ctx, tx, `DELETE FROM oauth_states WHERE user_id = $1 AND id NOT IN (SELECT id FROM oauth_states
			WHERE user_id = $1 ORDER BY created_at DESC, id LIMIT $2)`, v.User, mostStates-1)
		if err != nil {
			return err
		}
		return execTx(ctx, tx, `INSERT INTO oauth_states
			(id, session, user_id, connection, verifier, return_to, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			v.ID, v.Session, v.User, v.Connection, s.key.seal([]byte(v.Verifier), "oauth_states.verifier."+v.ID),
			v.ReturnTo, millis(v.CreatedAt))
	})
}

// TakeState implements oauth.StateStore.
func (s *Store) TakeState(ctx context.Context, asked oauth.State) (oauth.State, error) {
	v := oauth.State{ID: asked.ID}
	var sealed string
	var created int64
	err := s.writer.QueryRowContext(ctx, `DELETE FROM oauth_states
		WHERE id = $1 AND session = $2 AND user_id = $3
		RETURNING session, user_id, connection, verifier, return_to, created_at`, asked.ID, asked.Session, asked.User).
		Scan(&v.Session, &v.User, &v.Connection, &sealed, &v.ReturnTo, &created)
	if err != nil {
		return v, found(err)
	}
	v.CreatedAt = instant(created)
	verifier, err := s.key.open(sealed, "oauth_states.verifier."+v.ID)
	v.Verifier = string(verifier)
	return v, err
}
