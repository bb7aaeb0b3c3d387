package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"reprise/internal/library"
)

// keyed is an entity with its key.
type keyed struct {
	library.Entity
	id, key int64
	learned bool   // it has facts that are not stored yet
	into    *keyed // the same entity, which takes its place; nil for none
}

// end returns the entity that has taken the place of e; e itself if none has.
func (e *keyed) end() *keyed {
	for e.into != nil {
		e = e.into
	}
	return e
}

type entityKey struct {
	kind string
	key  int64
}

func (e *keyed) named() entityKey { return entityKey{e.Kind, e.key} }

// untitled is the kind of what has the plays of an artist of which no title is known. It has no page.
const untitled = "untitled"

// entitiesOf returns the artists, the album and the track of a listen. See creditsOf for alone.
func entitiesOf(t library.Track, alone func(name string) bool) (all []*keyed) {
	credits := creditsOf(t, alone)
	for _, c := range credits {
		all = append(all, &keyed{key: artistKey(c.Name),
			Entity: library.Entity{Kind: library.KindArtist, Artist: c.Name, MBID: c.MBID}})
	}
	lead := t.Artist
	if len(credits) > 0 {
		lead = credits[0].Name
	}
	if lead == "" {
		return nil
	}
	if t.Album != "" {
		all = append(all, &keyed{key: matchKey(t.Album, t.Artist),
			Entity: library.Entity{Kind: library.KindAlbum, Artist: lead, Title: t.Album}})
	}
	if t.Title == "" {
		return append(all, &keyed{key: artistKey(t.Artist), Entity: library.Entity{Kind: untitled, Artist: lead}})
	}
	return append(all, &keyed{key: matchKey(t.Title, t.Artist), Entity: library.Entity{Kind: library.KindTrack,
		Artist: lead, Title: t.Title, Album: t.Album, Duration: t.Duration, ISRC: t.ISRC, MBID: t.RecordingMBID}})
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

// learn copies the facts that e lacks from o.
func (e *keyed) learn(o library.Entity) {
	if e.Kind == library.KindArtist && len(o.MBID) != mbidLength {
		return
	}
	take := func(to *string, s string) {
		if *to == "" && s != "" {
			*to, e.learned = s, true
		}
	}
	take(&e.Album, o.Album)
	take(&e.ISRC, o.ISRC)
	take(&e.MBID, o.MBID)
	if e.Duration == 0 && o.Duration > 0 {
		e.Duration, e.learned = o.Duration, true
	}
}

const selectEntity = "SELECT e.id, e.kind, e.match_key, e.artist, e.title, e.album, e.duration_ms, e.isrc, e.mbid " +
	"FROM entities e "

func scanEntity(r scanner) (*keyed, error) {
	var e keyed
	var ms int64
	err := r.Scan(&e.id, &e.Kind, &e.key, &e.Artist, &e.Title, &e.Album, &ms, &e.ISRC, &e.MBID)
	e.Duration = length(ms)
	return &e, err
}

// knownEntities returns the stored entities with these keys, or which these keys have joined.
func knownEntities(ctx context.Context, q querier, keys []entityKey) (map[entityKey]*keyed, error) {
	byKind := map[string][]any{}
	for _, k := range keys {
		byKind[k.kind] = append(byKind[k.kind], k.key)
	}
	known := make(map[entityKey]*keyed, len(keys))
	for kind, all := range byKind {
		for chunk := range slices.Chunk(all, 200) {
			found, err := list(ctx, q, scanEntity,
				selectEntity+"WHERE e.kind = $1 AND e.match_key IN "+numbered(2, len(chunk))+`
				UNION ALL
				SELECT e.id, e.kind, k.match_key, e.artist, e.title, e.album, e.duration_ms, e.isrc, e.mbid
				FROM joined_keys k JOIN entities e ON e.id = k.entity_id
				WHERE k.kind = $1 AND k.match_key IN `+numbered(2, len(chunk)), append([]any{kind}, chunk...)...)
			if err != nil {
				return nil, err
			}
			for _, e := range found {
				known[e.named()] = e
			}
		}
	}
	return known, nil
}
