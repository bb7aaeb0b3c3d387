package intake

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// Pile is where listens are kept with their sources and forwards. Those that their person has deleted have a pile of
// their own, in which only the matching looks for them.
type Pile struct {
	Listens, Sources, forwards string // tables
	Removed                    bool
}

var (
	Kept    = Pile{"listens", "listen_sources", "forwards", false}
	Removed = Pile{"removed_listens", "removed_sources", "removed_forwards", true}
)

// Corrected is what the corrections of a person say for the matching.
type Corrected struct {
	Piles []Pile
	edits []edit
	Apart map[library.Source]music.Sides
}

// edit says that a listen had another spelling or another time before its person changed it.
type edit struct {
	listen, match int64
	at            time.Time
}

// CorrectedBy returns what the corrections of a person say for the plays of a page.
func CorrectedBy(ctx context.Context, tx *sql.Tx, page library.Intake) (by Corrected, err error) {
	by.Piles = []Pile{Kept}
	var some, gone bool
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM corrections WHERE user_id = $1 AND undone_at = 0),
		EXISTS (SELECT 1 FROM removed_listens WHERE user_id = $1)`, page.User).Scan(&some, &gone)
	if gone && page.Connection != library.ByHand { // what its person adds is wanted
		by.Piles = append(by.Piles, Removed)
	}
	if err != nil || !some {
		return by, err
	}
	by.edits, err = db.List(ctx, tx, scanEdit, `SELECT e.listen_id, p.match_key, e.played_at FROM edited_listens e
		JOIN spellings p ON p.id = e.spelling_id WHERE e.user_id = $1 AND e.approximate = 0`, page.User)
	if err != nil {
		return by, err
	}
	by.Apart = map[library.Source]music.Sides{}
	_, err = db.List(ctx, tx, func(r db.Scanner) (struct{}, error) {
		var from library.Source
		var correction int64
		var side int
		err := r.Scan(&from.Connection, &from.SourceID, &correction, &side)
		if by.Apart[from] == nil {
			by.Apart[from] = music.Sides{}
		}
		by.Apart[from][correction] = side
		return struct{}{}, err
	}, "SELECT connection, source_id, correction_id, side FROM kept_apart WHERE user_id = $1", page.User)
	return by, err
}

func scanEdit(r db.Scanner) (e edit, err error) {
	var at int64
	err = r.Scan(&e.listen, &e.match, &at)
	e.at = time.UnixMilli(at)
	return e, err
}

// renamedByRules returns the listens of a pile to which rules gave another name, where a condition on the name before
// selects them: services go on telling of them by that.
func renamedByRules(ctx context.Context, tx *sql.Tx, in Pile, where string, args ...any) ([]edit, error) {
	return db.List(ctx, tx, scanEdit, "SELECT r.listen_id, p.match_key, l.played_at FROM "+in.Listens+` l
		JOIN ruled_listens r ON r.listen_id = l.id JOIN spellings p ON p.id = r.spelling_id WHERE `+where, args...)
}

// loadEdited makes listens that their person has changed known as what they were as well, because services go on
// telling of that.
func loadEdited(ctx context.Context, tx *sql.Tx, m *music.Matcher, by Corrected, user int64,
	fresh []*library.Listen) error {
	byID := map[int64]*music.Play{}
	note := func() {
		for _, plays := range m.Known {
			for _, p := range plays {
				byID[p.ID] = p
			}
		}
	}
	note()
	near := func(e edit) bool {
		i, _ := slices.BinarySearchFunc(fresh, e.at.Add(-music.Reach), func(l *library.Listen, at time.Time) int {
			return l.PlayedAt.Compare(at)
		})
		return i < len(fresh) && !fresh[i].PlayedAt.After(e.at.Add(music.Reach))
	}
	for _, e := range by.edits {
		for _, in := range by.Piles {
			if byID[e.listen] != nil || !near(e) {
				break
			}
			if err := loadPlays(ctx, tx, m, in, "l.user_id = $1 AND l.id = $2", user, e.listen); err != nil {
				return err
			}
			note()
		}
		p := byID[e.listen]
		if p == nil {
			continue
		}
		p.Fixed = true
		if !slices.Contains(m.Known[e.match], p) {
			m.Known[e.match] = append(m.Known[e.match], p)
		}
	}
	return nil
}

// PileOf returns where a play is kept.
func PileOf(p *music.Play) Pile {
	if p.Removed {
		return Removed
	}
	return Kept
}

// lull is a time without plays, longer than twice reach. The stored plays within it are not read, because the plays of
// a page may be years apart.
const lull = 24 * time.Hour

// fewPlays is how many plays are few: of the stored plays around them, only those of the same tracks are read. Around
// the plays of a long page they are mostly of the same tracks.
const fewPlays = 16

// PlaysAround returns a matcher with the stored plays that those of a page, which are sorted by time, may be. told has
// the keys of the names by which some of them were told, if they have others now.
func PlaysAround(ctx context.Context, tx *sql.Tx, user int64, by Corrected, fresh []*library.Listen,
	told map[*library.Listen]int64) (*music.Matcher, error) {
	m := &music.Matcher{Known: map[int64][]*music.Play{}, Apart: by.Apart, Told: told}
	var ruled bool
	err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM ruled_listens WHERE user_id = $1)", user).Scan(&ruled)
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(fresh); {
		to := from + 1
		for to < len(fresh) && fresh[to].PlayedAt.Sub(fresh[to-1].PlayedAt) < lull {
			to++
		}
		where := "l.user_id = $1 AND l.played_at BETWEEN $2 AND $3 AND l.approximate = 0"
		args := []any{user, db.Millis(fresh[from].PlayedAt.Add(-music.Reach)),
			db.Millis(fresh[to-1].PlayedAt.Add(music.Reach))}
		if to-from <= fewPlays {
			var keys []any
			for _, l := range fresh[from:to] {
				keys = append(keys, music.MatchKey(l.Title, music.Indexed(l.Artist)))
				if key, ok := told[l]; ok {
					keys = append(keys, key)
				}
			}
			where += " AND p.match_key IN " + db.Numbered(len(args)+1, len(keys))
			args = append(args, keys...)
		}
		for _, in := range by.Piles {
			if err := loadPlays(ctx, tx, m, in, where, args...); err != nil {
				return nil, err
			}
			if !ruled {
				continue
			}
			edits, err := renamedByRules(ctx, tx, in, where, args...)
			if err != nil {
				return nil, err
			}
			by.edits = append(by.edits, edits...)
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

// unknownPlays returns the plays of the page that the connection has not reported before, the earliest first.
func unknownPlays(ctx context.Context, tx *sql.Tx, page library.Intake, piles []Pile) ([]*library.Listen, error) {
	seen := make(map[string]bool, len(page.Listens))
	scan := func(r db.Scanner) (id string, err error) { return id, r.Scan(&id) }
	const most = 100
	for chunk := range slices.Chunk(page.Listens, most) {
		args := make([]any, 0, len(chunk)+2)
		args = append(args, page.User, page.Connection)
		for i := range chunk {
			args = append(args, SourceKey(page.User, page.Connection, chunk[i].SourceID))
		}
		for _, in := range piles {
			ids, err := db.List(ctx, tx, scan, KnownSources(in)+db.Numbered(3, len(chunk)), args...)
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
