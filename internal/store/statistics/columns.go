package statistics

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/music"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
)

// Statistics read columns, which are a copy of the listens of a person in a span. The transaction that changes listens
// of a span throws its columns away, and whoever reads them next builds them again, so that they never differ from the
// listens. Those of the latest span, which change all the time, are built for each answer and not kept.

// ChangedListens notes that listens of a person in these spans are not what they were.
func ChangedListens(ctx context.Context, tx *sql.Tx, user int64, all map[int64]bool) error {
	const width = 3
	rows := make([]any, 0, width*len(all))
	for span := range all {
		rows = append(rows, user, span, 1)
	}
	return db.InsertRows(ctx, tx, "INSERT INTO listen_columns (user_id, span, version)", width, rows,
		"ON CONFLICT (user_id, span) DO UPDATE SET version = listen_columns.version + 1, data = NULL")
}

// ForgetColumns throws away all columns of a person.
func ForgetColumns(ctx context.Context, tx *sql.Tx, user int64) error {
	return db.ExecTx(ctx, tx, "UPDATE listen_columns SET version = version + 1, data = NULL WHERE user_id = $1", user)
}

// Columns returns all listens of a person as columns, in order of time.
func (s *Store) Columns(ctx context.Context, user int64) (all []*listening.Columns, err error) {
	err = s.EachColumns(ctx, Range{user, -1 << 50, 1 << 50, false}, func(c *listening.Columns) bool {
		all = append(all, c)
		return true
	})
	return all, err
}

// read selects the columns of the spans from the second first to the second last, earliest or latest first.
type Range struct {
	User, First, Last int64
	Backwards         bool
}

// columnsRow is a row of listen_columns.
type columnsRow struct {
	span, version int64
	data          []byte
}

// How many spans are read at once: few at first, since a page may need no more.
const (
	spansFirst = 2
	spansMost  = 64
)

// EachColumns calls fn for the columns of a person's listens until fn returns false. It builds missing columns and
// stores them, except those of the latest span.
func (s *Store) EachColumns(ctx context.Context, r Range, fn func(*listening.Columns) bool) error {
	latest, err := s.latestSpan(ctx, r.User)
	if err != nil {
		return err
	}
	from, to := SpanOf(time.Unix(r.First, 0)), SpanOf(time.Unix(r.Last, 0))
	order := "ASC"
	if r.Backwards {
		order = "DESC"
	}
	scan := func(r db.Scanner) (v columnsRow, err error) { return v, r.Scan(&v.span, &v.version, &v.data) }
	for n := spansFirst; ; n = min(4*n, spansMost) {
		rows, err := db.List(ctx, s.db.Reader, scan, `SELECT span, version, data FROM listen_columns
			WHERE user_id = $1 AND span >= $2 AND span <= $3 ORDER BY span `+order+" LIMIT $4", r.User, from, to, n)
		if err != nil {
			return err
		}
		enough, err := s.someColumns(ctx, r.User, latest, rows, fn)
		if err != nil || enough || len(rows) < n {
			return err
		}
		if last := rows[n-1].span; r.Backwards {
			to = last - 1
		} else {
			from = last + 1
		}
	}
}

// latestSpan returns the latest span in which a person has heard something.
func (s *Store) latestSpan(ctx context.Context, user int64) (latest int64, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT coalesce(max(span), 0) FROM listen_columns WHERE user_id = $1",
		user).
		Scan(&latest)
	return latest, db.Explain(err)
}

// someColumns calls fn for the columns of rows until fn returns false, and reports whether it did.
func (s *Store) someColumns(ctx context.Context, user, latest int64, rows []columnsRow,
	fn func(*listening.Columns) bool) (enough bool, err error) {
	var built []columnsRow
	for _, v := range rows {
		c, err := listening.ParseColumns(v.data)
		if len(v.data) == 0 || err != nil {
			if c, err = s.columns(ctx, user, v.span); err == nil && v.span != latest {
				v.data = c.Append(nil)
				built = append(built, v)
			}
		}
		if err != nil {
			return true, err
		}
		if enough = !fn(c); enough {
			break
		}
	}
	s.keepColumns(ctx, user, built)
	return enough, nil
}

// keepColumns stores columns, except those whose listens have changed in the meantime. Errors, such as a full disk, are
// ignored, because the columns are then built again next time.
func (s *Store) keepColumns(ctx context.Context, user int64, built []columnsRow) {
	if len(built) == 0 {
		return
	}
	_ = s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		for _, v := range built {
			err = errors.Join(err, db.ExecTx(ctx, tx, `UPDATE listen_columns SET data = $1
				WHERE user_id = $2 AND span = $3 AND version = $4`, v.data, user, v.span, v.version))
		}
		return err
	})
}

