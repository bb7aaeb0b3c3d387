package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"reprise/internal/library"
)

// spelling is a track with the names and facts that a service told of it. Every listen has one. It is never changed;
// which artist, album and track it means may be.
type spelling struct {
	library.Track       // without SourceID and Gone
	id            int64 // 0 before it is stored
	hash          int64
	album, track  int64 // ids of what it means, 0 for none
}

// spellingOf returns the spelling of a track, as it is stored.
func spellingOf(t library.Track) spelling {
	t.Artist, t.Album = indexed(t.Artist), indexed(t.Album)
	v := spelling{Track: library.Track{Title: t.Title, Artist: t.Artist, Album: t.Album, Duration: t.Duration,
		ISRC: t.ISRC, RecordingMBID: t.RecordingMBID, Artists: t.Artists}}
	v.hash = v.sum()
	return v
}

// sum returns the hash of the spelling. Equal hashes mean equal spellings: nobody can make up names that have the hash
// of somebody else's.
func (v *spelling) sum() int64 {
	var room [512]byte
	b := binary.AppendVarint(room[:0], v.Duration.Milliseconds())
	for _, text := range []string{v.Title, v.Artist, v.Album, v.ISRC, v.RecordingMBID} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	h := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(h[:]))
}

// seen returns the key of the spelling in the cache: another one with a list of its artists.
func (v *spelling) seen() int64 {
	if !lists(v.Track) {
		return v.hash
	}
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(v.hash)))
	return int64(h.Sum64())
}

// with returns the spelling completed with the facts of t that it lacks.
func (v *spelling) with(t library.Track) spelling {
	all := v.Track
	if all.Duration == 0 {
		all.Duration = t.Duration
	}
	if all.ISRC == "" {
		all.ISRC = t.ISRC
	}
	if all.RecordingMBID == "" {
		all.RecordingMBID = t.RecordingMBID
	}
	all.Artists = t.Artists
	return spellingOf(all)
}

// foldKey returns the same key for names that differ in upper and lower case at most.
func foldKey(name string) int64 {
	h := fnv.New64a()
	for _, r := range norm.NFC.String(name) {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		_, _ = h.Write(binary.AppendVarint(nil, int64(least)))
	}
	return int64(h.Sum64())
}

// artistNamed returns the key of the artists' names that somebody means by name.
func artistNamed(name string) int64 { return foldKey(indexed(strings.TrimSpace(name))) }

// spellingCache holds ids of stored spellings by their hashes, so that a repeated track costs no query. It is safe for
// concurrent use.
type spellingCache struct {
	mu  sync.Mutex
	ids map[int64]int64
}

// mostCached is the most spellings that the cache holds, in some three megabytes.
const mostCached = 1 << 16

func (c *spellingCache) get(v *spelling) int64 {
	key := v.seen()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[key]
}

func (c *spellingCache) put(all []spelling) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil || len(c.ids)+len(all) > mostCached {
		c.ids = make(map[int64]int64, len(all))
	}
	for i := range all {
		c.ids[all[i].seen()] = all[i].id
	}
}

// shelve stores the spellings that are new, with the entities that they mean, and returns the ids of all.
func (s *Store) shelve(ctx context.Context, tx *sql.Tx, all []spelling) ([]int64, error) {
	ids := make([]int64, len(all))
	missing := map[int64][]int{}
	var hashes []any
	var listing []*spelling // known ones of which the service lists the artists
	for i := range all {
		hash := all[i].hash
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
	scan := func(r scanner) (v spelling, err error) { return v, r.Scan(&v.id, &v.hash) }
	for chunk := range slices.Chunk(hashes, 200) {
		stored, err := list(ctx, tx, scan, "SELECT id, hash FROM spellings WHERE hash IN "+numbered(1, len(chunk)),
			chunk...)
		if err != nil {
			return nil, err
		}
		s.known.put(stored) // only those of earlier transactions: this one may be rolled back
		for _, v := range stored {
			for _, i := range missing[v.hash] {
				ids[i] = v.id
				if lists(all[i].Track) {
					all[i].id = v.id
					listing = append(listing, &all[i])
				}
			}
			delete(missing, v.hash)
		}
	}
	if err := s.learnLists(ctx, tx, listing); err != nil {
		return nil, err
	}
	fresh := make([]*spelling, 0, len(missing))
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
		for _, i := range missing[v.hash] {
			ids[i] = v.id
		}
	}
	return ids, nil
}

// learnLists stores the artists of known spellings, which services list, unless others have listed them.
func (s *Store) learnLists(ctx context.Context, tx *sql.Tx, all []*spelling) error {
	var listed []spelling
	var fresh []*spelling
	for _, v := range all {
		var known bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM spellings p
			JOIN track_artists a ON a.track_id = p.track_id WHERE p.id = $1 AND a.listed = 1)`, v.id).Scan(&known)
		switch {
		case err != nil:
			return err
		case known:
			listed = append(listed, *v)
		case !slices.ContainsFunc(fresh, func(o *spelling) bool { return o.hash == v.hash }):
			fresh = append(fresh, v)
		}
	}
	s.known.put(listed)
	if len(fresh) == 0 {
		return nil
	}
	return errors.Join(s.addEntities(ctx, tx, fresh), remeant(ctx, tx))
}

// addSpellings stores spellings and what they mean.
func (s *Store) addSpellings(ctx context.Context, tx *sql.Tx, fresh []*spelling) error {
	if len(fresh) == 0 {
		return nil
	}
	if err := s.addEntities(ctx, tx, fresh); err != nil {
		return err
	}
	next, err := nextIDs(ctx, tx, "spellings", len(fresh))
	if err != nil {
		return err
	}
	const width = 12
	rows := make([]any, 0, width*len(fresh))
	for i, v := range fresh {
		v.id = next + int64(i)
		rows = append(rows, v.id, v.hash, v.Title, v.Artist, v.Album, v.Duration.Milliseconds(), v.ISRC,
			v.RecordingMBID, matchKey(v.Title, v.Artist), foldKey(v.Artist), orNull(v.album), orNull(v.track))
	}
	return insertRows(ctx, tx, `INSERT INTO spellings (id, hash, title, artist, album, duration_ms, isrc,
		recording_mbid, match_key, artist_key, album_id, track_id)`, width, rows, "")
}

// orNull returns an id for a column that is NULL where there is none.
func orNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// spellingsByID returns stored spellings by their ids.
func spellingsByID(ctx context.Context, tx *sql.Tx, ids []int64) (map[int64]*spelling, error) {
	all := make(map[int64]*spelling, len(ids))
	scan := func(r scanner) (*spelling, error) {
		var v spelling
		var ms int64
		err := r.Scan(&v.id, &v.Title, &v.Artist, &v.Album, &ms, &v.ISRC, &v.RecordingMBID)
		v.Duration = length(ms)
		return &v, err
	}
	for chunk := range slices.Chunk(ids, 200) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		found, err := list(ctx, tx, scan, `SELECT id, title, artist, album, duration_ms, isrc, recording_mbid
			FROM spellings WHERE id IN `+numbered(1, len(chunk)), args...)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			all[v.id] = v
		}
	}
	return all, nil
}
