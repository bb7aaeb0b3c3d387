package catalogue

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
)

// addEntities stores what these spellings mean: new entities, new facts about known ones, and the artists of the
// tracks. It notes the ids in the spellings.
func (s *Store) addEntities(ctx context.Context, tx *sql.Tx, fresh []*music.Spelling) error {
	alone, err := s.knownNames(ctx, tx, fresh)
	if err != nil {
		return err
	}
	told := make([][]*music.Keyed, len(fresh))
	var keys []music.EntityKey
	for i, v := range fresh {
		told[i] = music.EntitiesOf(v.Track, alone)
		for _, e := range told[i] {
			keys = append(keys, e.Named())
		}
	}
	g := music.Gathering{ByID: map[int64]*music.Keyed{}, MBIDs: map[string]*music.Keyed{},
		ISRCs: map[string]*music.Keyed{}}
	if g.Known, err = KnownEntities(ctx, tx, keys); err != nil {
		return err
	}
	for k, e := range g.Known {
		g.Known[k] = g.One(e)
	}
	err = errors.Join(loadArtists(ctx, tx, &g, told), loadTracks(ctx, tx, &g, "recording_mbid", g.MBIDs, told),
		loadTracks(ctx, tx, &g, "isrc", g.ISRCs, told))
	if err != nil {
		return err
	}
	for i := range told {
		for j, e := range told[i] {
			told[i][j] = g.Add(e)
		}
	}
	whole := music.NewlyWhole(fresh, told)
	if err := saveGathered(ctx, tx, &g); err != nil {
		return err
	}
	for _, e := range whole {
		err = errors.Join(err, standAlone(ctx, tx, e.Artist, e.End().ID))
	}
	credits := make([]music.Credit, 0, len(fresh))
	for i, v := range fresh {
		if c := v.Means(told[i]); c.Track != 0 {
			credits = append(credits, c)
		}
	}
	return errors.Join(err, saveCredits(ctx, tx, credits))
}

// knownNames returns what says whether a name is known as that of one artist: from earlier, or from these spellings.
func (s *Store) knownNames(ctx context.Context, tx *sql.Tx, fresh []*music.Spelling) (func(name string) bool, error) {
	known := map[int64]bool{}
	var keys []music.EntityKey
	for _, v := range fresh {
		switch {
		case len(v.Artists) > 0:
			for _, c := range v.Artists {
				known[music.ArtistKey(c.Name)] = true
			}
		case !music.Composed(v.Artist):
			known[music.ArtistKey(v.Artist)] = true
		default:
			for _, name := range music.Possible(v.Artist) {
				keys = append(keys, music.EntityKey{Kind: library.KindArtist, Key: music.ArtistKey(name)})
			}
		}
	}
	stored, err := KnownEntities(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		key := music.ArtistKey(name)
		return known[key] || stored[music.EntityKey{Kind: library.KindArtist, Key: key}] != nil
	}, nil
}

// loadArtists fills in the stored artists with the MBIDs of these.
func loadArtists(ctx context.Context, tx *sql.Tx, g *music.Gathering, told [][]*music.Keyed) error {
	var ids []any
	for _, all := range told {
		for _, e := range all {
			if e.Kind == library.KindArtist && len(e.MBID) == music.MbidLength {
				ids = append(ids, e.MBID)
			}
		}
	}
	for chunk := range slices.Chunk(ids, 200) {
		found, err := db.List(ctx, tx, ScanEntity, SelectEntity+"WHERE e.mbid <> '' AND e.kind = $1 AND e.mbid IN "+
			db.Numbered(2, len(chunk))+" ORDER BY e.id", append([]any{library.KindArtist}, chunk...)...)
		if err != nil {
			return err
		}
		for _, e := range found {
			if g.MBIDs[e.MBID] == nil {
				g.MBIDs[e.MBID] = g.One(e)
			}
		}
	}
	return nil
}

