package store

import (
	"context"
	"database/sql"
	"time"

	"reprise/internal/library"
)

// lull is a time without plays, longer than twice reach. The stored plays within it are not read, because the plays of
// a page may be years apart.
const lull = 24 * time.Hour

// fewPlays is how many plays are few: of the stored plays around them, only those of the same tracks are read. Around
// the plays of a long page they are mostly of the same tracks.
const fewPlays = 16

// playsAround returns a matcher with the stored plays that those of a page, which are sorted by time, may be.
func playsAround(ctx context.Context, tx *sql.Tx, user int64, by corrected,
	fresh []*library.Listen) (*matcher, error) {
	m := &matcher{known: map[int64][]*play{}}
	for from := 0; from < len(fresh); {
		to := from + 1
		for to < len(fresh) && fresh[to].PlayedAt.Sub(fresh[to-1].PlayedAt) < lull {
			to++
		}
		where := "l.user_id = $1 AND l.played_at BETWEEN $2 AND $3 AND l.approximate = 0"
		args := []any{user, millis(fresh[from].PlayedAt.Add(-reach)), millis(fresh[to-1].PlayedAt.Add(reach))}
		if to-from <= fewPlays {
			where += " AND p.match_key IN " + numbered(len(args)+1, to-from)
			for _, l := range fresh[from:to] {
				args = append(args, matchKey(l.Title, indexed(l.Artist)))
			}
		}
		for _, in := range by.piles {
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
	if len(by.piles) > 1 || len(by.edits) > 0 {
		m.sort()
	}
	for _, r := range m.stored {
		r.sides = by.apart[library.Source{Connection: r.connection, SourceID: r.sourceID}]
	}
	return m, nil
}

// loadPlays adds the stored plays of a pile that a condition selects.
func loadPlays(ctx context.Context, tx *sql.Tx, m *matcher, in pile, where string, args ...any) error {
	last := &play{}
	scan := func(r scanner) (*report, error) {
		var p play
		var conn library.ConnectionID
		var sourceID string
		var match, played, ms, at int64
		err := r.Scan(&p.id, &match, &played, &ms, &p.isrc, &p.mbid, &p.spelt, &conn, &sourceID, &at)
		if err != nil {
			return nil, err
		}
		if p.id != last.id {
			p.at, p.length, p.removed = instant(played), length(ms), in.removed
			last = &p
			m.known[match] = append(m.known[match], last)
		}
		v := newReport(conn, sourceID, instant(at), last.length)
		v.play, v.was = last, last
		last.reports = append(last.reports, &v)
		return &v, nil
	}
	stored, err := list(ctx, tx, scan, `SELECT l.id, p.match_key, l.played_at, p.duration_ms, p.isrc <> '',
			p.recording_mbid <> '', p.id, n.connection, `+idOf("s")+`, l.played_at + s.later
		FROM `+in.listens+" l JOIN spellings p ON p.id = l.spelling_id JOIN "+in.sources+` s ON s.listen_id = l.id
		JOIN connection_numbers n ON n.number = s.connection
		WHERE `+where+" ORDER BY l.played_at, l.id", args...)
	m.stored = append(m.stored, stored...)
	return err
}
