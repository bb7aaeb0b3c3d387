package listening

import (
	"cmp"
	"slices"
	"time"
)

// Summary is what a person heard of each artist, in all time. It is all that another server needs to know to compare.
type Summary struct {
	Began   time.Time // the month of the first listen; zero for none
	Listens int       // of all artists; a listen of two artists counts for each
	Artists []Heard   // the most heard first
}

// Heard is how often a person heard an artist, and in which month for the first time.
type Heard struct {
	ID      uint32
	Listens int
	First   time.Time // its first day in UTC, as all months of a Summary
}

// Summarize returns the summary of a person's listens. Months are those of a zone.
func Summarize(all []*Columns, music *Music, zone *time.Location) (s Summary) {
	p := pastOf(all, music, Span{Name: All})
	month := func(at int64) time.Time {
		y, m, _ := time.Unix(at, 0).In(zone).Date()
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	}
	if p.began != 0 {
		s.Began = month(p.began)
	}
	seen := make([]bool, len(p.things))
	for spelling, v := range p.spellings {
		if v.in == 0 {
			continue
		}
		for _, id := range music.artistsOf(music.of(uint32(spelling))) {
			if t := p.things[id]; !seen[id] && t.in > 0 {
				seen[id] = true
				s.Artists = append(s.Artists, Heard{id, int(t.in), month(t.first)})
				s.Listens += int(t.in)
			}
		}
	}
	slices.SortFunc(s.Artists, func(x, y Heard) int {
		return cmp.Or(y.Listens-x.Listens, cmp.Compare(x.ID, y.ID))
	})
	return s
}

// CompareSummaries is Compare for people of two servers. Where both have an artist, it has the same ID. n caps each
// list.
func CompareSummaries(yours, theirs Summary, n int) (c Common) {
	c.Yours.Listens, c.Theirs.Listens = yours.Listens, theirs.Listens
	mine := make(map[uint32]Heard, len(yours.Artists))
	for _, a := range yours.Artists {
		mine[a.ID] = a
	}
	for _, a := range theirs.Artists {
		my, both := mine[a.ID]
		if !both {
			if a.Listens >= much {
				c.Unheard = append(c.Unheard, Row{ID: a.ID, Listens: a.Listens})
			}
			continue
		}
		p := Pair{a.ID, my.Listens, a.Listens}
		c.Yours.Shared += p.Yours
		c.Theirs.Shared += p.Theirs
		c.Artists = append(c.Artists, p)
		if a.First.Equal(my.First) && !a.First.Equal(yours.Began) && !a.First.Equal(theirs.Began) {
			c.Found = append(c.Found, Found{p, a.First})
		}
	}
	c.Found = Top(c.Found, n, compareFound)
	c.Artists = Top(c.Artists, n, comparePairs)
	c.Unheard = most(c.Unheard, n)
	return c
}
