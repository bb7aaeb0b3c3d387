package runs

import (
	"context"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

// LiveStates implements sync.LiveStore.
func (s *Store) LiveStates(ctx context.Context, user int64) (map[library.ConnectionID][]byte, error) {
	states := map[library.ConnectionID][]byte{}
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var conn library.ConnectionID
		var state []byte
		err = r.Scan(&conn, &state)
		states[conn] = state
		return none, err
	}, "SELECT connection, state FROM live_states WHERE user_id = $1", user)
	return states, err
}

// SaveLiveStates implements sync.LiveStore.
func (s *Store) SaveLiveStates(ctx context.Context, all []library.LiveState) error {
	for _, v := range all {
		err := s.db.ExecFor(ctx, v.User, `INSERT INTO live_states (user_id, connection, state)
			SELECT user_id, connection, $3 FROM connections WHERE user_id = $1 AND connection = $2
			ON CONFLICT (user_id, connection) DO UPDATE SET state = excluded.state
				WHERE live_states.state <> excluded.state`, v.User, v.Connection, string(v.State))
		if err != nil {
			return err
		}
	}
	return nil
}
