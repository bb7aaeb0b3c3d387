package store

import (
	"context"
	"slices"
	"sync"

	"reprise/internal/library"
)

// rulings are the rules of administrators about artists, albums and tracks. What services reported is stored unchanged,
// and the rules are applied whenever it is read. So a rule also applies to later listens, and undoing it restores
// exactly what was. rulings are immutable.
type rulings struct {
	instead  map[int64][]int64 // what replaces an artist, an album or a track
	same     map[int64]int64   // tracks and albums of merged artists with the same title: the one stored first
	credits  map[int64][]int64 // the artists of tracks into which others were merged
	written  map[writing]int64 // what replaces a track or an album for one spelling
	leaves   []leave
	names    map[int64]named
	pictures map[int64]string
	// The present names of the artists that rules are about, by ID and by the key of the name in listens.
	artists, lead map[int64]string
}

// named is the name of an entity of a kind.
type named struct{ kind, name string }

// writing is the title of a track or an album as a service writes it.
type writing struct {
	of    int64
	title string
}

// leave moves some albums and tracks of an artist to another one.
type leave struct {
	from, to int64
	items    map[int64]bool
}

// rulingsCache holds the rulings. It is safe for concurrent use.
type rulingsCache struct {
	mu      sync.Mutex
	rulings *rulings
	// When they were read: the count of changed meanings, and the latest spelling, whose track may have the same title
	// as one of a merged artist.
	version, last int64
}

// rulings returns the rules that are not undone.
func (s *Store) rulings(ctx context.Context) (*rulings, error) {
	c := &s.ruled
	c.mu.Lock()
	defer c.mu.Unlock()
	var version, last int64
	err := s.reader.QueryRowContext(ctx, `SELECT coalesce((SELECT last FROM sequences WHERE name = $1), 0),
		CASE WHEN EXISTS (SELECT 1 FROM music_rules WHERE undone_at = 0)
			THEN coalesce((SELECT max(id) FROM spellings), 0) ELSE -1 END`, meanings).Scan(&version, &last)
	if err != nil {
		return nil, local(err)
	}
	if c.rulings != nil && c.version == version && c.last == last {
		return c.rulings, nil
	}
	next := &rulings{}
	if last >= 0 {
		if next, err = s.readRulings(ctx); err != nil {
			return nil, err
		}
	}
	c.rulings, c.version, c.last = next, version, last
	return next, nil
}

// rulingRow is a rule with one of its parts.
type rulingRow struct {
	rule          int64
	kind, entity  string
	of            int64
	becomes, part string
	other         int64
	title         string
}

func scanRuling(r scanner) (v rulingRow, err error) {
	return v, r.Scan(&v.rule, &v.kind, &v.entity, &v.of, &v.becomes, &v.part, &v.other, &v.title)
}

func (s *Store) readRulings(ctx context.Context) (*rulings, error) {
	rows, err := list(ctx, s.reader, scanRuling, `SELECT r.id, r.kind, r.entity, coalesce(j.entity_id, r.entity_id),
			r.becomes, coalesce(p.part, ''), coalesce(k.entity_id, p.entity_id, 0), coalesce(p.title, '')
		FROM music_rules r LEFT JOIN joined_ids j ON j.old_id = r.entity_id
		LEFT JOIN music_rule_parts p ON p.rule_id = r.id LEFT JOIN joined_ids k ON k.old_id = p.entity_id
		WHERE r.undone_at = 0 ORDER BY r.id, p.position`)
	if err != nil {
		return nil, err
	}
	r := &rulings{instead: map[int64][]int64{}, same: map[int64]int64{}, credits: map[int64][]int64{},
		written: map[writing]int64{}, names: map[int64]named{}, pictures: map[int64]string{},
		artists: map[int64]string{}, lead: map[int64]string{}}
	var artists, merged, targets []int64 // artists in rules, targets of merged artists and of merged tracks
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(v rulingRow) bool { return v.rule != rows[0].rule })
		if n < 0 {
			n = len(rows)
		}
		v, into := rows[0], r.add(rows[:n])
		rows = rows[n:]
		switch {
		case v.entity == library.KindArtist:
			artists = append(append(artists, v.of), into...)
			if v.kind == library.Merged {
				merged = append(merged, into...)
			}
		case v.entity == library.KindTrack && v.kind == library.Merged:
			targets = append(targets, into...)
		}
	}
	if err := s.creditsOfTracks(ctx, targets, r.credits); err != nil {
		return nil, err
	}
	names, err := s.artistNames(ctx, r, artists)
	if err != nil {
		return nil, err
	}
	return r, s.sameTitles(ctx, r, merged, names)
}

// add adds a rule, given as its rows, and returns the IDs of what replaces its subject.
func (r *rulings) add(rows []rulingRow) (into []int64) {
	items := map[int64]bool{}
	v := rows[0]
	for _, p := range rows {
		switch p.part {
		case "into":
			into = append(into, p.other)
		case "leaves":
			items[p.other] = true
		}
	}
	switch {
	case v.kind == library.Renamed:
		r.names[v.of] = named{v.entity, v.becomes}
	case v.kind == library.Pictured:
		r.pictures[v.of] = v.becomes
	case len(into) == 0:
	case len(items) > 0:
		r.leaves = append(r.leaves, leave{v.of, into[0], items})
	case v.kind == library.Divided && v.entity != library.KindArtist:
		for _, p := range rows {
			if p.part == "written" {
				r.written[writing{v.of, p.title}] = into[0]
			}
		}
	default:
		r.instead[v.of] = into
	}
	return into
}

