package store

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/library"
)

// sourceKey returns the number by which a source of a listen is found: 31 bits of the time that its id tells, and 16
// bits of a hash of its person, its connection and its id. Those of the same time lie together in the index, so that
// storing a page changes few pages of it. Different sources may have the same number. SQLite keeps it in six bytes.
func sourceKey(user int64, conn library.ConnectionID, id string) int64 {
	h := fnv.New32a()
	_, _ = h.Write(strconv.AppendInt(nil, user, 10))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(conn))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(id))
	sum := h.Sum32()
	return (timeIn(id)&math.MaxInt32)<<16 | int64(sum>>16^sum&math.MaxUint16)
}

// timeMark stands for the time in the stored name of a source. library.ID keeps control characters out of ids.
const timeMark = "\x01"

// nameIn returns what is stored of a source's id beside its key: the id with timeMark for the time. Plays of a song
// share it, so that it is stored once for all of them.
func nameIn(key int64, id string) string {
	return strings.ReplaceAll(id, strconv.FormatInt(key>>16, 10), timeMark)
}

// idOf returns the expression for the id of a source s, which is put together again from its name and its key.
func idOf(s string) string {
	return "coalesce((SELECT replace(name, '" + timeMark + "', CAST(" + s + ".source_key / 65536 AS TEXT))" +
		" FROM source_names WHERE id = " + s + ".name_id), '')"
}

// timeIn returns the first ten digits in a row of an id: the seconds of a Unix time, also where it has milliseconds. An
// id without any has a number that depends on all of it.
func timeIn(id string) (n int64) {
	digits := 0
	for i := range len(id) {
		if c := id[i]; c < '0' || c > '9' {
			n, digits = 0, 0
			continue
		}
		n, digits = n*10+int64(id[i]-'0'), digits+1
		if digits == 10 {
			return n
		}
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return int64(h.Sum64() >> 1)
}

// numberOf returns the number of a connection, which it gets when it is asked for first.
func numberOf(ctx context.Context, tx *sql.Tx, conn library.ConnectionID) (number int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT number FROM connection_numbers WHERE connection = $1", conn).Scan(&number)
	if !errors.Is(err, sql.ErrNoRows) {
		return number, err
	}
	if number, err = nextIDs(ctx, tx, "connection_numbers", 1); err != nil {
		return 0, err
	}
	return number, execTx(ctx, tx, "INSERT INTO connection_numbers (number, connection) VALUES ($1, $2)", number, conn)
}

// fromOne is the condition that a source s is of the connection $n.
func fromOne(s string, n int) string {
	return s + ".connection = (SELECT number FROM connection_numbers WHERE connection = $" + strconv.Itoa(n) + ")"
}

// sources returns the condition that a source s is of one of the connections, which are the arguments from $first on.
func (a account) sources(s string, first int) string {
	return s + ".connection IN (SELECT number FROM connection_numbers WHERE " + a.in("connection", first) + ")"
}

// knownSources selects the ids of a person's sources of a connection that have one of some keys. The cross join makes
// SQLite begin with the keys.
func knownSources(in pile) string {
	return "SELECT " + idOf("s") + " FROM " + in.sources + " s CROSS JOIN " + in.listens + ` l
	WHERE l.id = s.listen_id AND l.user_id = $1 AND ` + fromOne("s", 2) + " AND s.source_key IN "
}

// unknownPlays returns the plays of the page that the connection has not reported before, the earliest first.
func unknownPlays(ctx context.Context, tx *sql.Tx, page library.Intake, piles []pile) ([]*library.Listen, error) {
	seen := make(map[string]bool, len(page.Listens))
	scan := func(r scanner) (id string, err error) { return id, r.Scan(&id) }
	const most = 100
	for chunk := range slices.Chunk(page.Listens, most) {
		args := make([]any, 0, len(chunk)+2)
		args = append(args, page.User, page.Connection)
		for i := range chunk {
			args = append(args, sourceKey(page.User, page.Connection, chunk[i].SourceID))
		}
		for _, in := range piles {
			ids, err := list(ctx, tx, scan, knownSources(in)+numbered(3, len(chunk)), args...)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				seen[id] = true
			}
		}
	}
	fresh := make([]*library.Listen, 0, len(page.Listens))
	for i := range page.Listens {
		if l := &page.Listens[i]; !seen[l.SourceID] {
			seen[l.SourceID] = true
			fresh = append(fresh, l)
		}
	}
	slices.SortStableFunc(fresh, func(a, b *library.Listen) int { return a.PlayedAt.Compare(b.PlayedAt) })
	return fresh, nil
}

// moveSources stores the reports of earlier pages that became sources of other listens.
func moveSources(ctx context.Context, tx *sql.Tx, user int64, stored []*report) error {
	for _, r := range stored {
		if !r.moved {
			continue
		}
		args := []any{r.was.id, sourceKey(user, r.connection, r.sourceID), r.connection, r.sourceID}
		this := " WHERE listen_id = $1 AND source_key = $2 AND " + fromOne(pileOf(r.was).sources, 3) +
			" AND " + idOf(pileOf(r.was).sources) + " = $4"
		var err error
		if later := r.at.Sub(r.play.at).Milliseconds(); r.was.removed == r.play.removed {
			err = execTx(ctx, tx, "UPDATE "+pileOf(r.was).sources+" SET listen_id = $5, later = $6"+this,
				append(args, r.play.id, later)...)
		} else {
			err = errors.Join(
				execTx(ctx, tx, "INSERT INTO "+pileOf(r.play).sources+`
					(listen_id, connection, source_key, name_id, later, stored_at, player)
					SELECT CAST($5 AS BIGINT), connection, source_key, name_id, CAST($6 AS BIGINT), stored_at, player
					FROM `+pileOf(r.was).sources+this, append(args, r.play.id, later)...),
				execTx(ctx, tx, "DELETE FROM "+pileOf(r.was).sources+this, args...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addSources adds the sources to listens.
func (s *Store) addSources(ctx context.Context, page []library.StoredListen) error {
	if len(page) == 0 {
		return nil
	}
	index := make(map[int64]int, len(page))
	args := make([]any, 0, len(page))
	for i, l := range page {
		index[l.ID] = i
		args = append(args, l.ID)
	}
	type source struct {
		listen int64
		library.Source
	}
	scan := func(r scanner) (v source, err error) {
		var later int64
		err = r.Scan(&v.listen, &v.Connection, &v.SourceID, &later, &v.Player)
		v.Later = length(later)
		return v, err
	}
	sources, err := list(ctx, s.reader, scan, `SELECT s.listen_id, n.connection, `+idOf("s")+` AS source_id, s.later,
			coalesce(p.name, '')
		FROM listen_sources s
		JOIN connection_numbers n ON n.number = s.connection
		LEFT JOIN players p ON p.id = s.player
		WHERE s.listen_id IN `+numbered(1, len(args))+" ORDER BY s.listen_id, n.connection, source_id", args...)
	for _, v := range sources {
		l := &page[index[v.listen]]
		l.Sources = append(l.Sources, v.Source)
	}
	return err
}
