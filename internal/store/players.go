package store

import (
	"context"
	"database/sql"
	"slices"
)

// playersOf returns the numbers of players by name, where each gets one when it is first heard of. It returns nil, and
// asks nothing, if all names are empty.
func playersOf(ctx context.Context, tx *sql.Tx, names []string) (map[string]int64, error) {
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
		_, err := list(ctx, tx, scan, "SELECT id, name FROM players WHERE name IN "+numbered(1, len(chunk)),
			anys(chunk)...)
		if err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return numbers[name] != 0 })
	if len(names) == 0 {
		return numbers, nil
	}
	next, err := nextIDs(ctx, tx, "players", len(names))
	if err != nil {
		return nil, err
	}
	rows := make([]any, 0, 2*len(names))
	for i, name := range names {
		numbers[name] = next + int64(i)
		rows = append(rows, numbers[name], name)
	}
	return numbers, insertRows(ctx, tx, "INSERT INTO players (id, name)", 2, rows, "")
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
	columns, width := "listen_id, connection, source_key, source_id, later, stored_at", 6
	if r.players != nil {
		columns, width = columns+", player", width+1
	}
	return insertRows(ctx, tx, "INSERT INTO "+table+" ("+columns+")", width, r.args,
		"ON CONFLICT DO NOTHING") // that key of one listen and one connection twice, once in a hundred lives
}
