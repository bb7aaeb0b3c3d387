package settings

import (
	"context"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/runs"
)

// MarkRun stores that a run of a stream may end the process. Until UnmarkRun the stream counts as one whose latest run
// did.
func (s *Store) MarkRun(ctx context.Context, user int64, conn library.ConnectionID, stream string) error {
	return s.db.Exec(ctx, runs.UpsertStream+`crashes) VALUES ($1, $2, $3, 1)
		ON CONFLICT (user_id, connection, stream) DO UPDATE SET crashes = streams.crashes + 1`, user, conn, stream)
}

// UnmarkRun stores that the process has survived a run of the stream.
func (s *Store) UnmarkRun(ctx context.Context, user int64, conn library.ConnectionID, stream string) error {
	return s.db.Exec(ctx, "UPDATE streams SET crashes = 0 WHERE user_id = $1 AND connection = $2 AND stream = $3",
		user, conn, stream)
}

// Crashes returns the streams whose latest runs ended the process.
func (s *Store) Crashes(ctx context.Context) ([]library.Crash, error) {
	scan := func(r db.Scanner) (c library.Crash, err error) {
		return c, r.Scan(&c.User, &c.Connection, &c.Stream, &c.Times)
	}
	return db.List(ctx, s.db.Reader, scan, "SELECT user_id, connection, stream, crashes FROM streams WHERE crashes > 0")
}
