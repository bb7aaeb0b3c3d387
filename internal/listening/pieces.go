package listening

import (
	"cmp"
	"math/bits"
	"slices"
)

// leaders finds the artist heard most in each piece of the span, and counts the pieces in which each artist was heard.
type leaders struct {
	piece  *Piece
	heard  []uint32 // listens in the piece, by artist
	seen   []uint32 // the artists with listens in it
	pieces []uint16 // by artist
}

// count counts a listen to an artist in a piece. Pieces must come in order.
func (l *leaders) count(p *Piece, id uint32) {
	if l.piece != p {
		l.close()
		l.piece = p
	}
	if l.heard[id] == 0 {
		l.seen = append(l.seen, id)
	}
	l.heard[id]++
}

// close ends a piece.
func (l *leaders) close() {
	for _, id := range l.seen {
		n := int(l.heard[id])
		if lead := &l.piece.Lead; n > lead.Listens || n == lead.Listens && id < lead.ID {
			*lead = Row{ID: id, Listens: n}
		}
		l.heard[id] = 0
		l.pieces[id]++
	}
	l.seen = l.seen[:0]
}

// stack counts the listens to the artists of Answer.Stacked in each piece, and finds each piece's top artist.
func (t *tally) stack(all []*Columns, piece func(day int64) *Piece) {
	stacked := t.stacked()
	if t.q.Lead {
		t.leaders = &leaders{heard: make([]uint32, len(t.last)), pieces: make([]uint16, len(t.last))}
		defer t.leaders.close()
	}
	for _, c := range all {
		if n := len(c.At); n == 0 || c.Start+int64(c.At[n-1]) < t.from || c.Start+int64(c.At[0]) >= t.to {
			continue
		}
		wanted := t.pick.sources(c)
		for i, offset := range c.At {
			at, spelling := c.Start+int64(offset), c.Spelling[i]
			if at < t.from || at >= t.to || !wanted.has(c.Sources[i]) || int(spelling) >= len(stacked) ||
				stacked[spelling] == 0 && t.leaders == nil {
				continue
			}
			day, second := t.clock.day(at)
			if !t.pick.fits(spelling, day, second) {
				continue
			}
			p := piece(day)
			for rest := stacked[spelling]; rest != 0; rest &= rest - 1 {
				p.By[bits.TrailingZeros8(rest)]++
			}
			if t.leaders == nil {
				continue
			}
			for _, id := range t.music.artistsOf(t.music.of(spelling)) {
				t.leaders.count(p, id)
			}
		}
	}
}

// stacked returns, for each spelling, the artists of Answer.Stacked it belongs to, as bits.
func (t *tally) stacked() []uint8 {
	place := map[uint32]uint8{}
	for i, id := range t.a.Stacked {
		place[id] = 1 << i
	}
	of := make([]uint8, len(t.music.meanings))
	for i, v := range t.music.meanings {
		for _, id := range t.music.artistsOf(v) {
			of[i] |= place[id]
		}
	}
	return of
}

// stayed sorts the new artists by the number of pieces in which they were heard.
func (t *tally) stayed() {
	if t.leaders == nil {
		t.a.Stayed = nil
		return
	}
	for i := range t.a.Stayed {
		t.a.Stayed[i].Pieces = int(t.leaders.pieces[t.a.Stayed[i].ID])
	}
	slices.SortStableFunc(t.a.Stayed, func(x, y Row) int {
		return cmp.Or(y.Pieces-x.Pieces, y.Listens-x.Listens, cmp.Compare(x.ID, y.ID))
	})
	t.a.Stayed = t.a.Stayed[:min(len(t.a.Stayed), t.q.Most)]
}
