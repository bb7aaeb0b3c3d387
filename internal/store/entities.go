package store

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"slices"
	"strings"

	"reprise/internal/library"
)

// leadMarks separate an artist from a guest, or artists in a tag. They leave out "&", "and" and the comma, which also
// occur in names.
var leadMarks = []string{"; ", " • ", " feat.", " feat ", " featuring ", " ft.", " ft ", " (feat.", " (feat ",
	" (featuring ", " (ft.", " (ft ", " [feat.", " [feat ", " [ft.", " [ft "}

// cutArtist cuts the first artist off a text with several, in the original spelling.
func cutArtist(artist string) (lead, rest string) {
	lower := strings.ToLower(artist)
	cut, after := len(artist), len(artist)
	for _, mark := range leadMarks {
		if i := strings.Index(lower, mark); i > 0 && i < cut && len(lower) == len(artist) {
			cut, after = i, i+len(mark)
		}
	}
	return strings.TrimRight(artist[:cut], " (["), strings.Trim(artist[after:], " ()[]")
}

// leadArtist returns the artist without guests.
func leadArtist(artist string) string {
	lead, _ := cutArtist(artist)
	return lead
}

// manyArtists are what services write where there are too many artists to name, as normal returns them.
var manyArtists = map[string]bool{"variousartists": true, "variousartist": true, "verschiedeneinterpreten": true,
	"diverseinterpreten": true, "verschiedenekunstler": true, "artistesvaries": true, "variosartistas": true,
	"artistivari": true}

// artistsOf returns the artists in a text: without guests, then the guests. Nobody in particular is no artist.
func artistsOf(text string) (all []string) {
	for name := ""; text != ""; {
		name, text = cutArtist(text)
		if name != "" && !manyArtists[normal(name)] && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// artistKey returns the key of one artist.
func artistKey(artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(normal(artist)))
	return int64(h.Sum64())
}

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

// entitiesOf returns the artists, the album and the track of a listen.
func entitiesOf(t library.Track) (all []*keyed) {
	if t.Artist == "" {
		return nil
	}
	lead := leadArtist(t.Artist)
	album := &keyed{key: matchKey(t.Album, t.Artist),
		Entity: library.Entity{Kind: library.KindAlbum, Artist: lead, Title: t.Album}}
	track := &keyed{key: matchKey(t.Title, t.Artist), Entity: library.Entity{Kind: library.KindTrack, Artist: lead,
		Title: t.Title, Album: t.Album, Duration: t.Duration, ISRC: t.ISRC, MBID: t.RecordingMBID}}
	for _, name := range artistsOf(t.Artist) {
		all = append(all, &keyed{key: artistKey(name),
			Entity: library.Entity{Kind: library.KindArtist, Artist: name}})
	}
	if t.Album != "" {
		all = append(all, album)
	}
	if t.Title != "" {
		all = append(all, track)
	}
	return all
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

// learn copies the facts of a track that e lacks from o.
func (e *keyed) learn(o library.Entity) {
	if e.Kind != library.KindTrack {
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
