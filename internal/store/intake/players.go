package intake

import (
	"context"
	"database/sql"
	"slices"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// LearnPlayers gives stored sources the players that a file names for them, if they have none: they were stored before
// players were.
func (s *Store) LearnPlayers(ctx context.Context, tx *sql.Tx, page library.Intake) error {
	named := map[string]string{} // by source id
	var names []string
	var keys []any
	for _, l := range page.Listens {
		if l.Player != "" && named[l.SourceID] == "" {
			named[l.SourceID] = l.Player
			names = append(names, l.Player)
			keys = append(keys, SourceKey(page.User, page.Connection, l.SourceID))
		}
	}
	if len(names) == 0 {
		return nil
	}
	players, err := numbersOf(ctx, tx, "players", names)
	if err != nil {
		return err
	}
	type source struct {
		listen, key, at int64
		id              string
	}
	scan := func(r db.Scanner) (v source, err error) { return v, r.Scan(&v.listen, &v.key, &v.id, &v.at) }
	var learned []delivery.Play
	for _, in := range []Pile{Kept, Removed} {
		for chunk := range slices.Chunk(keys, 100) {
			all, err := db.List(ctx, tx, scan,
				"SELECT s.listen_id, s.source_key, "+listens.IdOf("s")+", l.played_at FROM "+
					in.Sources+" s CROSS JOIN "+in.Listens+" l WHERE l.id = s.listen_id AND l.user_id = $1 AND "+
					connections.SourceOf("s", 2)+" AND s.player = 0 AND s.source_key IN "+db.Numbered(3, len(chunk)),
				append([]any{page.User, page.Connection}, chunk...)...)
			if err != nil {
				return err
			}
			for _, v := range all {
				if named[v.id] == "" { // another one with the same key
					continue
				}
				err := db.ExecTx(ctx, tx, "UPDATE "+in.Sources+` SET player = $1
					WHERE listen_id = $2 AND source_key = $3 AND `+listens.IdOf(
					in.Sources)+" = $4 AND "+connections.SourceOf(in.Sources, 5),
					players[named[v.id]], v.listen, v.key, v.id, page.Connection)
				if err != nil {
					return err
				}
				if !in.Removed {
					learned = append(learned, delivery.Play{Listen: v.listen, At: db.Instant(v.at)})
				}
			}
		}
	}
	if len(learned) == 0 {
		return nil
	}
	return s.ListensChanged(ctx, tx, page.User, learned)
}
