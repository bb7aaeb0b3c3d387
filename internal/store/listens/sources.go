package listens

import (
	"context"
	"hash/fnv"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

// timeMark replaces the time in the stored name of a source. library.ID keeps control characters out of ids.
const timeMark = "\x01"

// NameIn returns what is stored of a source's id beside its key: the id with timeMark for the time. Plays of a song
// share it, so that it is stored once for all of them.
func NameIn(key int64, id string) string {
	return strings.ReplaceAll(id, strconv.FormatInt(key>>16, 10), timeMark)
}

// Named returns what is stored of an id that has its time between two texts; see NameIn.
func Named(before, after string) string { return before + timeMark + after }

// IdOf returns the expression for the id of a source s, which is put together again from its name and its key.
func IdOf(s string) string {
	return "coalesce((SELECT replace(name, '" + timeMark + "', CAST(" + s + ".source_key / 65536 AS TEXT))" +
		" FROM source_names WHERE id = " + s + ".name_id), '')"
}

// TimeIn returns the first ten digits in a row of an id: the seconds of a Unix time, also where it has milliseconds. An
// id without any has a number that depends on all of it.
func TimeIn(id string) (n int64) {
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

// AddSources adds the sources to listens.
func (s *Store) AddSources(ctx context.Context, page []library.StoredListen) error {
	return s.addSources(ctx, "listen_sources", page)
}

// addSources adds to listens the sources that a table has of them.
func (s *Store) addSources(ctx context.Context, table string, page []library.StoredListen) error {
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
	scan := func(r db.Scanner) (v source, err error) {
		var later int64
		err = r.Scan(&v.listen, &v.Connection, &v.SourceID, &later, &v.Player)
		v.Later = db.Length(later)
		return v, err
	}
	sources, err := db.List(ctx, s.db.Reader, scan,
		`SELECT s.listen_id, n.connection, `+IdOf("s")+` AS source_id, s.later,
			coalesce(p.name, '')
		FROM `+table+` s
		JOIN connection_numbers n ON n.number = s.connection
		LEFT JOIN players p ON p.id = s.player
		WHERE s.listen_id IN `+db.Numbered(1, len(args))+" ORDER BY s.listen_id, n.connection, source_id", args...)
	for _, v := range sources {
		l := &page[index[v.listen]]
		l.Sources = append(l.Sources, v.Source)
	}
	return err
}
