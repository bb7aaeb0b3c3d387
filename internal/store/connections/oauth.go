package connections

import (
	"context"
	"database/sql"

	"reprise/internal/oauth"
	"reprise/internal/store/db"
)

// MostStates is how many requests for consent a person may have open; older ones end.
const MostStates = 20

// SaveState implements oauth.StateStore.
func (s *Store) SaveState(ctx context.Context, v oauth.State) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.ExecTx(ctx, tx,
			`DELETE FROM oauth_states WHERE user_id = $1 AND id NOT IN (SELECT id FROM oauth_states
			WHERE user_id = $1 ORDER BY created_at DESC, id LIMIT $2)`, v.User, MostStates-1)
		if err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO oauth_states
			(id, session, user_id, connection, verifier, return_to, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			v.ID, v.Session, v.User, v.Connection, s.db.Key.Seal([]byte(v.Verifier), "oauth_states.verifier."+v.ID),
			v.ReturnTo, db.Millis(v.CreatedAt))
	})
}

// TakeState implements oauth.StateStore.
func (s *Store) TakeState(ctx context.Context, asked oauth.State) (oauth.State, error) {
	v := oauth.State{ID: asked.ID}
	var sealed string
	var created int64
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `DELETE FROM oauth_states WHERE id = $1 AND session = $2 AND user_id = $3
			RETURNING session, user_id, connection, verifier, return_to, created_at`, asked.ID, asked.Session,
			asked.User).Scan(&v.Session, &v.User, &v.Connection, &sealed, &v.ReturnTo, &created)
	})
	if err != nil {
		return v, db.Found(err)
	}
	v.CreatedAt = db.Instant(created)
	verifier, err := s.db.Key.Open(sealed, "oauth_states.verifier."+v.ID)
	v.Verifier = string(verifier)
	return v, err
}
