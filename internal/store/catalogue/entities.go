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

// Mark returns how far work with a name has come in the spellings or entities; 0 before it began.
func Mark(ctx context.Context, tx *sql.Tx, name string) (last int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT last FROM enrichment_marks WHERE name = $1", name).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return last, err
}

// SetMark stores how far work with a name has come.
func SetMark(ctx context.Context, tx *sql.Tx, name string, last int64) error {
	return db.ExecTx(ctx, tx, `INSERT INTO enrichment_marks (name, last) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET last = excluded.last`, name, last)
}

// SelectEntity selects entities for [ScanEntity]; a condition follows.
const SelectEntity = "SELECT e.id, e.kind, e.match_key, e.artist, e.title, e.album, e.duration_ms, e.isrc, e.mbid " +
	"FROM entities e "

// ScanEntity reads a row of [SelectEntity].
func ScanEntity(r db.Scanner) (*music.Keyed, error) {
	var e music.Keyed
	var ms int64
	err := r.Scan(&e.ID, &e.Kind, &e.Key, &e.Artist, &e.Title, &e.Album, &ms, &e.ISRC, &e.MBID)
	e.Duration = db.Length(ms)
	return &e, err
}

// KnownEntities returns the stored entities with these keys, or which these keys have joined; maybe with those of other
// kinds that have the same key.
func KnownEntities(ctx context.Context, q db.Querier, keys []music.EntityKey) (map[music.EntityKey]*music.Keyed,
	error) {
	asked := make([]any, 0, len(keys))
	for _, k := range keys {
		asked = append(asked, k.Key)
	}
	known := make(map[music.EntityKey]*music.Keyed, len(keys))
	for chunk := range slices.Chunk(asked, 200) {
		these := db.Numbered(1, len(chunk))
		found, err := db.List(ctx, q, ScanEntity, SelectEntity+"WHERE e.match_key IN "+these+`
			UNION ALL
			SELECT e.id, e.kind, k.match_key, e.artist, e.title, e.album, e.duration_ms, e.isrc, e.mbid
			FROM joined_keys k JOIN entities e ON e.id = k.entity_id WHERE k.match_key IN `+these, chunk...)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			known[e.Named()] = e
		}
	}
	return known, nil
}

// Entities returns artists, albums and tracks by ID, with the names they have by the rules. Unknown IDs are left out.
func (s *Store) Entities(ctx context.Context, ids []uint32) (map[uint32]library.Entity, error) {
	all := make(map[uint32]library.Entity, len(ids))
	ruled, err := s.Rulings(ctx)
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(ids, 200) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		found, err := db.List(ctx, s.db.Reader, ScanEntity, SelectEntity+"WHERE e.id IN "+db.Numbered(1, len(args)),
			args...)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			ruled.Call(e.ID, &e.Entity)
			all[uint32(e.ID)] = e.Entity
		}
	}
	return all, nil
}
