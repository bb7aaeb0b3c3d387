package runs

import (
	"context"
	"errors"
	"maps"
	"slices"

	"database/sql"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

// LiveStates implements sync.LiveStore.
func (s *Store) LiveStates(ctx context.Context, user int64) (states []byte, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT states FROM live_states WHERE user_id = $1", user).Scan(&states)
	if err = db.Found(err); errors.Is(err, library.ErrNotFound) {
		return nil, nil
	}
	return states, err
}

// SaveLiveStates implements sync.LiveStore. A person who is gone is left out.
func (s *Store) SaveLiveStates(ctx context.Context, byUser map[int64][]byte) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for _, user := range slices.Sorted(maps.Keys(byUser)) {
			err := db.ExecTx(ctx, tx, `INSERT INTO live_states (user_id, states) SELECT id, $2 FROM users WHERE id = $1
				ON CONFLICT (user_id) DO UPDATE SET states = excluded.states`, user, string(byUser[user]))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