// loadTracks fills in the stored tracks that share an id with these.
func loadTracks(ctx context.Context, tx *sql.Tx, g *music.Gathering, column string, into map[string]*music.Keyed,
	told [][]*music.Keyed) error {
	var ids []any
	for _, all := range told {
		for _, e := range all {
			id, size := e.MBID, music.MbidLength
			if column == "isrc" {
				id, size = e.ISRC, music.IsrcLength
			}
			if len(id) == size && e.Kind == library.KindTrack {
				ids = append(ids, id)
			}
		}
	}
	type row struct {
		id string
		*music.Keyed
	}
	scan := func(r db.Scanner) (v row, err error) {
		v.Keyed, err = ScanEntity(scanFirst{r, &v.id})
		return v, err
	}
	for chunk := range slices.Chunk(ids, 200) {
		found, err := db.List(ctx, tx, scan,
			`SELECT p.`+column+`, e.id, e.kind, e.match_key, e.artist, e.title, e.album,
				e.duration_ms, e.isrc, e.mbid
			FROM spellings p JOIN entities e ON e.id = p.track_id
			WHERE p.`+column+" <> '' AND p."+column+" IN "+db.Numbered(1, len(chunk))+" ORDER BY p.id", chunk...)
		if err != nil {
			return err
		}
		for _, v := range found {
			if into[v.id] == nil {
				into[v.id] = g.One(v.Keyed)
			}
		}
	}
	return nil
}

// scanFirst scans the first column apart from the rest.
type scanFirst struct {
	db.Scanner
	first any
}

func (s scanFirst) Scan(rest ...any) error { return s.Scanner.Scan(append([]any{s.first}, rest...)...) }

// saveGathered stores what has been gathered, and gives new entities their ids.
func saveGathered(ctx context.Context, tx *sql.Tx, g *music.Gathering) error {
	var fresh []*music.Keyed
	for _, e := range g.Fresh {
		if e.Into == nil {
			fresh = append(fresh, e)
		} else {
			g.Joins = append(g.Joins, e.Kind, e.Key, e.End())
		}
	}
	next, err := db.NextIDs(ctx, tx, "entities", len(fresh))
	if err != nil {
		return err
	}
	const width = 9
	rows := make([]any, 0, width*len(fresh))
	for i, e := range fresh {
		e.ID, e.Learned = next+int64(i), false
		rows = append(rows, e.ID, e.Kind, e.Key, e.Artist, e.Title, e.Album, e.Duration.Milliseconds(), e.ISRC,
			e.MBID)
	}
	err = db.InsertRows(ctx, tx, `INSERT INTO entities
		(id, kind, match_key, artist, title, album, duration_ms, isrc, mbid)`, width, rows, "")
	if err != nil {
		return err
	}
	for _, e := range g.ByID {
		if !e.Learned || e.Into != nil {
			continue
		}
		err := db.ExecTx(ctx, tx,
			"UPDATE entities SET album = $1, duration_ms = $2, isrc = $3, mbid = $4 WHERE id = $5",
			e.Album, e.Duration.Milliseconds(), e.ISRC, e.MBID, e.ID)
		if err != nil {
			return err
		}
	}
	for i := 2; i < len(g.Joins); i += 3 {
		g.Joins[i] = g.Joins[i].(*music.Keyed).End().ID
	}
	err = db.InsertRows(ctx, tx, "INSERT INTO joined_keys (kind, match_key, entity_id)", 3, g.Joins,
		"ON CONFLICT DO NOTHING")
	for _, e := range g.Lost {
		err = errors.Join(err, mergeEntities(ctx, tx, e.Kind, e.ID, e.End().ID))
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
		if err := db.ExecTx(ctx, tx, step, from, into); err != nil {
			return err
		}
	}
	if err := Remeant(ctx, tx); err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, "DELETE FROM entities WHERE id = $1", from)
}

// JoinSame makes one of all that have the MBID that was found for an entity: the one that was stored first.
func JoinSame(ctx context.Context, tx *sql.Tx, kind, mbid string) error {
	if len(mbid) != music.MbidLength {
		return nil
	}
	scan := func(r db.Scanner) (id int64, err error) { return id, r.Scan(&id) }
	same, err := db.List(ctx, tx, scan,
		"SELECT id FROM entities WHERE mbid <> '' AND mbid = $1 AND kind = $2 ORDER BY id",
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
