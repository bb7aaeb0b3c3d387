package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/library"
)

// gapsKept is the number of gaps that are kept of each connection.
const gapsKept = 20

// noteGap stores a gap that has ended. The listens that the provider still offered of it are stored already.
func noteGap(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID, g library.Gap) error {
	return errors.Join(
		execTx(ctx, tx, `INSERT INTO gaps (user_id, connection, from_at, to_at, lost_to, noticed_at, recovered)
			SELECT $1, $2, $3, $4, $5, $6, count(DISTINCT l.id) FROM listens l
			JOIN listen_sources s ON s.listen_id = l.id AND `+fromOne("s", 2)+`
			WHERE l.user_id = $1 AND l.played_at BETWEEN $7 AND $8 AND l.played_at + s.later BETWEEN $3 AND $4
			ON CONFLICT (user_id, connection, from_at) DO UPDATE
			SET to_at = excluded.to_at, lost_to = excluded.lost_to, recovered = excluded.recovered`,
			user, conn, millis(g.From), millis(g.To), millis(g.LostTo), millis(time.Now()),
			millis(g.From.Add(-reach)), millis(g.To.Add(reach))),
		execTx(ctx, tx, `DELETE FROM gaps WHERE user_id = $1 AND connection = $2 AND from_at NOT IN
			(SELECT from_at FROM gaps WHERE user_id = $1 AND connection = $2 ORDER BY from_at DESC LIMIT $3)`,
			user, conn, gapsKept))
}

// fillGaps counts the imported listens that lie in gaps of a connection.
func fillGaps(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID, fresh []*library.Listen) error {
	if len(fresh) == 0 {
		return nil
	}
	open, err := list(ctx, tx, scanGap,
		selectGap+"WHERE user_id = $1 AND connection = $2 AND lost_to >= $3 AND from_at <= $4 ORDER BY from_at",
		user, conn, millis(fresh[0].PlayedAt), millis(fresh[len(fresh)-1].PlayedAt))
	if err != nil {
		return err
	}
	for _, g := range open {
		n := 0
		for _, l := range fresh {
			if !l.PlayedAt.Before(g.From) && l.PlayedAt.Before(g.LostTo) {
				n++
			}
		}
		if n == 0 {
			continue
		}
		err := execTx(ctx, tx, `UPDATE gaps SET filled = filled + $1, filled_at = $2
			WHERE user_id = $3 AND connection = $4 AND from_at = $5`,
			n, millis(time.Now()), user, conn, millis(g.From))
		if err != nil {
			return err
		}
	}
	return nil
}

const selectGap = "SELECT from_at, to_at, lost_to, recovered, filled, filled_at FROM gaps "

func scanGap(r scanner) (g library.Gap, err error) {
	var from, to, lost, filled int64
	err = r.Scan(&from, &to, &lost, &g.Recovered, &g.Filled, &filled)
	g.From, g.To, g.LostTo, g.FilledAt = instant(from), instant(to), instant(lost), instant(filled)
	return g, err
}

// Gaps returns the gaps of a connection, the latest first.
func (s *Store) Gaps(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Gap, error) {
	return list(ctx, s.reader, scanGap, selectGap+"WHERE user_id = $1 AND connection = $2 ORDER BY from_at DESC",
		user, conn)
}
