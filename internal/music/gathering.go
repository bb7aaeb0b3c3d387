package music

import (
	"slices"

	"reprise/internal/library"
)

// Means notes the ids of what the spelling means, and returns the artists of its track.
func (v *Spelling) Means(all []*Keyed) Credit {
	c := Credit{Listed: Lists(v.Track)}
	for _, e := range all {
		switch id := e.End().ID; e.Kind {
		case library.KindArtist:
			if !slices.Contains(c.Artists, id) {
				c.Artists = append(c.Artists, id)
			}
		case library.KindAlbum:
			v.AlbumID = id
		case library.KindTrack, Untitled:
			v.TrackID = id
		}
	}
	c.Track = v.TrackID
	return c
}

// NewlyWhole returns the artists that services list for the first time and whose names look like several.
func NewlyWhole(fresh []*Spelling, told [][]*Keyed) (all []*Keyed) {
	for i, v := range fresh {
		if len(v.Artists) == 0 {
			continue
		}
		for _, e := range told[i] {
			if e.Kind == library.KindArtist && e.ID == 0 && Composed(e.Artist) && !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// Gathering finds out what some new spellings mean.
type Gathering struct {
	ByID         map[int64]*Keyed
	Known        map[EntityKey]*Keyed
	MBIDs, ISRCs map[string]*Keyed // the tracks and artists that services have told these ids of
	Fresh        []*Keyed          // those that are not stored yet
	Joins        []any             // rows of joined_keys, with an entity in place of its id
	Lost         []*Keyed          // stored ones in whose place another one comes
}

// One returns the one value for a stored entity.
func (g *Gathering) One(e *Keyed) *Keyed {
	if g.ByID[e.ID] == nil {
		g.ByID[e.ID] = e
	}
	return g.ByID[e.ID]
}

// These are the lengths of ids that tell of a recording. Other texts in their place are no ids, and join nothing.
const (
	MbidLength = 36
	IsrcLength = 12
)

// Add returns the entity that e is, which may be e.
func (g *Gathering) Add(e *Keyed) *Keyed {
	here := g.Known[e.Named()]
	if here != nil {
		here = here.End()
	}
	if e.Kind == library.KindTrack || e.Kind == library.KindArtist {
		there := g.recording(e, here)
		switch {
		case there == nil || there == here:
		case here == nil:
			here = there
			g.Known[e.Named()] = here
			g.Joins = append(g.Joins, e.Kind, e.Key, here)
		default:
			here = g.join(here, there)
		}
	}
	if here == nil {
		here = e
		g.Known[e.Named()] = e
		g.Fresh = append(g.Fresh, e)
	}
	here.learn(e.Entity)
	if len(e.MBID) == MbidLength && g.MBIDs[e.MBID] == nil {
		g.MBIDs[e.MBID] = here
	}
	if len(e.ISRC) == IsrcLength && g.ISRCs[e.ISRC] == nil {
		g.ISRCs[e.ISRC] = here
	}
	return here
}

// recording returns the track or the artist with the MBID of e, else the track with its ISRC, if that has no other
// MBID. here has the same name as e: artists of one name are not told apart.
func (g *Gathering) recording(e, here *Keyed) *Keyed {
	if there := g.MBIDs[e.MBID]; there != nil {
		if there = there.End(); there.Kind != e.Kind || e.Kind == library.KindArtist && here != nil &&
			here.MBID != "" && here.MBID != e.MBID {
			return nil
		}
		return there
	}
	there := g.ISRCs[e.ISRC]
	if there == nil {
		return nil
	}
	there = there.End()
	other := func(mbid string) bool { return mbid != "" && there.MBID != "" && mbid != there.MBID }
	if other(e.MBID) || here != nil && other(here.MBID) {
		return nil
	}
	return there
}

// join makes one of two, and returns it: the one that was stored first.
func (g *Gathering) join(a, b *Keyed) *Keyed {
	if a.ID == 0 || b.ID != 0 && b.ID < a.ID {
		a, b = b, a
	}
	b.Into = a
	a.learn(b.Entity)
	if b.ID != 0 {
		g.Lost = append(g.Lost, b)
	}
	return a
}
