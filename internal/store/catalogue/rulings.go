package catalogue

import (
	"context"
	"database/sql"
	"slices"
	"sync"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
)

// Meanings is the name of the sequence that counts how often spellings got another meaning.
const Meanings = "meanings"

// Remeant notes that spellings mean something else than before.
func Remeant(ctx context.Context, tx *sql.Tx) error {
	_, err := db.NextIDs(ctx, tx, Meanings, 1)
	return err
}

// IsChosen reports whether a picture was chosen by an administrator, by the rules that were last read.
func (s *Store) IsChosen(name string) bool {
	s.ruled.mu.Lock()
	defer s.ruled.mu.Unlock()
	if s.ruled.rulings == nil {
		return false
	}
	for _, chosen := range s.ruled.rulings.Pictures {
		if chosen == name {
			return true
		}
	}
	return false
}

// rulingsCache holds the rulings. BenchmarkRuledPage takes half as long again without it. It is safe for concurrent
// use.
type rulingsCache struct {
	mu      sync.Mutex
	rulings *music.Rulings
	// When they were read: the count of changed meanings, and the latest spelling, whose track may have the same title
	// as one of a merged artist.
	version, last int64
}

// Rulings returns the rules that are not undone.
func (s *Store) Rulings(ctx context.Context) (*music.Rulings, error) {
	c := &s.ruled
	c.mu.Lock()
	defer c.mu.Unlock()
	var version, last int64
	err := s.db.Reader.QueryRowContext(ctx, `SELECT coalesce((SELECT last FROM sequences WHERE name = $1), 0),
		CASE WHEN EXISTS (SELECT 1 FROM music_rules WHERE undone_at = 0)
			THEN coalesce((SELECT max(id) FROM spellings), 0) ELSE -1 END`, Meanings).Scan(&version, &last)
	if err != nil {
		return nil, db.Explain(err)
	}
	if c.rulings != nil && c.version == version && c.last == last {
		return c.rulings, nil
	}
	next := &music.Rulings{}
	if last >= 0 {
		if next, err = s.readRulings(ctx); err != nil {
			return nil, err
		}
	}
	c.rulings, c.version, c.last = next, version, last
	return next, nil
}

func scanRuling(r db.Scanner) (v music.RulingRow, err error) {
	return v, r.Scan(&v.Rule, &v.Kind, &v.Entity, &v.Of, &v.Becomes, &v.Part, &v.Other, &v.Title)
}

func (s *Store) readRulings(ctx context.Context) (*music.Rulings, error) {
	rows, err := db.List(ctx, s.db.Reader, scanRuling,
		`SELECT r.id, r.kind, r.entity, coalesce(j.entity_id, r.entity_id),
			r.becomes, coalesce(p.part, ''), coalesce(k.entity_id, p.entity_id, 0), coalesce(p.title, '')
		FROM music_rules r LEFT JOIN joined_ids j ON j.old_id = r.entity_id
		LEFT JOIN music_rule_parts p ON p.rule_id = r.id LEFT JOIN joined_ids k ON k.old_id = p.entity_id
		WHERE r.undone_at = 0 ORDER BY r.id, p.position`)
	if err != nil {
		return nil, err
	}
	r := &music.Rulings{Instead: map[int64][]int64{}, Same: map[int64]int64{}, Credits: map[int64][]int64{},
		Written: map[music.Writing]int64{}, Names: map[int64]music.Named{}, Pictures: map[int64]string{},
		Artists: map[int64]string{}, Lead: map[int64]string{}}
	var artists, merged, targets []int64 // artists in rules, targets of merged artists and of merged tracks
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(v music.RulingRow) bool { return v.Rule != rows[0].Rule })
		if n < 0 {
			n = len(rows)
		}
		v, into := rows[0], r.Add(rows[:n])
		rows = rows[n:]
		switch {
		case v.Entity == library.KindArtist:
			artists = append(append(artists, v.Of), into...)
			if v.Kind == library.Merged {
				merged = append(merged, into...)
			}
		case v.Entity == library.KindTrack && v.Kind == library.Merged:
			targets = append(targets, into...)
		}
	}
	if err := s.creditsOfTracks(ctx, targets, r.Credits); err != nil {
		return nil, err
	}
	names, err := s.artistNames(ctx, r, artists)
	if err != nil {
		return nil, err
	}
	return r, s.sameTitles(ctx, r, merged, names)
}

// creditsOfTracks adds the artists that services reported for tracks.
func (s *Store) creditsOfTracks(ctx context.Context, tracks []int64, to map[int64][]int64) error {
	scan := func(r db.Scanner) (none struct{}, err error) {
		var track, artist int64
		err = r.Scan(&track, &artist)
		to[track] = append(to[track], artist)
		return none, err
	}
	for chunk := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(tracks))), 200) {
		_, err := db.List(ctx, s.db.Reader, scan, "SELECT track_id, artist_id FROM track_artists WHERE track_id IN "+
			db.Numbered(1, len(chunk))+" ORDER BY track_id, position, artist_id", Anys(chunk)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Anys returns IDs as arguments of a statement.
func Anys[T any](ids []T) []any {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return args
}

// artistNames fills in r.artists and r.lead, and returns the IDs of these artists by the key of each name in listens.
func (s *Store) artistNames(ctx context.Context, r *music.Rulings, of []int64) (map[int64]int64, error) {
	keys, names := map[int64]int64{}, map[int64]string{}
	scan := func(row db.Scanner) (none struct{}, err error) {
		var id, key int64
		var name string
		err = row.Scan(&id, &key, &name)
		keys[key], names[id] = id, name
		return none, err
	}
	for chunk := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(of))), 200) {
		_, err := db.List(ctx, s.db.Reader, scan, "SELECT id, match_key, artist FROM entities WHERE id IN "+
			db.Numbered(1, len(chunk))+` UNION ALL SELECT e.id, k.match_key, e.artist FROM joined_keys k
			JOIN entities e ON e.id = k.entity_id WHERE k.kind = 'artist' AND e.id IN `+db.Numbered(1, len(chunk)),
			Anys(chunk)...)
		if err != nil {
			return nil, err
		}
	}
	now := func(id int64) string {
		id = r.End(id)
		if n := r.Names[id]; n.Name != "" {
			return n.Name
		}
		return names[id]
	}
	for key, id := range keys {
		r.Lead[key] = now(id)
	}
	for id := range names {
		r.Artists[id] = now(id)
	}
	return keys, nil
}
