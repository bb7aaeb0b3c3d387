package intake

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
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
	scan := func(r db.Scanner) (e edit, err error) {
		var at int64
		err = r.Scan(&e.listen, &e.match, &at)
		e.at = time.UnixMilli(at)
		return e, err
	}
	by.edits, err = db.List(ctx, tx, scan, `SELECT e.listen_id, p.match_key, e.played_at FROM edited_listens e
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
