package intake

import (
	"context"
	"database/sql"
	"slices"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// PlayersOf returns the numbers of players by name. It returns nil, and asks nothing, if all names are empty.
func PlayersOf(ctx context.Context, tx *sql.Tx, names []string) (map[string]int64, error) {
	return numbersOf(ctx, tx, "players", names)
}

// numbersOf returns the numbers of names in a table, where each gets one when it is first heard of. It sorts names. It
// returns nil, and asks nothing, if all are empty.
func numbersOf(ctx context.Context, tx *sql.Tx, table string, names []string) (map[string]int64, error) {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	if len(names) == 0 {
		return nil, nil
	}
	numbers := make(map[string]int64, len(names))
	scan := func(r db.Scanner) (none struct{}, err error) {
		var id int64
		var name string
		err = r.Scan(&id, &name)
		numbers[name] = id
		return none, err
	}
	for chunk := range slices.Chunk(names, 100) {
		_, err := db.List(ctx, tx, scan, "SELECT id, name FROM "+table+" WHERE name IN "+db.Numbered(1, len(chunk)),
			catalogue.Anys(chunk)...)
		if err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return numbers[name] != 0 })
	if len(names) == 0 {
		return numbers, nil
	}
	next, err := db.NextIDs(ctx, tx, table, len(names))
	if err != nil {
		return nil, err
	}
	rows := make([]any, 0, 2*len(names))
	for i, name := range names {
		numbers[name] = next + int64(i)
		rows = append(rows, numbers[name], name)
	}
	return numbers, db.InsertRows(ctx, tx, "INSERT INTO "+table+" (id, name)", 2, rows, "")
}

// SourceRows are rows to insert into listen_sources or removed_sources. Those without any player are shorter, since
// every value costs time.
type SourceRows struct {
	Players map[string]int64 // nil for rows without players
	args    []any
}

// Add adds the row of a source: its listen, connection, key, id, how much later it is, and when it was stored.
func (r *SourceRows) Add(player string, row ...any) {
	r.args = append(r.args, row...)
	if r.Players != nil {
		r.args = append(r.args, r.Players[player])
	}
}

// Insert inserts the rows into a table.
func (r *SourceRows) Insert(ctx context.Context, tx *sql.Tx, table string) error {
	columns, width := "listen_id, connection, source_key, name_id, later, stored_at", 6
	if r.Players != nil {
		columns, width = columns+", player", width+1
	}
	names := make([]string, 0, len(r.args)/width)
	for row := range slices.Chunk(r.args, width) {
		name := listens.NameIn(row[2].(int64), row[3].(string))
		row[3] = name
		names = append(names, name)
	}
	numbers, err := numbersOf(ctx, tx, "source_names", names)
	if err != nil {
		return err
	}
	for row := range slices.Chunk(r.args, width) {
		row[3] = numbers[row[3].(string)]
	}
	return db.InsertRows(ctx, tx, "INSERT INTO "+table+" ("+columns+")", width, r.args,
		"ON CONFLICT DO NOTHING") // that key of one listen and one connection twice, once in a hundred lives
}

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
	players, err := PlayersOf(ctx, tx, names)
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
