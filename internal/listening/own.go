package listening

import (
	"cmp"
	"slices"
	"time"
)

// Own says how much of what a person has heard their own library could play.
type Own struct {
	Overlap
	Years []YearShare // those in which something was heard, in order
	// Albums are those of which the library lacks what was heard, the most listens first.
	Albums []Lacking
}

// YearShare is what a library could have played in a year.
type YearShare struct {
	Year int
	Overlap
}

// Lacking is what a library lacks of an album.
type Lacking struct {
	Album   uint32 // its id
	Listens int
	Tracks  int // that were heard
}

// CountOwn counts the listens of tracks that a library has, by their ids. The columns are those of a person, in order
// of time; years begin in the zone.
func CountOwn(all []*Columns, m *Music, has map[uint32]bool, zone *time.Location) (o Own) {
	owned := make([]bool, int(m.last)+1)
	for id := range has {
		if id <= m.last {
			owned[id] = true
		}
	}
	lacks := make([]int, len(m.meanings)) // listens of tracks that the library lacks, by spelling
	var year *YearShare
	var until int64
	for _, c := range all {
		for i, spelling := range c.Spelling {
			if at := c.Start + int64(c.At[i]); at >= until {
				y := time.Unix(at, 0).In(zone).Year()
				o.Years = append(o.Years, YearShare{Year: y})
				year, until = &o.Years[len(o.Years)-1], time.Date(y+1, 1, 1, 0, 0, 0, 0, zone).Unix()
			}
			year.Listens++
			switch track := m.of(spelling).track; {
			case owned[track]:
				year.Shared++
			case int(spelling) < len(lacks):
				lacks[spelling]++
			}
		}
	}
	for _, y := range o.Years {
		o.Listens += y.Listens
		o.Shared += y.Shared
	}
	o.Albums = lackingOf(lacks, m)
	return o
}

// lackingOf adds up what is lacking by album.
func lackingOf(lacks []int, m *Music) (all []Lacking) {
	type song struct{ album, track uint32 }
	seen, places := map[song]bool{}, map[uint32]int{}
	for spelling, n := range lacks {
		v := m.of(uint32(spelling))
		if n == 0 || v.album == 0 {
			continue
		}
		i, known := places[v.album]
		if !known {
			i = len(all)
			places[v.album], all = i, append(all, Lacking{Album: v.album})
		}
		all[i].Listens += n
		if one := (song{v.album, v.track}); !seen[one] {
			seen[one] = true
			all[i].Tracks++
		}
	}
	slices.SortFunc(all, func(a, b Lacking) int {
		return cmp.Or(cmp.Compare(b.Listens, a.Listens), cmp.Compare(a.Album, b.Album))
	})
	return all
}
