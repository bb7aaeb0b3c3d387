package connections

import (
	"context"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

// Outlines returns every connection of every user, without opening credentials.
func (s *Store) Outlines(ctx context.Context) ([]library.Outline, error) {
	scan := func(r db.Scanner) (l library.Outline, err error) {
		var expires int64
		err = r.Scan(&l.User, &l.ID, &l.App, &l.Paused, &expires)
		l.ExpiresAt = db.Instant(expires)
		return l, err
	}
	return db.List(ctx, s.db.Reader, scan,
		"SELECT user_id, connection, app, paused, expires_at FROM connections ORDER BY user_id, connection")
}

// LostConnections returns the connections of all people whose credentials were forgotten and not entered again.
func (s *Store) LostConnections(ctx context.Context) (lost []library.Connection, err error) {
	// All others are longer, and need not be opened.
	shortest := len(s.db.Key.Seal([]byte("{}"), credentialsPlace("connections", 0, "")))
	all, err := db.List(ctx, s.db.Reader, s.ScanConnection,
		SelectConnection+"WHERE length(credentials) <= $1 ORDER BY user_id, connection", shortest)
	for _, c := range all {
		if len(c.Credentials) == 0 {
			lost = append(lost, c)
		}
	}
	return lost, err
}

// Habits returns when each connection was last read and what that brought in the last day, of one stream.
func (s *Store) Habits(ctx context.Context, stream string) ([]library.Habit, error) {
	scan := func(r db.Scanner) (h library.Habit, err error) {
		var at int64
		err = r.Scan(&h.User, &h.Connection, &at, &h.Plays)
		h.ReadAt = db.Instant(at)
		return h, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT s.user_id, s.connection, s.last_success_at,
			COALESCE((SELECT CAST(sum(r.row_count) AS BIGINT) FROM runs r WHERE r.user_id = s.user_id
				AND r.connection = s.connection AND r.stream = s.stream AND r.started_at >= $2), 0)
		FROM streams s WHERE s.stream = $1`, stream, db.Millis(time.Now().Add(-24*time.Hour)))
}
