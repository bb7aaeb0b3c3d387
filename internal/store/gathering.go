package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"reprise/internal/library"
)

// addEntities stores what these spellings mean: new entities, new facts about known ones, and the artists of the
// tracks. It notes the ids in the spellings.
func (s *Store) addEntities(ctx context.Context, tx *sql.Tx, fresh []*spelling) error {
	alone, err := s.knownNames(ctx, tx, fresh)
	if err != nil {
		return err
	}
	told := make([][]*keyed, len(fresh))
	var keys []entityKey
	for i, v := range fresh {
		told[i] = entitiesOf(v.Track, alone)
		for _, e := range told[i] {
			keys = append(keys, e.named())
		}
	}
	g := gathering{byID: map[int64]*keyed{}, mbids: map[string]*keyed{}, isrcs: map[string]*keyed{}}
	if g.known, err = knownEntities(ctx, tx, keys); err != nil {
		return err
	}
	for k, e := range g.known {
		g.known[k] = g.one(e)
	}
	err = errors.Join(loadArtists(ctx, tx, &g, told), loadTracks(ctx, tx, &g, "recording_mbid", g.mbids, told),
		loadTracks(ctx, tx, &g, "isrc", g.isrcs, told))
	if err != nil {
		return err
	}
	for i := range told {
		for j, e := range told[i] {
			told[i][j] = g.add(e)
		}
	}
	whole := newlyWhole(fresh, told)
	if err := saveGathered(ctx, tx, &g); err != nil {
		return err
	}
	for _, e := range whole {
		err = errors.Join(err, standAlone(ctx, tx, e.Artist, e.end().id))
	}
	credits := make([]credit, 0, len(fresh))
	for i, v := range fresh {
		if c := v.means(told[i]); c.track != 0 {
			credits = append(credits, c)
		}
	}
	return errors.Join(err, saveCredits(ctx, tx, credits))
}

// means notes the ids of what the spelling means, and returns the artists of its track.
func (v *spelling) means(all []*keyed) credit {
	c := credit{listed: lists(v.Track)}
	for _, e := range all {
		switch id := e.end().id; e.Kind {
		case library.KindArtist:
			if !slices.Contains(c.artists, id) {
				c.artists = append(c.artists, id)
			}
		case library.KindAlbum:
			v.album = id
		case library.KindTrack, untitled:
			v.track = id
		}
	}
	c.track = v.track
	return c
}

// knownNames returns what says whether a name is known as that of one artist: from earlier, or from these spellings.
func (s *Store) knownNames(ctx context.Context, tx *sql.Tx, fresh []*spelling) (func(name string) bool, error) {
	known := map[int64]bool{}
	var keys []entityKey
	for _, v := range fresh {
		switch {
		case len(v.Artists) > 0:
			for _, c := range v.Artists {
				known[artistKey(c.Name)] = true
			}
		case !composed(v.Artist):
			known[artistKey(v.Artist)] = true
		default:
			for _, name := range possible(v.Artist) {
				keys = append(keys, entityKey{library.KindArtist, artistKey(name)})
			}
		}
	}
	stored, err := knownEntities(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		key := artistKey(name)
		return known[key] || stored[entityKey{library.KindArtist, key}] != nil
	}, nil
}

