package listening

import "time"

// heard is what is counted of one spelling. What that makes of its artists, its album and its track is added up in the
// end, so that a listen touches little memory.
type heard struct {
	first         uint32 // which of all listens was the first of it, from 1 on; 0 for none
	now, prior    uint32 // listens in the span, and in the one before
	isNew, wasNew bool   // whether the first was in the span, or in the one before
}

// add adds another spelling of the same thing.
func (h *heard) add(other *heard) {
	if h.first == 0 || other.first < h.first {
		h.first, h.isNew, h.wasNew = other.first, other.isNew, other.wasNew
	}
	h.now += other.now
	h.prior += other.prior
}

type kind uint8

const (
	artist kind = iota
	album
	track
	kinds
)

// thing is what is counted of an artist, an album or a track.
type thing struct {
	heard
	kind    kind
	seconds uint32 // in the span
}

// things adds up what was heard by the ids of artists, albums and tracks, and all listens.
func (t *tally) things() []thing {
	all := make([]thing, int(t.music.last)+1)
	add := func(id uint32, k kind, h *heard, seconds uint32) {
		if id != 0 {
			all[id].add(h)
			all[id].kind = k
			all[id].seconds += h.now * seconds
		}
	}
	var known, unknown [2]int64 // seconds of known lengths, and listens without one, in the span and before it
	for spelling := range t.heard {
		h := &t.heard[spelling]
		if h.first == 0 {
			continue
		}
		v := t.music.of(uint32(spelling))
		add(v.track, track, h, v.seconds)
		add(v.album, album, h, v.seconds)
		for _, id := range t.music.artistsOf(v) {
			add(id, artist, h, v.seconds)
		}
		for i, n := range [2]uint32{h.now, h.prior} {
			known[i] += int64(n) * int64(v.seconds)
			if v.seconds == 0 {
				unknown[i] += int64(n)
			}
		}
		t.a.Totals.Listens += int(h.now)
		t.a.Before.Listens += int(h.prior)
	}
	for i, totals := range []*Totals{&t.a.Totals, &t.a.Before} {
		totals.Time, totals.Guessed = estimate(known[i], totals.Listens, unknown[i]), int(unknown[i])
	}
	return all
}

// rows fills in the lists of artists, albums and tracks, not yet in order, and how many there are.
func (t *tally) rows(all []thing) {
	a := &t.a
	lists := [kinds]*[]Row{artist: &a.Artists, album: &a.Albums, track: &a.Tracks}
	for id := range all {
		v := &all[id]
		if v.prior > 0 {
			a.Before.distinct(v.kind, v.wasNew)
		}
		if v.now == 0 {
			continue
		}
		a.Totals.distinct(v.kind, v.isNew)
		row := Row{ID: uint32(id), Listens: int(v.now), Before: int(v.prior),
			Time: time.Duration(v.seconds) * time.Second}
		*lists[v.kind] = append(*lists[v.kind], row)
		if v.kind != artist {
			continue
		}
		if v.isNew {
			a.New = append(a.New, row)
			if t.q.Lead {
				a.Stayed = append(a.Stayed, row)
			}
		}
		if away := t.away[uint32(id)]; away > 0 {
			row.Away = time.Duration(away) * time.Second
			a.Back = append(a.Back, row)
		}
	}
}

// distinct counts an artist, an album or a track.
func (n *Totals) distinct(k kind, isNew bool) {
	all := [kinds]*int{artist: &n.Artists, album: &n.Albums, track: &n.Tracks}
	fresh := [kinds]*int{artist: &n.NewArtists, album: &n.NewAlbums, track: &n.NewTracks}
	*all[k]++
	if isNew {
		*fresh[k]++
	}
}
