package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"reprise/internal/library"
	"reprise/internal/listening"
)

// Statistics read columns, which are a copy of the listens of a person in a span. The transaction that changes listens
// of a span throws its columns away, and whoever reads them next builds them again, so that they never differ from the
// listens. Those of the latest span, which change all the time, are built for each answer and not kept.

// changedListens notes that listens of a person in these spans are not what they were.
func changedListens(ctx context.Context, tx *sql.Tx, user int64, all map[int64]bool) error {
	const width = 3
	rows := make([]any, 0, width*len(all))
	for span := range all {
		rows = append(rows, user, span, 1)
	}
	return insertRows(ctx, tx, "INSERT INTO listen_columns (user_id, span, version)", width, rows,
		"ON CONFLICT (user_id, span) DO UPDATE SET version = listen_columns.version + 1, data = NULL")
}

// forgetColumns throws away all columns of a person.
func forgetColumns(ctx context.Context, tx *sql.Tx, user int64) error {
	return execTx(ctx, tx, "UPDATE listen_columns SET version = version + 1, data = NULL WHERE user_id = $1", user)
}

// Columns returns all listens of a person as columns, in order of time.
func (s *Store) Columns(ctx context.Context, user int64) ([]*listening.Columns, error) {
	type row struct {
		span, version int64
		data          []byte
	}
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.span, &v.version, &v.data) }
	rows, err := list(ctx, s.reader, scan,
		"SELECT span, version, data FROM listen_columns WHERE user_id = $1 ORDER BY span", user)
	if err != nil {
		return nil, err
	}
	all := make([]*listening.Columns, 0, len(rows))
	var built []row
	for i, v := range rows {
		if len(v.data) > 0 {
			if c, err := listening.ParseColumns(v.data); err == nil {
				all = append(all, c)
				continue
			}
		}
		c, err := s.columns(ctx, user, v.span)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		if i < len(rows)-1 {
			v.data = c.Append(nil)
			built = append(built, v)
		}
	}
	if len(built) > 0 {
		// What cannot be kept, such as on a full disk, is built again next time.
		_ = s.write(ctx, func(tx *sql.Tx) (err error) {
			for _, v := range built { // none whose listens have changed meanwhile
				err = errors.Join(err, execTx(ctx, tx, `UPDATE listen_columns SET data = $1
					WHERE user_id = $2 AND span = $3 AND version = $4`, v.data, user, v.span, v.version))
			}
			return err
		})
	}
	return all, nil
}

// columns reads the listens of a person in a span.
func (s *Store) columns(ctx context.Context, user, span int64) (*listening.Columns, error) {
	c := &listening.Columns{Start: span * spanLength / 1000}
	last := int64(0)
	scan := func(r scanner) (none struct{}, err error) {
		var id, at, spelling int64
		var from sql.Null[library.ConnectionID]
		if err := r.Scan(&id, &at, &spelling, &from); err != nil {
			return none, err
		}
		if id != last {
			last = id
			c.At = append(c.At, uint32(at/1000-c.Start))
			c.Spelling = append(c.Spelling, uint32(spelling))
			c.Sources = append(c.Sources, 0)
		}
		if from.Valid {
			c.Sources[len(c.Sources)-1] |= c.Bit(from.V)
		}
		return none, nil
	}
	_, err := list(ctx, s.reader, scan, `SELECT l.id, l.played_at, l.spelling_id, n.connection FROM listens l
		LEFT JOIN listen_sources s ON s.listen_id = l.id
		LEFT JOIN connection_numbers n ON n.number = s.connection
		WHERE l.user_id = $1 AND l.played_at >= $2 AND l.played_at < $3 ORDER BY l.played_at, l.id`,
		user, span*spanLength, (span+1)*spanLength)
	return c, err
}

// musicCache holds what the stored spellings mean. It is safe for concurrent use.
type musicCache struct {
	mu      sync.Mutex
	music   *listening.Music
	version int64 // of the meanings of spellings that were known before
	last    int64 // the latest spelling that is in it
}

// meanings is the name of the sequence that counts how often spellings got another meaning.
const meanings = "meanings"

// remeant notes that spellings mean something else than before.
func remeant(ctx context.Context, tx *sql.Tx) error {
	_, err := nextIDs(ctx, tx, meanings, 1)
	return err
}

// Meanings returns what all spellings mean. It reads those that are new, and all of them only after some got another
// meaning.
func (s *Store) Meanings(ctx context.Context) (*listening.Music, error) {
	m := &s.music
	m.mu.Lock()
	defer m.mu.Unlock()
	var version, last int64
	err := s.reader.QueryRowContext(ctx, `SELECT coalesce((SELECT last FROM sequences WHERE name = $1), 0),
		coalesce((SELECT max(id) FROM spellings), 0)`, meanings).Scan(&version, &last)
	if err != nil {
		return nil, local(err)
	}
	if m.music == nil || version != m.version {
		m.music, m.last = &listening.Music{}, 0
	}
	if last > m.last {
		ruled, err := s.rulings(ctx)
		if err != nil {
			return nil, err
		}
		more, err := s.meant(ctx, ruled, m.last)
		if err != nil {
			m.music = nil
			return nil, err
		}
		m.music = m.music.With(more)
	}
	m.version, m.last = version, last
	return m.music, nil
}

// meant returns what the spellings after one mean, and all other spellings of the same tracks, which may have got
// further artists, by the rules.
func (s *Store) meant(ctx context.Context, ruled *rulings, after int64) ([]listening.Meaning, error) {
	const those = " IN (SELECT track_id FROM spellings WHERE id > $1)"
	where, tracks := "WHERE p.id > $1 OR p.track_id"+those, "WHERE track_id"+those
	if after == 0 {
		where, tracks = "WHERE p.id > $1", "WHERE track_id > $1"
	}
	artists := map[int64][]int64{}
	credit := func(r scanner) (none struct{}, err error) {
		var track, artist int64
		err = r.Scan(&track, &artist)
		artists[track] = append(artists[track], artist)
		return none, err
	}
	_, err := list(ctx, s.reader, credit, "SELECT track_id, artist_id FROM track_artists "+tracks+
		" ORDER BY track_id, position", after)
	if err != nil {
		return nil, err
	}
	names := "'', ''"
	if len(ruled.written) > 0 {
		names = "p.title, p.album"
	}
	scan := func(r scanner) (v listening.Meaning, err error) {
		var ms int64
		var told meant
		err = r.Scan(&v.Spelling, &told.track, &told.album, &ms, &told.title, &told.albumTitle)
		told.artists = artists[told.track]
		told = ruled.apply(told)
		v.Length, v.Track, v.Album = length(ms), uint32(told.track), uint32(told.album)
		v.Artists = make([]uint32, len(told.artists))
		for i, a := range told.artists {
			v.Artists[i] = uint32(a)
		}
		return v, err
	}
	return list(ctx, s.reader, scan, `SELECT p.id, coalesce(p.track_id, 0), coalesce(p.album_id, 0),
			CASE WHEN p.duration_ms > 0 THEN p.duration_ms ELSE coalesce(e.duration_ms, 0) END, `+names+`
		FROM spellings p LEFT JOIN entities e ON e.id = p.track_id `+where, after)
}
