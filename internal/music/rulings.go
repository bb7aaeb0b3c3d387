package music

import (
	"slices"

	"reprise/internal/library"
)

// Rulings are the rules of administrators about artists, albums and tracks. What services reported is stored unchanged,
// and the rules are applied whenever it is read. So a rule also applies to later listens, and undoing it restores
// exactly what was. rulings are immutable.
type Rulings struct {
	Instead  map[int64][]int64 // what replaces an artist, an album or a track
	Same     map[int64]int64   // tracks and albums of merged artists with the same title: the one stored first
	Credits  map[int64][]int64 // the artists of tracks into which others were merged
	Written  map[Writing]int64 // what replaces a track or an album for one spelling
	leaves   []leave
	Names    map[int64]Named
	Pictures map[int64]string
	// The present names of the artists that rules are about, by ID and by the key of the name in listens.
	Artists, Lead map[int64]string
}

// Named is the name of an entity of a kind.
type Named struct{ Kind, Name string }

// Writing is the title of a track or an album as a service writes it.
type Writing struct {
	of    int64
	title string
}

// leave moves some albums and tracks of an artist to another one.
type leave struct {
	from, to int64
	items    map[int64]bool
}

// RulingRow is a rule with one of its parts.
type RulingRow struct {
	Rule          int64
	Kind, Entity  string
	Of            int64
	Becomes, Part string
	Other         int64
	Title         string
}

// Add adds a rule, given as its rows, and returns the IDs of what replaces its subject.
func (r *Rulings) Add(rows []RulingRow) (into []int64) {
	items := map[int64]bool{}
	v := rows[0]
	for _, p := range rows {
		switch p.Part {
		case "into":
			into = append(into, p.Other)
		case "leaves":
			items[p.Other] = true
		}
	}
	switch {
	case v.Kind == library.Renamed:
		r.Names[v.Of] = Named{v.Entity, v.Becomes}
	case v.Kind == library.Pictured:
		r.Pictures[v.Of] = v.Becomes
	case len(into) == 0:
	case len(items) > 0:
		r.leaves = append(r.leaves, leave{v.Of, into[0], items})
	case v.Kind == library.Divided && v.Entity != library.KindArtist:
		for _, p := range rows {
			if p.Part == "written" {
				r.Written[Writing{v.Of, p.Title}] = into[0]
			}
		}
	default:
		r.Instead[v.Of] = into
	}
	return into
}

// Ends returns the IDs of what finally replaces an artist, an album or a track: its own if nothing does.
func (r *Rulings) Ends(id int64) []int64 {
	if r.Instead[id] == nil && r.Same[id] == 0 {
		return []int64{id}
	}
	var all []int64
	seen := map[int64]bool{}
	var walk func(id int64)
	walk = func(id int64) {
		next := r.Instead[id]
		if next == nil && r.Same[id] != 0 {
			next = []int64{r.Same[id]}
		}
		if next == nil || seen[id] {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
			return
		}
		seen[id] = true
		for _, other := range next {
			walk(other)
		}
		delete(seen, id) // two ways may lead to one artist
	}
	walk(id)
	return all
}

// End returns the first of ends.
func (r *Rulings) End(id int64) int64 { return r.Ends(id)[0] }

// Meaning is the meaning of a spelling: the IDs of its track, its album and its artists; 0 for none.
type Meaning struct {
	Track, Album      int64
	Title, AlbumTitle string // as the service writes them
	Artists           []int64
}

// Apply applies the rules to a meaning that services reported.
func (r *Rulings) Apply(v Meaning) Meaning {
	if len(r.Instead)+len(r.Same)+len(r.Written)+len(r.leaves) == 0 {
		return v
	}
	v.Track = r.follow(v.Track, v.Title, &v.Artists)
	v.Album = r.follow(v.Album, v.AlbumTitle, nil)
	v.Artists = r.ArtistsOf(v.Artists, v.Track, v.Album)
	return v
}

// follow returns the track or the album that a title from a service finally means. It replaces the artists by those of
// the track that this one was merged into.
func (r *Rulings) follow(id int64, title string, artists *[]int64) int64 {
	for seen := map[int64]bool{}; id != 0 && !seen[id]; {
		if next, ok := r.Written[Writing{id, title}]; ok {
			id = next
			continue
		}
		seen[id] = true
		if next := r.Instead[id]; next != nil {
			id = next[0]
			if told := r.Credits[id]; told != nil && artists != nil {
				*artists = told
			}
		} else if next := r.Same[id]; next != 0 {
			id = next
		}
	}
	return id
}

// ArtistsOf applies the rules to the artists of a track on an album.
func (r *Rulings) ArtistsOf(told []int64, track, album int64) (all []int64) {
	for _, a := range told {
		for _, b := range r.Ends(a) {
			for _, l := range r.leaves {
				if b == r.End(l.from) && (l.has(r, track) || l.has(r, album)) {
					b = r.End(l.to)
				}
			}
			if !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	return all
}

// has reports whether an album or a track is among those that move.
func (l *leave) has(r *Rulings, id int64) bool {
	if l.items[id] {
		return true
	}
	for item := range l.items {
		if id != 0 && r.End(item) == id {
			return true
		}
	}
	return false
}

// Call sets the names of an entity by the rules.
func (r *Rulings) Call(id int64, e *library.Entity) {
	if n := r.Names[id]; n.Name != "" {
		if e.Kind == library.KindArtist {
			e.Artist = n.Name
			return
		}
		e.Title = n.Name
	}
	if e.Kind == library.KindArtist {
		return
	}
	if name := r.Lead[ArtistKey(e.Artist)]; name != "" {
		e.Artist = name
	}
	for _, l := range r.leaves {
		if l.has(r, id) {
			e.Artist = r.Artists[l.to]
		}
	}
}
