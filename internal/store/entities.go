package store

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
)

// These are the numbers of listens read, and of entities queued, in one transaction.
const (
	lookAtOnce  = 2000
	queueAtOnce = 5000
)

// leadMarks separate an artist from a guest, or artists in a tag. They leave out "&", "and" and the comma, which also
// occur in names.
var leadMarks = []string{"; ", " feat", " ft.", " ft ", " • "}

// leadArtist returns the artist without guests, in the original spelling.
func leadArtist(artist string) string {
	lower := strings.ToLower(artist)
	if cut := firstOf(lower, leadMarks); cut < len(lower) && len(lower) == len(artist) {
		artist = artist[:cut]
	}
	return strings.TrimRight(artist, " ([")
}

func artistKey(artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(normal(leadArtist(artist))))
	return int64(h.Sum64())
}

// keyed is an entity with its key and the names that a listen has for it.
type keyed struct {
	library.Entity
	id, key       int64
	artist, album string
}

type entityKey struct {
	kind string
	key  int64
}

type entityName struct {
	entityKey
	artist, album string
}

// entitiesOf returns the artist, album and track of a listen.
func entitiesOf(t library.Track) []keyed {
	var all []keyed
	if t.Artist == "" {
		return nil
	}
	artist := leadArtist(t.Artist)
	all = append(all, keyed{key: artistKey(t.Artist), artist: t.Artist,
		Entity: library.Entity{Kind: library.KindArtist, Artist: artist}})
	if t.Album != "" {
		all = append(all, keyed{key: matchKey(t.Album, t.Artist), artist: t.Artist, album: t.Album,
			Entity: library.Entity{Kind: library.KindAlbum, Artist: artist, Title: t.Album}})
	}
	if t.Title != "" {
		all = append(all, keyed{key: matchKey(t.Title, t.Artist), artist: t.Artist,
			Entity: library.Entity{Kind: library.KindTrack, Artist: artist,
				Title: t.Title, Album: t.Album, Duration: t.Duration, ISRC: t.ISRC, MBID: t.RecordingMBID}})
	}
	return all
}

// FindEntities reads up to lookAtOnce new listens and stores the entities in them. It reports whether there may be
// more.
func (s *Store) FindEntities(ctx context.Context) (more bool, err error) {
	if fresh, err := s.unlooked(ctx); err != nil || !fresh {
		return false, err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		last, err := mark(ctx, tx, "")
		if err != nil {
			return err
		}
		heard, err := list(ctx, tx, scanListen, `SELECT id, title, artist, album, played_at, duration_ms, isrc,
				recording_mbid, approximate
			FROM listens WHERE id > $1 ORDER BY id LIMIT $2`, last, lookAtOnce)
		if err != nil || len(heard) == 0 {
			return err
		}
		more = len(heard) == lookAtOnce
		return errors.Join(addEntities(ctx, tx, heard), setMark(ctx, tx, "", heard[len(heard)-1].ID))
	})
	return more && err == nil, err
}

// unlooked reports whether there are listens that FindEntities has not read. It does not block writers.
func (s *Store) unlooked(ctx context.Context) (fresh bool, err error) {
	err = s.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM listens
		WHERE id > coalesce((SELECT last FROM enrichment_marks WHERE name = ''), 0))`).Scan(&fresh)
	return fresh, local(err)
}

func mark(ctx context.Context, tx *sql.Tx, name string) (last int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT last FROM enrichment_marks WHERE name = $1", name).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return last, err
}

func setMark(ctx context.Context, tx *sql.Tx, name string, last int64) error {
	return execTx(ctx, tx, `INSERT INTO enrichment_marks (name, last) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET last = excluded.last`, name, last)
}

// addEntities stores the entities of these listens: new ones, new facts about known ones, and their names.
func addEntities(ctx context.Context, tx *sql.Tx, heard []library.StoredListen) error {
	var order []entityKey
	told, names, called := map[entityKey]*keyed{}, []any{}, map[entityName]bool{}
	for i := range heard {
		for _, e := range entitiesOf(heard[i].Track) {
			k := entityKey{e.Kind, e.key}
			if first := told[k]; first == nil {
				told[k] = &e
				order = append(order, k)
			} else {
				first.learn(e.Entity)
			}
			if n := (entityName{k, e.artist, e.album}); !called[n] {
				called[n] = true
				names = append(names, e.Kind, e.key, e.artist, e.album)
			}
		}
	}
	known, err := knownEntities(ctx, tx, order)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(order), func(k entityKey) bool { return known[k] != nil })
	next, err := nextIDs(ctx, tx, "entities", len(fresh))
	if err != nil {
		return err
	}
	rows := make([]any, 0, 9*len(fresh))
	for i, k := range fresh {
		e := told[k]
		rows = append(rows, next+int64(i), e.Kind, e.key, e.Artist, e.Title, e.Album, e.Duration.Milliseconds(),
			e.ISRC, e.MBID)
	}
	err = insertRows(ctx, tx, `INSERT INTO entities
		(id, kind, match_key, artist, title, album, duration_ms, isrc, mbid)`, 9, rows, "")
	if err != nil {
		return err
	}
	for k, e := range known {
		if !e.learn(told[k].Entity) {
			continue
		}
		err := execTx(ctx, tx, "UPDATE entities SET album = $1, duration_ms = $2, isrc = $3, mbid = $4 WHERE id = $5",
			e.Album, e.Duration.Milliseconds(), e.ISRC, e.MBID, e.id)
		if err != nil {
			return err
		}
	}
	return insertRows(ctx, tx, "INSERT INTO entity_names (kind, match_key, artist, album)", 4, names,
		"ON CONFLICT DO NOTHING")
}

// learn copies the facts of a track that e lacks from o, and reports whether there were any.
func (e *keyed) learn(o library.Entity) (learned bool) {
	if e.Kind != library.KindTrack {
		return false
	}
	take := func(to *string, s string) {
		if *to == "" && s != "" {
			*to, learned = s, true
		}
	}
	take(&e.Album, o.Album)
	take(&e.ISRC, o.ISRC)
	take(&e.MBID, o.MBID)
	if e.Duration == 0 && o.Duration > 0 {
		e.Duration, learned = o.Duration, true
	}
	return learned
}

const selectEntity = "SELECT id, kind, match_key, artist, title, album, duration_ms, isrc, mbid FROM entities "

func scanEntity(r scanner) (*keyed, error) {
	var e keyed
	var ms int64
	err := r.Scan(&e.id, &e.Kind, &e.key, &e.Artist, &e.Title, &e.Album, &ms, &e.ISRC, &e.MBID)
	e.Duration = time.Duration(ms) * time.Millisecond
	return &e, err
}

// knownEntities returns the entities with these keys that are stored.
func knownEntities(ctx context.Context, q querier, keys []entityKey) (map[entityKey]*keyed, error) {
	byKind := map[string][]any{}
	for _, k := range keys {
		byKind[k.kind] = append(byKind[k.kind], k.key)
	}
	known := make(map[entityKey]*keyed, len(keys))
	for kind, all := range byKind {
		for chunk := range slices.Chunk(all, 200) {
			found, err := list(ctx, q, scanEntity,
				selectEntity+"WHERE kind = $1 AND match_key IN "+numbered(2, len(chunk)),
				append([]any{kind}, chunk...)...)
			if err != nil {
				return nil, err
			}
			for _, e := range found {
				known[entityKey{kind, e.key}] = e
			}
		}
	}
	return known, nil
}
