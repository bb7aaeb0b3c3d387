package listening

import (
	"cmp"
	"slices"
	"time"
)

// Common is what two people have in common in a span. Yours is of the one who asks, Theirs of the other.
type Common struct {
	Yours, Theirs           Overlap
	Artists, Albums, Tracks []Pair  // what both heard, by the smaller number of listens
	Found                   []Found // the latest month first
	Unheard                 []Row   // artists that the other heard most, and who asks never did
}

// Overlap counts a person's listens, and how many of them are of what another person or a library has as well: artists
// that the other one heard, or songs of the library.
//
// Between two people, their ratio is the containment |A ∩ B| / |A| of A. Broder, On the resemblance and containment of
// documents (1997), where A are a person's listens, and B what is of the other one's artists. It differs for the two
// people, because who hears little usually has more of it in common.
type Overlap struct{ Listens, Shared int }

// Percent returns the ratio in percent. Only nothing is 0, and only everything is 100.
func (o Overlap) Percent() int {
	switch o.Shared {
	case 0:
		return 0
	case o.Listens:
		return 100
	}
	return min(max((o.Shared*100+o.Listens/2)/o.Listens, 1), 99)
}

// Pair is an artist, an album or a track that two people heard, with the listens of each.
type Pair struct {
	ID            uint32
	Yours, Theirs int
}

// Both returns how often both heard it: the smaller number of listens.
func (p Pair) Both() int { return min(p.Yours, p.Theirs) }

// Found is an artist that two people heard for the first time in the same month of the span. The months in which their
// listens begin are left out, because nobody knows what they had heard before.
type Found struct {
	Pair
	Month time.Time // its beginning
}

// much is the fewest listens that are enough to recommend an artist.
const much = 5

// Compare finds what two people have in common in the span of a question, which has no filter.
func Compare(yours, theirs []*Columns, music *Music, q Question) (c Common) {
	q.Most = cmp.Or(q.Most, 10)
	you, they := pastOf(yours, music, q.Span), pastOf(theirs, music, q.Span)
	seen := make([]bool, len(you.things))
	pair := func(to *[]Pair, id uint32) {
		if mine, other := you.things[id].in, they.things[id].in; mine > 0 && other > 0 && !seen[id] {
			seen[id] = true
			*to = append(*to, Pair{id, int(mine), int(other)})
		}
	}
	c.Yours = you.overlap(they, music, func(v meaning) {
		for _, id := range music.artistsOf(v) {
			pair(&c.Artists, id)
		}
		pair(&c.Albums, v.album)
		pair(&c.Tracks, v.track)
	})
	c.Theirs = they.overlap(you, music, func(v meaning) {
		for _, id := range music.artistsOf(v) {
			if n := they.things[id].in; n >= much && you.things[id].first == 0 && !seen[id] {
				seen[id] = true
				c.Unheard = append(c.Unheard, Row{ID: id, Listens: int(n)})
			}
		}
	})
	c.Found = Top(found(you, they, c.Artists, q), q.Most, compareFound)
	for _, list := range []*[]Pair{&c.Artists, &c.Albums, &c.Tracks} {
		*list = Top(*list, q.Most, comparePairs)
	}
	c.Unheard = most(c.Unheard, q.Most)
	return c
}

// comparePairs orders what both heard most first.
func comparePairs(x, y Pair) int {
	return cmp.Or(y.Both()-x.Both(), y.Yours+y.Theirs-x.Yours-x.Theirs, cmp.Compare(x.ID, y.ID))
}

// compareFound orders the latest month first.
func compareFound(x, y Found) int {
	return cmp.Or(y.Month.Compare(x.Month), comparePairs(x.Pair, y.Pair))
}

// found returns those of the artists that two people found in the same month.
func found(you, they past, artists []Pair, q Question) (all []Found) {
	from, _ := q.Span.unix()
	zone := q.Now.Location()
	monthOf := func(at int64) time.Time {
		y, m, _ := time.Unix(at, 0).In(zone).Date()
		return time.Date(y, m, 1, 0, 0, 0, 0, zone)
	}
	began := []time.Time{monthOf(you.began), monthOf(they.began)}
	for _, p := range artists {
		yours, theirs := you.things[p.ID].first, they.things[p.ID].first
		if min(yours, theirs) < from {
			continue
		}
		month := monthOf(yours)
		if month.Equal(monthOf(theirs)) && !slices.ContainsFunc(began, month.Equal) {
			all = append(all, Found{p, month})
		}
	}
	return all
}

// past is what one person heard.
type past struct {
	began     int64   // the first listen, in Unix seconds
	spellings []trace // the last one is for spellings without a meaning
	things    []trace // by the ids of artists, albums and tracks
}

// trace is when something was heard for the first time, in Unix seconds, 0 for never, and how often in the span.
type trace struct {
	first int64
	in    uint32
}

// pastOf counts what one person heard. What that makes of artists, albums and tracks is added up in the end.
func pastOf(all []*Columns, music *Music, span Span) past {
	p := past{spellings: make([]trace, len(music.meanings)+1), things: make([]trace, int(music.last)+1)}
	from, to := span.unix()
	for _, c := range all {
		for i, offset := range c.At {
			at := c.Start + int64(offset)
			v := &p.spellings[min(int(c.Spelling[i]), len(p.spellings)-1)]
			if v.first == 0 {
				v.first = at
			}
			if at >= from && at < to {
				v.in++
			}
			if p.began == 0 {
				p.began = at
			}
		}
	}
	for spelling, v := range p.spellings {
		if v.first == 0 {
			continue
		}
		means := music.of(uint32(spelling))
		for _, id := range music.artistsOf(means) {
			p.things[id].add(v)
		}
		p.things[means.album].add(v)
		p.things[means.track].add(v)
	}
	p.things[0] = trace{} // listens without an album or a track
	return p
}

func (t *trace) add(other trace) {
	if t.first == 0 || other.first < t.first {
		t.first = other.first
	}
	t.in += other.in
}

// overlap counts listens in the span, and calls fn with what each of their spellings means.
func (p past) overlap(other past, music *Music, fn func(meaning)) (o Overlap) {
	for spelling, v := range p.spellings {
		if v.in == 0 {
			continue
		}
		means := music.of(uint32(spelling))
		o.Listens += int(v.in)
		if slices.ContainsFunc(music.artistsOf(means), func(id uint32) bool { return other.things[id].in > 0 }) {
			o.Shared += int(v.in)
		}
		fn(means)
	}
	return o
}
