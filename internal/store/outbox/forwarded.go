package outbox

import (
	"context"
	"database/sql"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/statistics"
)

// forwarded is a listen of a delivery, with one of its sources.
type forwarded struct {
	library.StoredListen
	library.Source // empty if it has none
	delivery       int64
	user           int64
	target         library.ConnectionID
}

func scanForwarded(r db.Scanner) (f forwarded, err error) {
	var later int64
	f.StoredListen, err = listens.ScanListen(db.Wider{Scanner: r, More: []any{&f.delivery, &f.user, &f.target,
		&f.Connection, &f.Source.SourceID, &later, &f.Player}})
	f.Later = db.Length(later)
	return f, err
}

// selectForwarded selects the listens of deliveries, the oldest first, with a row for each of their sources.
var selectForwarded = "SELECT " + listens.ListenColumns + `, f.delivery_id, f.user_id, f.connection,
		coalesce(n.connection, ''), ` + listens.IdOf("s") + ` AS source_id, coalesce(s.later, 0), coalesce(y.name, '')
	FROM forwards f JOIN listens l ON l.id = f.listen_id ` + listens.TheirSpellings + `
	LEFT JOIN listen_sources s ON s.listen_id = l.id
	LEFT JOIN connection_numbers n ON n.number = s.connection
	LEFT JOIN players y ON y.id = s.player
	WHERE f.delivery_id = $1 ORDER BY l.played_at, l.id, n.connection, source_id`

// forwardedIn returns the listens of a delivery, as they are stored now.
func (s *Store) forwardedIn(ctx context.Context, delivery int64) ([]forwarded, error) {
	return db.List(ctx, s.db.Reader, scanForwarded, selectForwarded, delivery)
}

// unforward forgets that some listens are forwarded, by a condition for rows of forwards.
func unforward(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	err := db.ExecTx(ctx, tx, `UPDATE listen_columns SET version = version + 1 WHERE (user_id, span) IN
		(SELECT forwards.user_id, `+statistics.SpanIn("listens.played_at")+` FROM forwards
		JOIN listens ON listens.id = forwards.listen_id WHERE `+condition+")", args...)
	if err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, "DELETE FROM forwards WHERE "+condition, args...)
}
