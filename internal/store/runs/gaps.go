package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
)

// gapsKept is the number of gaps that are kept of each connection, beside those in which something was lost.
const gapsKept = 20

// NoteGap stores a gap that has ended. The listens that the provider still offered of it are stored already.
func NoteGap(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID, g library.Gap) error {
	instead := []byte("[]")
	if !g.LostTo.IsZero() {
		all, err := StandIns(ctx, tx, user, conn, g.From)
		if err != nil {
			return err
		}
		instead, _ = json.Marshal(append([]library.ConnectionID{}, all...)) // texts
	}
	return errors.Join(
		db.ExecTx(ctx, tx, `INSERT INTO gaps (user_id, connection, from_at, to_at, lost_to, noticed_at, recovered,
				stand_ins)
			SELECT $1, $2, $3, $4, $5, $6, count(DISTINCT l.id), $9 FROM listens l
			JOIN listen_sources s ON s.listen_id = l.id AND `+connections.SourceOf("s", 2)+`
			WHERE l.user_id = $1 AND l.played_at BETWEEN $7 AND $8 AND l.played_at + s.later BETWEEN $3 AND $4
			ON CONFLICT (user_id, connection, from_at) DO UPDATE
			SET to_at = excluded.to_at, lost_to = excluded.lost_to, recovered = excluded.recovered,
				stand_ins = excluded.stand_ins`,
			user, conn, db.Millis(g.From), db.Millis(g.To), db.Millis(g.LostTo), db.Millis(time.Now()),
			db.Millis(g.From.Add(-music.Reach)), db.Millis(g.To.Add(music.Reach)), string(instead)),
		db.ExecTx(ctx, tx, `DELETE FROM gaps WHERE user_id = $1 AND connection = $2 AND lost_to = 0 AND from_at NOT IN
			(SELECT from_at FROM gaps WHERE user_id = $1 AND connection = $2 ORDER BY from_at DESC LIMIT $3)`,
			user, conn, gapsKept))
}

// alike is how long before a source was read last its plays are compared with those of others.
const alike = 60 * 24 * time.Hour

// StandIns returns the connections that have reported at least half of what another one has of the two months up to a
// time, in the order of their names: when that one can't be read, its plays still come through them.
func StandIns(ctx context.Context, q db.Querier, user int64, conn library.ConnectionID, until time.Time) (
	[]library.ConnectionID, error) {
	return db.List(ctx, q, func(r db.Scanner) (id library.ConnectionID, err error) { return id, r.Scan(&id) },
		`WITH own AS (SELECT l.id FROM listens l WHERE l.user_id = $1 AND l.played_at > $3 AND l.played_at <= $4
			AND EXISTS (SELECT 1 FROM listen_sources s WHERE s.listen_id = l.id AND `+connections.SourceOf("s", 2)+`))
		SELECT n.connection FROM own JOIN listen_sources o ON o.listen_id = own.id
			AND NOT `+connections.SourceOf("o", 2)+`
		JOIN connection_numbers n ON n.number = o.connection GROUP BY n.connection
		HAVING 2 * count(DISTINCT own.id) >= (SELECT count(*) FROM own) ORDER BY n.connection`,
		user, conn, db.Millis(until.Add(-alike)), db.Millis(until))
}

// FillGaps counts the imported listens that lie in gaps of a connection.
func FillGaps(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID, fresh []*library.Listen) error {
	if len(fresh) == 0 {
		return nil
	}
	open, err := db.List(ctx, tx, scanGap,
		selectGap+"WHERE user_id = $1 AND connection = $2 AND lost_to >= $3 AND from_at <= $4 ORDER BY from_at",
		user, conn, db.Millis(fresh[0].PlayedAt), db.Millis(fresh[len(fresh)-1].PlayedAt))
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
		err := db.ExecTx(ctx, tx, `UPDATE gaps SET filled = filled + $1, filled_at = $2
			WHERE user_id = $3 AND connection = $4 AND from_at = $5`,
			n, db.Millis(time.Now()), user, conn, db.Millis(g.From))
		if err != nil {
			return err
		}
	}
	return nil
}

const selectGap = "SELECT from_at, to_at, lost_to, recovered, filled, filled_at FROM gaps "

func scanGap(r db.Scanner) (g library.Gap, err error) {
	var from, to, lost, filled int64
	err = r.Scan(&from, &to, &lost, &g.Recovered, &g.Filled, &filled)
	g.From, g.To, g.LostTo, g.FilledAt = db.Instant(from), db.Instant(to), db.Instant(lost), db.Instant(filled)
	return g, err
}

// Gaps returns the gaps of a connection, the latest first.
func (s *Store) Gaps(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Gap, error) {
	return db.List(ctx, s.db.Reader, scanGap, selectGap+"WHERE user_id = $1 AND connection = $2 ORDER BY from_at DESC",
		user, conn)
}
