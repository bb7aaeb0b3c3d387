package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"reprise/internal/library"
)

// pile is where listens are kept with their sources and forwards. Those that their person has deleted have a pile of
// their own, in which only the matching looks for them.
type pile struct {
	listens, sources, forwards string // tables
	removed                    bool
}

var (
	kept    = pile{"listens", "listen_sources", "forwards", false}
	removed = pile{"removed_listens", "removed_sources", "removed_forwards", true}
)

// corrected is what the corrections of a person say for the matching.
type corrected struct {
	piles []pile
	edits []edit
	apart map[library.Source]sides
}

// edit says that a listen had another spelling or another time before its person changed it.
type edit struct {
	listen, match int64
	at            time.Time
}

// sides are on which side a source is of what is kept apart, by correction.
type sides map[int64]int

// against reports whether two sources are never of one listen.
func (s sides) against(other sides) bool {
	for correction, side := range s {
		if there, ok := other[correction]; ok && there != side {
			return true
		}
	}
	return false
}

// correctedBy returns what the corrections of a person say for the plays of a page.
func correctedBy(ctx context.Context, tx *sql.Tx, page library.Intake) (by corrected, err error) {
	by.piles = []pile{kept}
	var some, gone bool
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM corrections WHERE user_id = $1 AND undone_at = 0),
		EXISTS (SELECT 1 FROM removed_listens WHERE user_id = $1)`, page.User).Scan(&some, &gone)
	if gone && page.Connection != library.ByHand { // what its person adds is wanted
		by.piles = append(by.piles, removed)
	}
	if err != nil || !some {
		return by, err
	}
	scan := func(r scanner) (e edit, err error) {
		var at int64
		err = r.Scan(&e.listen, &e.match, &at)
		e.at = time.UnixMilli(at)
		return e, err
	}
	by.edits, err = list(ctx, tx, scan, `SELECT e.listen_id, p.match_key, e.played_at FROM edited_listens e
		JOIN spellings p ON p.id = e.spelling_id WHERE e.user_id = $1 AND e.approximate = 0`, page.User)
	if err != nil {
		return by, err
	}
	by.apart = map[library.Source]sides{}
	_, err = list(ctx, tx, func(r scanner) (struct{}, error) {
		var from library.Source
		var correction int64
		var side int
		err := r.Scan(&from.Connection, &from.SourceID, &correction, &side)
		if by.apart[from] == nil {
			by.apart[from] = sides{}
		}
		by.apart[from][correction] = side
		return struct{}{}, err
	}, "SELECT connection, source_id, correction_id, side FROM kept_apart WHERE user_id = $1", page.User)
	return by, err
}

// loadEdited makes listens that their person has changed known as what they were as well, because services go on
// telling of that.
func loadEdited(ctx context.Context, tx *sql.Tx, m *matcher, by corrected, user int64,
	fresh []*library.Listen) error {
	byID := map[int64]*play{}
	note := func() {
		for _, plays := range m.known {
			for _, p := range plays {
				byID[p.id] = p
			}
		}
	}
	note()
	near := func(e edit) bool {
		i, _ := slices.BinarySearchFunc(fresh, e.at.Add(-reach), func(l *library.Listen, at time.Time) int {
			return l.PlayedAt.Compare(at)
		})
		return i < len(fresh) && !fresh[i].PlayedAt.After(e.at.Add(reach))
	}
	for _, e := range by.edits {
		for _, in := range by.piles {
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
		p.fixed = true
		if !slices.Contains(m.known[e.match], p) {
			m.known[e.match] = append(m.known[e.match], p)
		}
	}
	return nil
}

// pileOf returns where a play is kept.
func pileOf(p *play) pile {
	if p.removed {
		return removed
	}
	return kept
}

// sort brings the plays of all piles into the order in which those of one are.
func (m *matcher) sort() {
	for _, plays := range m.known {
		slices.SortFunc(plays, func(a, b *play) int {
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
		})
	}
}

// respell gives a listen that was deleted another spelling, unless that is 0.
func respell(ctx context.Context, tx *sql.Tx, id, spelling int64) error {
	if spelling == 0 {
		return nil
	}
	return execTx(ctx, tx, "UPDATE removed_listens SET spelling_id = $2 WHERE id = $1", id, spelling)
}
