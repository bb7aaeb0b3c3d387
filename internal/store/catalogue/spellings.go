package catalogue

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"reprise/internal/music"
	"reprise/internal/store/db"
)

// spellingCache holds ids of stored spellings by their hashes, so that a repeated track costs no query: without it
// BenchmarkSaveListens takes a quarter longer. It is safe for concurrent use.
type spellingCache struct {
	mu  sync.Mutex
	ids map[int64]int64
}

// mostCached is the most spellings that the cache holds, in some three megabytes.
const mostCached = 1 << 16

func (c *spellingCache) get(v *music.Spelling) int64 {
	key := v.Seen()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[key]
}

func (c *spellingCache) put(all []music.Spelling) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil || len(c.ids)+len(all) > mostCached {
		c.ids = make(map[int64]int64, len(all))
	}
	for i := range all {
		c.ids[all[i].Seen()] = all[i].ID
	}
}

// Shelve stores the spellings that are new, with the entities that they mean, and returns the ids of all.
func (s *Store) Shelve(ctx context.Context, tx *sql.Tx, all []music.Spelling) ([]int64, error) {
	ids := make([]int64, len(all))
	missing := map[int64][]int{}
	var hashes []any
	var listing []*music.Spelling // known ones of which the service lists the artists
	for i := range all {
		hash := all[i].Hash
		if ids[i] = s.known.get(&all[i]); ids[i] != 0 {
			continue
		}
		if missing[hash] == nil {
			hashes = append(hashes, hash)
		}
		missing[hash] = append(missing[hash], i)
	}
	if len(hashes) == 0 {
		return ids, nil
	}
	scan := func(r db.Scanner) (v music.Spelling, err error) { return v, r.Scan(&v.ID, &v.Hash) }
	for chunk := range slices.Chunk(hashes, 200) {
		stored, err := db.List(ctx, tx, scan,
			"SELECT id, hash FROM spellings WHERE hash IN "+db.Numbered(1, len(chunk)),
			chunk...)
		if err != nil {
			return nil, err
		}
		s.known.put(stored) // only those of earlier transactions: this one may be rolled back
		for _, v := range stored {
			for _, i := range missing[v.Hash] {
				ids[i] = v.ID
				if music.Lists(all[i].Track) {
					all[i].ID = v.ID
					listing = append(listing, &all[i])
				}
			}
			delete(missing, v.Hash)
		}
	}
	if err := s.learnLists(ctx, tx, listing); err != nil {
		return nil, err
	}
	fresh := make([]*music.Spelling, 0, len(missing))
	for _, hash := range hashes {
		if at := missing[hash.(int64)]; at != nil {
			v := &all[at[0]]
			for _, i := range at {
				if len(v.Artists) == 0 {
					v = &all[i]
				}
			}
			fresh = append(fresh, v)
		}
	}
	if err := s.addSpellings(ctx, tx, fresh); err != nil {
		return nil, err
	}
	for _, v := range fresh {
		for _, i := range missing[v.Hash] {
			ids[i] = v.ID
		}
	}
	return ids, nil
}

// learnLists stores the artists of known spellings, which services list, unless others have listed them.
func (s *Store) learnLists(ctx context.Context, tx *sql.Tx, all []*music.Spelling) error {
	var listed []music.Spelling
	var fresh []*music.Spelling
	for _, v := range all {
		var known bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM spellings p
			JOIN track_artists a ON a.track_id = p.track_id WHERE p.id = $1 AND a.listed = 1)`, v.ID).Scan(&known)
		switch {
		case err != nil:
			return err
		case known:
			listed = append(listed, *v)
		case !slices.ContainsFunc(fresh, func(o *music.Spelling) bool { return o.Hash == v.Hash }):
			fresh = append(fresh, v)
		}
	}
	s.known.put(listed)
	if len(fresh) == 0 {
		return nil
	}
	return errors.Join(s.addEntities(ctx, tx, fresh), Remeant(ctx, tx))
}

// addSpellings stores spellings and what they mean.
func (s *Store) addSpellings(ctx context.Context, tx *sql.Tx, fresh []*music.Spelling) error {
	if len(fresh) == 0 {
		return nil
	}
	if err := s.addEntities(ctx, tx, fresh); err != nil {
		return err
	}
	next, err := db.NextIDs(ctx, tx, "spellings", len(fresh))
	if err != nil {
		return err
	}
	const width = 12
	rows := make([]any, 0, width*len(fresh))
	for i, v := range fresh {
		v.ID = next + int64(i)
		rows = append(rows, v.ID, v.Hash, v.Title, v.Artist, v.Album, v.Duration.Milliseconds(), v.ISRC,
			v.RecordingMBID, music.MatchKey(v.Title, v.Artist), music.FoldKey(v.Artist), orNull(v.AlbumID),
			orNull(v.TrackID))
	}
	return db.InsertRows(ctx, tx, `INSERT INTO spellings (id, hash, title, artist, album, duration_ms, isrc,
		recording_mbid, match_key, artist_key, album_id, track_id)`, width, rows, "")
}

// orNull returns an id for a column that is NULL where there is none.
func orNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// SpellingsByID returns stored spellings by their ids.
func SpellingsByID(ctx context.Context, q db.Querier, ids []int64) (map[int64]*music.Spelling, error) {
	all := make(map[int64]*music.Spelling, len(ids))
	scan := func(r db.Scanner) (*music.Spelling, error) {
		var v music.Spelling
		var ms int64
		err := r.Scan(&v.ID, &v.Title, &v.Artist, &v.Album, &ms, &v.ISRC, &v.RecordingMBID)
		v.Duration = db.Length(ms)
		return &v, err
	}
	for chunk := range slices.Chunk(ids, 200) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		found, err := db.List(ctx, q, scan, `SELECT id, title, artist, album, duration_ms, isrc, recording_mbid
			FROM spellings WHERE id IN `+db.Numbered(1, len(chunk)), args...)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			all[v.ID] = v
		}
	}
	return all, nil
}
