package runs

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

const selectSkipped = `SELECT connection, stream, kind, playlist, source_id, name, inside, snapshot, category, reason,
	answer, failures, since, tried_at, retry_at FROM skipped `

func scanSkipped(r db.Scanner) (v library.Skipped, err error) {
	var since, tried, retry int64
	err = r.Scan(&v.Connection, &v.Stream, &v.Kind, &v.Playlist, &v.SourceID, &v.Name, &v.In, &v.Snapshot,
		&v.Category, &v.Reason, &v.Answer, &v.Failures, &since, &tried, &retry)
	v.Since, v.TriedAt, v.RetryAt = db.Instant(since), db.Instant(tried), db.Instant(retry)
	return v, err
}

// Skipped returns what a connection's provider does not give: playlists first, each kind in the order of names.
func (s *Store) Skipped(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Skipped, error) {
	return db.List(ctx, s.db.Reader, scanSkipped, selectSkipped+`WHERE user_id = $1 AND connection = $2
		ORDER BY kind, inside, name, playlist, source_id LIMIT $3`, user, conn, library.MaxSkipped)
}

// AllSkipped is Skipped for all connections of a person.
func (s *Store) AllSkipped(ctx context.Context, user int64) ([]library.Skipped, error) {
	return db.List(ctx, s.db.Reader, scanSkipped, selectSkipped+`WHERE user_id = $1
		ORDER BY connection, kind, inside, name, playlist, source_id`, user)
}

// SaveSkipped replaces what is skipped of a stream, at most library.MaxSkipped items. It stores nothing if the
// connection is gone.
func (s *Store) SaveSkipped(
	ctx context.Context, user int64, conn library.ConnectionID, stream string, items []library.Skipped,
) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.ExecTx(ctx, tx, "DELETE FROM skipped WHERE user_id = $1 AND connection = $2 AND stream = $3",
			user, conn, stream)
		for _, v := range items[:min(len(items), library.MaxSkipped)] {
			if err != nil {
				return err
			}
			err = db.ExecTx(ctx, tx, `INSERT INTO skipped (user_id, connection, stream, kind, playlist, source_id, name,
					inside, snapshot, category, reason, answer, failures, since, tried_at, retry_at)
				SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
				WHERE EXISTS (SELECT 1 FROM connections WHERE user_id = $1 AND connection = $2)
				ON CONFLICT DO NOTHING`,
				user, conn, stream, v.Kind, v.Playlist, v.SourceID, v.Name, v.In, v.Snapshot, v.Category, v.Reason,
				v.Answer, v.Failures, db.Millis(v.Since), db.Millis(v.TriedAt), db.Millis(v.RetryAt))
		}
		return err
	})
}

// RetrySkipped makes everything that is skipped of a connection due now, and returns how many items that are.
func (s *Store) RetrySkipped(ctx context.Context, user int64, conn library.ConnectionID) (n int, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		n, err = db.Affected(tx.ExecContext(ctx,
			"UPDATE skipped SET retry_at = $1 WHERE user_id = $2 AND connection = $3", db.Millis(time.Now()), user,
			conn))
		return err
	})
	return n, err
}