// BuildColumns builds missing columns, except those of each person's latest span, so that nobody waits for them after
// an import or a first sync.
func (s *Store) BuildColumns(ctx context.Context) error {
	type missing struct {
		user int64
		columnsRow
	}
	scan := func(r db.Scanner) (v missing, err error) { return v, r.Scan(&v.user, &v.span, &v.version) }
	all, err := db.List(ctx, s.db.Reader, scan, `SELECT user_id, span, version FROM listen_columns c WHERE data IS NULL
		AND span < (SELECT max(span) FROM listen_columns o WHERE o.user_id = c.user_id) ORDER BY user_id, span`)
	if err != nil {
		return err
	}
	for _, v := range all {
		c, err := s.columns(ctx, v.user, v.span)
		if err != nil {
			return err
		}
		v.data = c.Append(nil)
		s.keepColumns(ctx, v.user, []columnsRow{v.columnsRow})
	}
	return nil
}

// columns reads the listens of a person in a span.
func (s *Store) columns(ctx context.Context, user, span int64) (*listening.Columns, error) {
	b := listening.NewBuilder(span * SpanLength / 1000)
	last := int64(0)
	scan := func(r db.Scanner) (none struct{}, err error) {
		var id, at, spelling int64
		var from sql.Null[library.ConnectionID]
		var player string
		if err := r.Scan(&id, &at, &spelling, &from, &player); err != nil {
			return none, err
		}
		if id != last {
			last = id
			b.Add(at/1000, uint32(spelling))
		}
		if from.Valid {
			b.From(listening.Origin{Connection: from.V, Player: player})
		}
		return none, nil
	}
	_, err := db.List(ctx, s.db.Reader, scan,
		`SELECT l.id, l.played_at, l.spelling_id, n.connection, coalesce(p.name, '')
		FROM listens l
		LEFT JOIN listen_sources s ON s.listen_id = l.id
		LEFT JOIN connection_numbers n ON n.number = s.connection
		LEFT JOIN players p ON p.id = s.player
		WHERE l.user_id = $1 AND l.played_at >= $2 AND l.played_at < $3 ORDER BY l.played_at, l.id`,
		user, span*SpanLength, (span+1)*SpanLength)
	return b.Columns(), err
}

// musicCache holds what the stored spellings mean: without it BenchmarkListeningPage takes half as long again. It is
// safe for concurrent use.
type musicCache struct {
	mu      sync.Mutex
	music   *listening.Music
	version int64 // of the meanings of spellings that were known before
	last    int64 // the latest spelling that is in it
}

// Meanings returns what all spellings mean. It reads those that are new, and all of them only after some got another
// meaning.
func (s *Store) Meanings(ctx context.Context) (*listening.Music, error) {
	m := &s.music
	m.mu.Lock()
	defer m.mu.Unlock()
	var version, last int64
	err := s.db.Reader.QueryRowContext(ctx, `SELECT coalesce((SELECT last FROM sequences WHERE name = $1), 0),
		coalesce((SELECT max(id) FROM spellings), 0)`, catalogue.Meanings).Scan(&version, &last)
	if err != nil {
		return nil, db.Explain(err)
	}
	if m.music == nil || version != m.version {
		m.music, m.last = &listening.Music{}, 0
	}
	if last > m.last {
		ruled, err := s.catalogue.Rulings(ctx)
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

// meant returns the meanings, by the rules, of the spellings with a higher ID than after, and of all other spellings
// of the same tracks, since those may have gained artists.
func (s *Store) meant(ctx context.Context, ruled *music.Rulings, after int64) ([]listening.Meaning, error) {
	const those = " IN (SELECT track_id FROM spellings WHERE id > $1)"
	where, tracks := "WHERE p.id > $1 OR p.track_id"+those, "WHERE track_id"+those
	if after == 0 {
		where, tracks = "WHERE p.id > $1", "WHERE track_id > $1"
	}
	artists := map[int64][]int64{}
	credit := func(r db.Scanner) (none struct{}, err error) {
		var track, artist int64
		err = r.Scan(&track, &artist)
		artists[track] = append(artists[track], artist)
		return none, err
	}
	_, err := db.List(ctx, s.db.Reader, credit, "SELECT track_id, artist_id FROM track_artists "+tracks+
		" ORDER BY track_id, position", after)
	if err != nil {
		return nil, err
	}
	names := "'', ''"
	if len(ruled.Written) > 0 {
		names = "p.title, p.album"
	}
	scan := func(r db.Scanner) (v listening.Meaning, err error) {
		var ms int64
		var told music.Meaning
		err = r.Scan(&v.Spelling, &told.Track, &told.Album, &ms, &told.Title, &told.AlbumTitle)
		told.Artists = artists[told.Track]
		told = ruled.Apply(told)
		v.Length, v.Track, v.Album = db.Length(ms), uint32(told.Track), uint32(told.Album)
		v.Artists = make([]uint32, len(told.Artists))
		for i, a := range told.Artists {
			v.Artists[i] = uint32(a)
		}
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT p.id, coalesce(p.track_id, 0), coalesce(p.album_id, 0),
			CASE WHEN p.duration_ms > 0 THEN p.duration_ms ELSE coalesce(e.duration_ms, 0) END, `+names+`
		FROM spellings p LEFT JOIN entities e ON e.id = p.track_id `+where, after)
}
