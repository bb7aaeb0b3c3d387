package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
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

// pilesOf returns where listens of a person are kept.
func pilesOf(ctx context.Context, tx *sql.Tx, user int64) ([]pile, error) {
	var some bool
	err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM removed_listens WHERE user_id = $1)", user).Scan(&some)
	if err != nil || !some {
		return []pile{kept}, err
	}
	return []pile{kept, removed}, nil
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