// ends returns the IDs of what finally replaces an artist, an album or a track: its own if nothing does.
func (r *rulings) ends(id int64) []int64 {
	if r.instead[id] == nil && r.same[id] == 0 {
		return []int64{id}
	}
	var all []int64
	seen := map[int64]bool{}
	var walk func(id int64)
	walk = func(id int64) {
		next := r.instead[id]
		if next == nil && r.same[id] != 0 {
			next = []int64{r.same[id]}
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

// end returns the first of ends.
func (r *rulings) end(id int64) int64 { return r.ends(id)[0] }

// meant is the meaning of a spelling: the IDs of its track, its album and its artists; 0 for none.
type meant struct {
	track, album      int64
	title, albumTitle string // as the service writes them
	artists           []int64
}

// apply applies the rules to a meaning that services reported.
func (r *rulings) apply(v meant) meant {
	if len(r.instead)+len(r.same)+len(r.written)+len(r.leaves) == 0 {
		return v
	}
	v.track = r.follow(v.track, v.title, &v.artists)
	v.album = r.follow(v.album, v.albumTitle, nil)
	v.artists = r.artistsOf(v.artists, v.track, v.album)
	return v
}

// follow returns the track or the album that a title from a service finally means. It replaces the artists by those of
// the track that this one was merged into.
func (r *rulings) follow(id int64, title string, artists *[]int64) int64 {
	for seen := map[int64]bool{}; id != 0 && !seen[id]; {
		if next, ok := r.written[writing{id, title}]; ok {
			id = next
			continue
		}
		seen[id] = true
		if next := r.instead[id]; next != nil {
			id = next[0]
			if told := r.credits[id]; told != nil && artists != nil {
				*artists = told
			}
		} else if next := r.same[id]; next != 0 {
			id = next
		}
	}
	return id
}

// artistsOf applies the rules to the artists of a track on an album.
func (r *rulings) artistsOf(told []int64, track, album int64) (all []int64) {
	for _, a := range told {
		for _, b := range r.ends(a) {
			for _, l := range r.leaves {
				if b == r.end(l.from) && (l.has(r, track) || l.has(r, album)) {
					b = r.end(l.to)
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
func (l *leave) has(r *rulings, id int64) bool {
	if l.items[id] {
		return true
	}
	for item := range l.items {
		if id != 0 && r.end(item) == id {
			return true
		}
	}
	return false
}

// call sets the names of an entity by the rules.
func (r *rulings) call(id int64, e *library.Entity) {
	if n := r.names[id]; n.name != "" {
		if e.Kind == library.KindArtist {
			e.Artist = n.name
			return
		}
		e.Title = n.name
	}
	if e.Kind == library.KindArtist {
		return
	}
	if name := r.lead[artistKey(e.Artist)]; name != "" {
		e.Artist = name
	}
	for _, l := range r.leaves {
		if l.has(r, id) {
			e.Artist = r.artists[l.to]
		}
	}
}

// creditsOfTracks adds the artists that services reported for tracks.
func (s *Store) creditsOfTracks(ctx context.Context, tracks []int64, to map[int64][]int64) error {
	scan := func(r scanner) (none struct{}, err error) {
		var track, artist int64
		err = r.Scan(&track, &artist)
		to[track] = append(to[track], artist)
		return none, err
	}
	for chunk := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(tracks))), 200) {
		_, err := list(ctx, s.reader, scan, "SELECT track_id, artist_id FROM track_artists WHERE track_id IN "+
			numbered(1, len(chunk))+" ORDER BY track_id, position, artist_id", anys(chunk)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// anys returns IDs as arguments of a statement.
func anys[T any](ids []T) []any {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return args
}

// artistNames fills in r.artists and r.lead, and returns the IDs of these artists by the key of each name in listens.
func (s *Store) artistNames(ctx context.Context, r *rulings, of []int64) (map[int64]int64, error) {
	keys, names := map[int64]int64{}, map[int64]string{}
	scan := func(row scanner) (none struct{}, err error) {
		var id, key int64
		var name string
		err = row.Scan(&id, &key, &name)
		keys[key], names[id] = id, name
		return none, err
	}
	for chunk := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(of))), 200) {
		_, err := list(ctx, s.reader, scan, "SELECT id, match_key, artist FROM entities WHERE id IN "+
			numbered(1, len(chunk))+` UNION ALL SELECT e.id, k.match_key, e.artist FROM joined_keys k
			JOIN entities e ON e.id = k.entity_id WHERE k.kind = 'artist' AND e.id IN `+numbered(1, len(chunk)),
			anys(chunk)...)
		if err != nil {
			return nil, err
		}
	}
	now := func(id int64) string {
		id = r.end(id)
		if n := r.names[id]; n.name != "" {
			return n.name
		}
		return names[id]
	}
	for key, id := range keys {
		r.lead[key] = now(id)
	}
	for id := range names {
		r.artists[id] = now(id)
	}
	return keys, nil
}
