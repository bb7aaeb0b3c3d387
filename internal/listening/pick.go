package listening

import (
	"slices"
	"time"
)

// Picker finds the listens that a filter selects. It is not safe for concurrent use.
type Picker struct {
	filter Filter
	wanted []bool // by spelling; nil for all
	clock  clock
}

// NewPicker returns a Picker for a filter, whose hours and weekdays are those in a zone.
func NewPicker(f Filter, music *Music, zone *time.Location) *Picker {
	p := &Picker{filter: f, clock: clock{zone: zone}}
	if f.Artist == 0 && f.Album == 0 && f.Track == 0 && f.Tagged == nil && f.Spellings == nil {
		return p
	}
	p.wanted = make([]bool, len(music.meanings))
	for i := range p.wanted {
		p.wanted[i] = f.means(music, &music.meanings[i])
	}
	if f.Spellings != nil {
		some := make([]bool, len(p.wanted))
		for _, id := range f.Spellings {
			if int(id) < len(some) {
				some[id] = p.wanted[id]
			}
		}
		p.wanted = some
	}
	return p
}

// means reports whether the filter selects what a spelling means.
func (f *Filter) means(music *Music, v *meaning) bool {
	artists := music.artistsOf(*v)
	if f.Track != 0 && f.Track != v.track || f.Album != 0 && f.Album != v.album ||
		f.Artist != 0 && !slices.Contains(artists, f.Artist) {
		return false
	}
	return f.Tagged == nil || f.Tagged[v.track] || f.Tagged[v.album] ||
		slices.ContainsFunc(artists, func(id uint32) bool { return f.Tagged[id] })
}

// sources are the sets of origins that a filter selects; nil for all.
type sources []bool

// sources returns the sets of origins in which one is of the filter's source and player.
func (p *Picker) sources(c *Columns) sources {
	f := &p.filter
	if f.Source == "" && f.Player == "" {
		return nil
	}
	wanted := make(sources, len(c.Sets))
	for i, set := range c.Sets {
		wanted[i] = slices.ContainsFunc(set, func(i uint16) bool {
			o := c.From[i]
			return (f.Source == "" || o.Connection == f.Source) && (f.Player == "" || o.Player == f.Player)
		})
	}
	return wanted
}

// has reports whether a set is among them.
func (s sources) has(set uint16) bool { return s == nil || s[set] }

// fits reports whether the filter selects a listen, leaving its sources aside.
func (p *Picker) fits(spelling uint32, day, second int64) bool {
	if p.wanted != nil && (int(spelling) >= len(p.wanted) || !p.wanted[spelling]) {
		return false
	}
	f := &p.filter
	return (f.Hours == 0 || f.Hours&(1<<(second/3600)) != 0) &&
		(f.Weekdays == 0 || f.Weekdays&(1<<weekday(day)) != 0)
}

// Pick calls fn for each listen of the columns that the filter selects, oldest or newest first, until fn returns false.
// It reports whether fn wants more.
func (p *Picker) Pick(c *Columns, backwards bool, fn func(at int64, spelling uint32) bool) bool {
	wanted, clocked := p.sources(c), p.filter.Hours != 0 || p.filter.Weekdays != 0
	for n := range c.At {
		i := n
		if backwards {
			i = len(c.At) - 1 - n
		}
		if !wanted.has(c.Sources[i]) {
			continue
		}
		at, spelling := c.Start+int64(c.At[i]), c.Spelling[i]
		day, second := int64(0), int64(0)
		if clocked {
			day, second = p.clock.day(at)
		}
		if p.fits(spelling, day, second) && !fn(at, spelling) {
			return false
		}
	}
	return true
}
