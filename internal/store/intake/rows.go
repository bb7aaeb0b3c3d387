package intake

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// Rows collects rows of listens and of their sources, and inserts them together. It is not safe for concurrent use.
type Rows struct {
	user        int64
	connections map[library.ConnectionID]int64 // their numbers
	players     map[string]int64               // their numbers; nil for sources without players
	stored      int64                          // Unix time
	listens     []any
	row         map[int64]int // where that of a listen begins
	kept, gone  []any         // sources of listens that are kept, and of those that were deleted
	away        []any         // plays that a rule makes no listens of
}

// NewRows returns an empty Rows for the sources of a person that name these connections and players. It sorts players.
func NewRows(
	ctx context.Context, tx *sql.Tx, user int64, conns []library.ConnectionID, players []string,
) (r *Rows, err error) {
	r = &Rows{user: user, connections: map[library.ConnectionID]int64{}, stored: time.Now().Unix(),
		row: map[int64]int{}}
	for _, conn := range conns {
		if r.connections[conn] == 0 {
			if r.connections[conn], err = numberOf(ctx, tx, conn); err != nil {
				return nil, err
			}
		}
	}
	r.players, err = numbersOf(ctx, tx, "players", players)
	return r, err
}

// Listen adds a listen, or another spelling of one that is stored. Of several spellings of one the last stays.
func (r *Rows) Listen(id int64, at time.Time, approximate bool, spelling int64) {
	if i, ok := r.row[id]; ok {
		r.listens[i+4] = spelling
		return
	}
	r.row[id] = len(r.listens)
	r.listens = append(r.listens, id, r.user, db.Millis(at), db.Flag(approximate), spelling)
}

// Ignored adds a play that a rule makes no listen of, as a part of the rule's correction.
func (r *Rows) Ignored(id int64, at time.Time, approximate bool, spelling, correction int64) {
	r.away = append(r.away, id, r.user, db.Millis(at), db.Flag(approximate), spelling, correction)
}

// Source adds a source of a listen in a pile; later is its time after the listen's. If no source has a player, the rows
// leave it out, since every value costs time.
func (r *Rows) Source(in Pile, listen int64, from library.Source, later time.Duration) {
	to := &r.kept
	if in.Removed {
		to = &r.gone
	}
	*to = append(*to, listen, r.connections[from.Connection], SourceKey(r.user, from.Connection, from.SourceID),
		from.SourceID, later.Milliseconds(), r.stored)
	if r.players != nil {
		*to = append(*to, r.players[from.Player])
	}
}

// Insert inserts the rows.
func (r *Rows) Insert(ctx context.Context, tx *sql.Tx) error {
	err := db.InsertRows(ctx, tx, "INSERT INTO listens (id, user_id, played_at, approximate, spelling_id)", 5,
		r.listens, "ON CONFLICT (id) DO UPDATE SET spelling_id = excluded.spelling_id")
	if err != nil {
		return err
	}
	err = db.InsertRows(ctx, tx, `INSERT INTO removed_listens
		(id, user_id, played_at, approximate, spelling_id, correction_id)`, 6, r.away, "")
	if err != nil {
		return err
	}
	return errors.Join(r.insertSources(ctx, tx, Kept.Sources, r.kept),
		r.insertSources(ctx, tx, Removed.Sources, r.gone))
}

func (r *Rows) insertSources(ctx context.Context, tx *sql.Tx, table string, rows []any) error {
	columns, width := "listen_id, connection, source_key, name_id, later, stored_at", 6
	if r.players != nil {
		columns, width = columns+", player", width+1
	}
	names := make([]string, 0, len(rows)/width)
	for row := range slices.Chunk(rows, width) {
		name := listens.NameIn(row[2].(int64), row[3].(string))
		row[3] = name
		names = append(names, name)
	}
	numbers, err := numbersOf(ctx, tx, "source_names", names)
	if err != nil {
		return err
	}
	for row := range slices.Chunk(rows, width) {
		row[3] = numbers[row[3].(string)]
	}
	return db.InsertRows(ctx, tx, "INSERT INTO "+table+" ("+columns+")", width, rows,
		"ON CONFLICT DO NOTHING") // that key of one listen and one connection twice, once in a hundred lives
}

// pageRows collects the rows of the plays that a connection has reported on a page.
type pageRows struct {
	*Rows
	from  library.ConnectionID
	next  int64           // the id of the next new listen
	added int             // new listens
	plays []delivery.Play // all but those of deleted listens
}

func newPageRows(
	ctx context.Context, tx *sql.Tx, page library.Intake, fresh []*library.Listen, reports []music.Report,
) (r pageRows, err error) {
	r.from, r.plays = page.Connection, make([]delivery.Play, 0, len(fresh))
	players := make([]string, len(fresh))
	for i, l := range fresh {
		players[i] = l.Player
		if reports[i].Play == nil {
			r.added++
		}
	}
	if r.next, err = db.NextIDs(ctx, tx, "listens", r.added); err != nil {
		return r, err
	}
	r.Rows, err = NewRows(ctx, tx, page.User, []library.ConnectionID{page.Connection}, players)
	return r, err
}

// add adds the rows of a play, which is the listen p, nil for a new one. spelling is 0 for a known listen that learns
// nothing.
func (r *pageRows) add(ctx context.Context, tx *sql.Tx, l *library.Listen, p *music.Play, spelling int64) error {
	fresh := p == nil
	if fresh {
		p = &music.Play{ID: r.next, At: l.PlayedAt}
		r.next++
	}
	r.Source(PileOf(p), p.ID, library.Source{Connection: r.from, SourceID: l.SourceID, Player: l.Player},
		l.PlayedAt.Sub(p.At))
	switch {
	case p.Removed && spelling == 0:
		return nil
	case p.Removed:
		return db.ExecTx(ctx, tx, "UPDATE removed_listens SET spelling_id = $2 WHERE id = $1", p.ID, spelling)
	case spelling != 0:
		r.Listen(p.ID, l.PlayedAt, l.Approximate, spelling)
	}
	r.plays = append(r.plays, delivery.Play{Listen: p.ID, At: p.At, Fresh: fresh, Guess: l.Approximate})
	return nil
}

// ignore adds the rows of a new play that a rule makes no listen of, as a part of its correction, and returns its
// number.
func (r *pageRows) ignore(l *library.Listen, spelling, correction int64) int64 {
	id := r.next
	r.next++
	r.added--
	r.Source(Removed, id, library.Source{Connection: r.from, SourceID: l.SourceID, Player: l.Player}, 0)
	r.Ignored(id, l.PlayedAt, l.Approximate, spelling, correction)
	return id
}

// numberOf returns the number of a connection, which it gets when it is asked for first.
func numberOf(ctx context.Context, tx *sql.Tx, conn library.ConnectionID) (number int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT number FROM connection_numbers WHERE connection = $1", conn).Scan(&number)
	if !errors.Is(err, sql.ErrNoRows) {
		return number, err
	}
	if number, err = db.NextIDs(ctx, tx, "connection_numbers", 1); err != nil {
		return 0, err
	}
	return number, db.ExecTx(ctx, tx, "INSERT INTO connection_numbers (number, connection) VALUES ($1, $2)", number,
		conn)
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
