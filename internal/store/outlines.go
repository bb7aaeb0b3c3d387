package store

import (
	"context"

	"reprise/internal/library"
)

// Outlines returns every connection of every user, without opening credentials.
func (s *Store) Outlines(ctx context.Context) ([]library.Outline, error) {
	scan := func(r scanner) (l library.Outline, err error) {
		var expires int64
		err = r.Scan(&l.User, &l.ID, &l.App, &l.Paused, &expires)
		l.ExpiresAt = instant(expires)
		return l, err
	}
	return list(ctx, s.reader, scan,
		"SELECT user_id, connection, app, paused, expires_at FROM connections ORDER BY user_id, connection")
}

// LostConnections returns the connections of all people whose credentials were forgotten and not entered again.
func (s *Store) LostConnections(ctx context.Context) (lost []library.Connection, err error) {
	// All others are longer, and need not be opened.
	shortest := len(s.key.seal([]byte("{}"), credentialsPlace("connections", 0, "")))
	all, err := list(ctx, s.reader, s.scanConnection,
		selectConnection+"WHERE length(credentials) <= $1 ORDER BY user_id, connection", shortest)
	for _, c := range all {
		if len(c.Credentials) == 0 {
			lost = append(lost, c)
		}
	}
	return lost, err
}
