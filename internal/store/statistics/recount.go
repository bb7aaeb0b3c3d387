package statistics

import (
	"context"
	"database/sql"

	"reprise/internal/listening"
	"reprise/internal/store/db"
)

// Recount discards all columns and builds them again from everybody's listens, whose number it returns. It should never
// be necessary, and is for people who doubt a number. It may run beside a server.
func (s *Store) Recount(ctx context.Context) (listens int, err error) {
	people, err := s.people.Users(ctx)
	if err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		const forget = "UPDATE listen_columns SET version = version + 1, data = NULL"
		if err := db.ExecTx(ctx, tx, forget); err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO listen_columns (user_id, span, version)
			SELECT DISTINCT user_id, `+SpanIn("played_at")+`, 1 FROM listens
			WHERE played_at IS NOT NULL ON CONFLICT DO NOTHING`)
	})
	if err != nil {
		return 0, err
	}
	for _, p := range people {
		err := s.EachColumns(ctx, Range{p.ID, -1 << 50, 1 << 50, false}, func(c *listening.Columns) bool {
			listens += len(c.At)
			return true
		})
		if err != nil {
			return listens, err
		}
	}
	return listens, nil
}
