package store

import (
	"context"
	"database/sql"
	"slices"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// playersOf returns the numbers of players by name. It returns nil, and asks nothing, if all names are empty.
func playersOf(ctx context.Context, tx *sql.Tx, names []string) (map[string]int64, error) {
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
	scan := func(r scanner) (none struct{}, err error) {
		var id int64
		var name string
		err = r.Scan(&id, &name)
		numbers[name] = id
		return none, err
	}
	for chunk := range slices.Chunk(names, 100) {
		_, err := list(ctx, tx, scan, "SELECT id, name FROM "+table+" WHERE name IN "+numbered(1, len(chunk)),
			anys(chunk)...)
		if err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return numbers[name] != 0 })
	if len(names) == 0 {
		return numbers, nil
	}
	next, err := nextIDs(ctx, tx, table, len(names))
	if err != nil {
		return nil, err
	}
	rows := make([]any, 0, 2*len(names))
	for i, name := range names {
		numbers[name] = next + int64(i)
		rows = append(rows, numbers[name], name)
	}
	return numbers, insertRows(ctx, tx, "INSERT INTO "+table+" (id, name)", 2, rows, "")
}

// sourceRows are rows to insert into listen_sources or removed_sources. Those without any player are shorter, since
// every value costs time.
type sourceRows struct {
	players map[string]int64 // nil for rows without players
	args    []any
}

// add adds the row of a source: its listen, connection, key, id, how much later it is, and when it was stored.
func (r *sourceRows) add(player string, row ...any) {
	r.args = append(r.args, row...)
	if r.players != nil {
		r.args = append(r.args, r.players[player])
	}
}

// insert inserts the rows into a table.
func (r *sourceRows) insert(ctx context.Context, tx *sql.Tx, table string) error {
	columns, width := "listen_id, connection, source_key, name_id, later, stored_at", 6
	if r.players != nil {
		columns, width = columns+", player", width+1
	}
	names := make([]string, 0, len(r.args)/width)
	for row := range slices.Chunk(r.args, width) {
		name := nameIn(row[2].(int64), row[3].(string))
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
	return insertRows(ctx, tx, "INSERT INTO "+table+" ("+columns+")", width, r.args,
		"ON CONFLICT DO NOTHING") // that key of one listen and one connection twice, once in a hundred lives
}

// learnPlayers gives stored sources the players that a file names for them, if they have none: they were stored before
// players were.
func (s *Store) learnPlayers(ctx context.Context, tx *sql.Tx, page library.Intake) error {
	named := map[string]string{} // by source id
	var names []string
	var keys []any
	for _, l := range page.Listens {
		if l.Player != "" && named[l.SourceID] == "" {
			named[l.SourceID] = l.Player
			names = append(names, l.Player)
			keys = append(keys, sourceKey(page.User, page.Connection, l.SourceID))
		}
	}
	if len(names) == 0 {
		return nil
	}
	players, err := playersOf(ctx, tx, names)
	if err != nil {
		return err
	}
	type source struct {
		listen, key, at int64
		id              string
	}
	scan := func(r scanner) (v source, err error) { return v, r.Scan(&v.listen, &v.key, &v.id, &v.at) }
	var learned []delivery.Play
	for _, in := range []pile{kept, removed} {
		for chunk := range slices.Chunk(keys, 100) {
			all, err := list(ctx, tx, scan, "SELECT s.listen_id, s.source_key, "+idOf("s")+", l.played_at FROM "+
				in.sources+" s CROSS JOIN "+in.listens+" l WHERE l.id = s.listen_id AND l.user_id = $1 AND "+
				fromOne("s", 2)+" AND s.player = 0 AND s.source_key IN "+numbered(3, len(chunk)),
				append([]any{page.User, page.Connection}, chunk...)...)
			if err != nil {
				return err
			}
			for _, v := range all {
				if named[v.id] == "" { // another one with the same key
					continue
				}
				err := execTx(ctx, tx, "UPDATE "+in.sources+` SET player = $1
					WHERE listen_id = $2 AND source_key = $3 AND `+idOf(in.sources)+" = $4 AND "+fromOne(in.sources, 5),
					players[named[v.id]], v.listen, v.key, v.id, page.Connection)
				if err != nil {
					return err
				}
				if !in.removed {
					learned = append(learned, delivery.Play{Listen: v.listen, At: instant(v.at)})
				}
			}
		}
	}
	if len(learned) == 0 {
		return nil
	}
	return s.listensChanged(ctx, tx, page.User, learned)
}
