package statistics

import (
	"context"
	"time"

	"reprise/internal/store/db"
	"reprise/internal/words"
)

// ZoneOf returns the time zone in which a person's days begin, the server's if they have chosen none.
func (s *Store) ZoneOf(ctx context.Context, user int64) (*time.Location, error) {
	var name string
	err := s.db.Reader.QueryRowContext(ctx, "SELECT zone FROM users WHERE id = $1", user).Scan(&name)
	if zone, ok := words.ZoneNamed(name); ok {
		return zone, nil
	}
	return time.Local, db.Found(err)
}
