package intake

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// lull is a time without plays, longer than twice reach. The stored plays within it are not read, because the plays of
// a page may be years apart.
const lull = 24 * time.Hour

// fewPlays is how many plays are few: of the stored plays around them, only those of the same tracks are read. Around
// the plays of a long page they are mostly of the same tracks.
const fewPlays = 16

// PlaysAround returns a matcher with the stored plays that those of a page, which are sorted by time, may be.
func PlaysAround(ctx context.Context, tx *sql.Tx, user int64, by Corrected,
	fresh []*library.Listen) (*music.Matcher, error) {
	m := &music.Matcher{Known: map[int64][]*music.Play{}, Apart: by.Apart}
	for from := 0; from < len(fresh); {
		to := from + 1
		for to < len(fresh) && fresh[to].PlayedAt.Sub(fresh[to-1].PlayedAt) < lull {
			to++
		}
		where := "l.user_id = $1 AND l.played_at BETWEEN $2 AND $3 AND l.approximate = 0"
		args := []any{user, db.Millis(fresh[from].PlayedAt.Add(-music.Reach)),
			db.Millis(fresh[to-1].PlayedAt.Add(music.Reach))}
		if to-from <= fewPlays {
			where += " AND p.match_key IN " + db.Numbered(len(args)+1, to-from)
			for _, l := range fresh[from:to] {
				args = append(args, music.MatchKey(l.Title, music.Indexed(l.Artist)))
			}
		}
		for _, in := range by.Piles {
			if err := loadPlays(ctx, tx, m, in, where, args...); err != nil {
				return nil, err
			}
		}
		from = to
	}
	if len(by.edits) > 0 {
		if err := loadEdited(ctx, tx, m, by, user, fresh); err != nil {
			return nil, err
		}
	}
	if len(by.Piles) > 1 || len(by.edits) > 0 {
		m.Sort()
	}
	for _, r := range m.Stored {
		r.Sides = by.Apart[library.Source{Connection: r.Connection, SourceID: r.SourceID}]
	}
	return m, nil
}

// loadPlays adds the stored plays of a pile that a condition selects.
func loadPlays(ctx context.Context, tx *sql.Tx, m *music.Matcher, in Pile, where string, args ...any) error {
	last := &music.Play{}
	scan := func(r db.Scanner) (*music.Report, error) {
		var p music.Play
		var conn library.ConnectionID
		var sourceID string
		var match, played, ms, at int64
		err := r.Scan(&p.ID, &match, &played, &ms, &p.ISRC, &p.MBID, &p.Spelt, &conn, &sourceID, &at)
		if err != nil {
			return nil, err
		}
		if p.ID != last.ID {
			p.At, p.Length, p.Removed = db.Instant(played), db.Length(ms), in.Removed
			last = &p
			m.Known[match] = append(m.Known[match], last)
		}
		v := music.NewReport(conn, sourceID, db.Instant(at), last.Length)
		v.Play, v.Was = last, last
		last.Reports = append(last.Reports, &v)
		return &v, nil
	}
	stored, err := db.List(ctx, tx, scan, `SELECT l.id, p.match_key, l.played_at, p.duration_ms, p.isrc <> '',
			p.recording_mbid <> '', p.id, n.connection, `+listens.IdOf("s")+`, l.played_at + s.later
		FROM `+in.Listens+" l JOIN spellings p ON p.id = l.spelling_id JOIN "+in.Sources+` s ON s.listen_id = l.id
		JOIN connection_numbers n ON n.number = s.connection
		WHERE `+where+" ORDER BY l.played_at, l.id", args...)
	m.Stored = append(m.Stored, stored...)
	return err
}