// newlyWhole returns the artists that services list for the first time and whose names look like several.
func newlyWhole(fresh []*spelling, told [][]*keyed) (all []*keyed) {
	for i, v := range fresh {
		if len(v.Artists) == 0 {
			continue
		}
		for _, e := range told[i] {
			if e.Kind == library.KindArtist && e.id == 0 && composed(e.Artist) && !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// gathering finds out what some new spellings mean.
type gathering struct {
	byID         map[int64]*keyed
	known        map[entityKey]*keyed
	mbids, isrcs map[string]*keyed // the tracks and artists that services have told these ids of
	fresh        []*keyed          // those that are not stored yet
	joins        []any             // rows of joined_keys, with an entity in place of its id
	lost         []*keyed          // stored ones in whose place another one comes
}

// one returns the one value for a stored entity.
func (g *gathering) one(e *keyed) *keyed {
	if g.byID[e.id] == nil {
		g.byID[e.id] = e
	}
	return g.byID[e.id]
}

// These are the lengths of ids that tell of a recording. Other texts in their place are no ids, and join nothing.
const (
	mbidLength = 36
	isrcLength = 12
)

// loadArtists fills in the stored artists with the MBIDs of these.
func loadArtists(ctx context.Context, tx *sql.Tx, g *gathering, told [][]*keyed) error {
	var ids []any
	for _, all := range told {
		for _, e := range all {
			if e.Kind == library.KindArtist && len(e.MBID) == mbidLength {
				ids = append(ids, e.MBID)
			}
		}
	}
	for chunk := range slices.Chunk(ids, 200) {
		found, err := list(ctx, tx, scanEntity, selectEntity+"WHERE e.mbid <> '' AND e.kind = $1 AND e.mbid IN "+
			numbered(2, len(chunk))+" ORDER BY e.id", append([]any{library.KindArtist}, chunk...)...)
		if err != nil {
			return err
		}
		for _, e := range found {
			if g.mbids[e.MBID] == nil {
				g.mbids[e.MBID] = g.one(e)
			}
		}
	}
	return nil
}

// loadTracks fills in the stored tracks that share an id with these.
func loadTracks(ctx context.Context, tx *sql.Tx, g *gathering, column string, into map[string]*keyed,
	told [][]*keyed) error {
	var ids []any
	for _, all := range told {
		for _, e := range all {
			id, size := e.MBID, mbidLength
			if column == "isrc" {
				id, size = e.ISRC, isrcLength
			}
			if len(id) == size && e.Kind == library.KindTrack {
				ids = append(ids, id)
			}
		}
	}
	type row struct {
		id string
		*keyed
	}
	scan := func(r scanner) (v row, err error) {
		v.keyed, err = scanEntity(scanFirst{r, &v.id})
		return v, err
	}
	for chunk := range slices.Chunk(ids, 200) {
		found, err := list(ctx, tx, scan, `SELECT p.`+column+`, e.id, e.kind, e.match_key, e.artist, e.title, e.album,
				e.duration_ms, e.isrc, e.mbid
			FROM spellings p JOIN entities e ON e.id = p.track_id
			WHERE p.`+column+" <> '' AND p."+column+" IN "+numbered(1, len(chunk))+" ORDER BY p.id", chunk...)
		if err != nil {
			return err
		}
		for _, v := range found {
			if into[v.id] == nil {
				into[v.id] = g.one(v.keyed)
			}
		}
	}
	return nil
}

// scanFirst scans the first column apart from the rest.
type scanFirst struct {
	scanner
	first any
}

func (s scanFirst) Scan(rest ...any) error { return s.scanner.Scan(append([]any{s.first}, rest...)...) }

// add returns the entity that e is, which may be e.
func (g *gathering) add(e *keyed) *keyed {
	here := g.known[e.named()]
	if here != nil {
		here = here.end()
	}
	if e.Kind == library.KindTrack || e.Kind == library.KindArtist {
		there := g.recording(e, here)
		switch {
		case there == nil || there == here:
		case here == nil:
			here = there
			g.known[e.named()] = here
			g.joins = append(g.joins, e.Kind, e.key, here)
		default:
			here = g.join(here, there)
		}
	}
	if here == nil {
		here = e
		g.known[e.named()] = e
		g.fresh = append(g.fresh, e)
	}
	here.learn(e.Entity)
	if len(e.MBID) == mbidLength && g.mbids[e.MBID] == nil {
		g.mbids[e.MBID] = here
	}
	if len(e.ISRC) == isrcLength && g.isrcs[e.ISRC] == nil {
		g.isrcs[e.ISRC] = here
	}
	return here
}

// recording returns the track or the artist with the MBID of e, else the track with its ISRC, if that has no other
// MBID. here has the same name as e: artists of one name are not told apart.
func (g *gathering) recording(e, here *keyed) *keyed {
	if there := g.mbids[e.MBID]; there != nil {
		if there = there.end(); there.Kind != e.Kind || e.Kind == library.KindArtist && here != nil &&
			here.MBID != "" && here.MBID != e.MBID {
			return nil
		}
		return there
	}
	there := g.isrcs[e.ISRC]
	if there == nil {
		return nil
	}
	there = there.end()
	other := func(mbid string) bool { return mbid != "" && there.MBID != "" && mbid != there.MBID }
	if other(e.MBID) || here != nil && other(here.MBID) {
		return nil
	}
	return there
}

// join makes one of two, and returns it: the one that was stored first.
func (g *gathering) join(a, b *keyed) *keyed {
	if a.id == 0 || b.id != 0 && b.id < a.id {
		a, b = b, a
	}
	b.into = a
	a.learn(b.Entity)
	if b.id != 0 {
		g.lost = append(g.lost, b)
	}
	return a
}

// saveGathered stores what has been gathered, and gives new entities their ids.
func saveGathered(ctx context.Context, tx *sql.Tx, g *gathering) error {
	var fresh []*keyed
	for _, e := range g.fresh {
		if e.into == nil {
			fresh = append(fresh, e)
		} else {
			g.joins = append(g.joins, e.Kind, e.key, e.end())
		}
	}
	next, err := nextIDs(ctx, tx, "entities", len(fresh))
	if err != nil {
		return err
	}
	const width = 9
	rows := make([]any, 0, width*len(fresh))
	for i, e := range fresh {
		e.id, e.learned = next+int64(i), false
		rows = append(rows, e.id, e.Kind, e.key, e.Artist, e.Title, e.Album, e.Duration.Milliseconds(), e.ISRC,
			e.MBID)
	}
	err = insertRows(ctx, tx, `INSERT INTO entities
		(id, kind, match_key, artist, title, album, duration_ms, isrc, mbid)`, width, rows, "")
	if err != nil {
		return err
	}
	for _, e := range g.byID {
		if !e.learned || e.into != nil {
			continue
		}
		err := execTx(ctx, tx, "UPDATE entities SET album = $1, duration_ms = $2, isrc = $3, mbid = $4 WHERE id = $5",
			e.Album, e.Duration.Milliseconds(), e.ISRC, e.MBID, e.id)
		if err != nil {
			return err
		}
	}
	for i := 2; i < len(g.joins); i += 3 {
		g.joins[i] = g.joins[i].(*keyed).end().id
	}
	err = insertRows(ctx, tx, "INSERT INTO joined_keys (kind, match_key, entity_id)", 3, g.joins,
		"ON CONFLICT DO NOTHING")
	for _, e := range g.lost {
		err = errors.Join(err, mergeEntities(ctx, tx, e.Kind, e.id, e.end().id))
	}
	return err
}

// mergeEntities makes one artist, album or track another one, with all that means it, and links to it lead there. What
// sources told of it goes.
func mergeEntities(ctx context.Context, tx *sql.Tx, kind string, from, into int64) error {
	steps := []string{
		"UPDATE joined_keys SET entity_id = $2 WHERE entity_id = $1",
		`INSERT INTO joined_keys (kind, match_key, entity_id)
			SELECT kind, match_key, CAST($2 AS BIGINT) FROM entities WHERE id = $1`,
		"UPDATE joined_ids SET entity_id = $2 WHERE entity_id = $1",
		"INSERT INTO joined_ids (old_id, entity_id) VALUES ($1, $2)",
	}
	switch kind {
	case library.KindArtist:
		steps = append(steps, `INSERT INTO track_artists (track_id, artist_id, position, listed)
			SELECT track_id, CAST($2 AS BIGINT), position, listed FROM track_artists WHERE artist_id = $1
			ON CONFLICT DO NOTHING`)
	case library.KindAlbum:
		steps = append(steps, "UPDATE spellings SET album_id = $2 WHERE album_id = $1")
	case library.KindTrack:
		steps = append(steps, "UPDATE spellings SET track_id = $2 WHERE track_id = $1",
			`DELETE FROM track_artists WHERE track_id = $2 AND listed = 0
				AND EXISTS (SELECT 1 FROM track_artists a WHERE a.track_id = $1 AND a.listed = 1)`,
			`INSERT INTO track_artists (track_id, artist_id, position, listed)
			SELECT CAST($2 AS BIGINT), artist_id, position, listed FROM track_artists a WHERE track_id = $1
			AND NOT EXISTS (SELECT 1 FROM track_artists b WHERE b.track_id = $2 AND b.listed = 1)
			ON CONFLICT DO NOTHING`)
	}
	for _, step := range steps {
		if err := execTx(ctx, tx, step, from, into); err != nil {
			return err
		}
	}
	if err := remeant(ctx, tx); err != nil {
		return err
	}
	return execTx(ctx, tx, "DELETE FROM entities WHERE id = $1", from)
}

// joinSame makes one of all that have the MBID that was found for an entity: the one that was stored first.
func joinSame(ctx context.Context, tx *sql.Tx, kind, mbid string) error {
	if len(mbid) != mbidLength {
		return nil
	}
	scan := func(r scanner) (id int64, err error) { return id, r.Scan(&id) }
	same, err := list(ctx, tx, scan, "SELECT id FROM entities WHERE mbid <> '' AND mbid = $1 AND kind = $2 ORDER BY id",
		mbid, kind)
	if err != nil {
		return err
	}
	for i := 1; i < len(same); i++ {
		if err := mergeEntities(ctx, tx, kind, same[i], same[0]); err != nil {
			return err
		}
	}
	return nil
}
