package listening

import "slices"

// How many different origins, and how many different sets of them, the columns of one span hold. The rest up to the
// highest number is for origins without a player, so that even someone with thousands of players can filter by source.
const (
	mostNumbers  = 1<<16 - 1
	mostPlayed   = 60_000
	mostTogether = 255 // origins in a set
)

// Builder makes columns. It is not safe for concurrent use.
type Builder struct {
	c       *Columns
	numbers map[Origin]uint16
	next    map[step]uint16
}

// step leads from a set of origins to that with one more.
type step struct{ set, origin uint16 }

// NewBuilder returns a Builder of columns that begin at a Unix second.
func NewBuilder(start int64) *Builder {
	return &Builder{&Columns{Start: start, Sets: [][]uint16{nil}}, map[Origin]uint16{}, map[step]uint16{}}
}

// Columns returns what was added.
func (b *Builder) Columns() *Columns { return b.c }

// Add adds a listen to a spelling at a Unix second, which is not before that of the last one.
func (b *Builder) Add(at int64, spelling uint32) {
	b.c.At = append(b.c.At, uint32(at-b.c.Start))
	b.c.Spelling = append(b.c.Spelling, spelling)
	b.c.Sources = append(b.c.Sources, 0)
}

// From notes that an origin reported the last listen. The player is left out if there are too many.
func (b *Builder) From(o Origin) {
	last := &b.c.Sources[len(b.c.Sources)-1]
	if set, ok := b.with(*last, o); ok {
		*last = set
	} else if set, ok := b.with(*last, Origin{Connection: o.Connection}); ok {
		*last = set
	}
}

// with returns the set with one more origin, or false if there is no room for it.
func (b *Builder) with(set uint16, o Origin) (uint16, bool) {
	most := mostNumbers
	if o.Player != "" {
		most = mostPlayed
	}
	c := b.c
	origin, ok := b.numbers[o]
	if !ok {
		if len(c.From) >= most {
			return 0, false
		}
		origin = uint16(len(c.From))
		c.From, b.numbers[o] = append(c.From, o), origin
	}
	next, ok := b.next[step{set, origin}]
	switch {
	case ok:
		return next, true
	case slices.Contains(c.Sets[set], origin):
		next = set
	case len(c.Sets) >= most || len(c.Sets[set]) >= mostTogether:
		return 0, false
	default:
		next = uint16(len(c.Sets))
		c.Sets = append(c.Sets, append(slices.Clone(c.Sets[set]), origin))
	}
	b.next[step{set, origin}] = next
	return next, true
}
