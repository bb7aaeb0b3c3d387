package store

import (
	"context"
	"slices"
	"strings"

	"reprise/internal/library"
)

// Entities returns artists, albums and tracks by ID, with the names they have by the rules. Unknown IDs are left out.
func (s *Store) Entities(ctx context.Context, ids []uint32) (map[uint32]library.Entity, error) {
	all := make(map[uint32]library.Entity, len(ids))
	ruled, err := s.rulings(ctx)
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(ids, 200) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		found, err := list(ctx, s.reader, scanEntity, selectEntity+"WHERE e.id IN "+numbered(1, len(args)), args...)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			ruled.call(e.id, &e.Entity)
			all[uint32(e.id)] = e.Entity
		}
	}
	return all, nil
}

type tagged struct {
	id   uint32
	tags []string
}

func scanTags(r scanner) (v tagged, err error) {
	var tags string
	err = r.Scan(&v.id, &tags)
	v.tags = strings.Split(tags, "\n")
	return v, err
}

// TagsOf returns the tags of artists, albums and tracks by their ids, without those that have none.
func (s *Store) TagsOf(ctx context.Context, ids []uint32) (map[uint32][]string, error) {
	all := map[uint32][]string{}
	for chunk := range slices.Chunk(ids, 200) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		found, err := list(ctx, s.reader, scanTags, "SELECT entity_id, tags FROM enrichment WHERE tags <> '' "+
			"AND entity_id IN "+numbered(1, len(args))+" ORDER BY source", args...)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			if all[v.id] == nil {
				all[v.id] = v.tags
			}
		}
	}
	return all, nil
}

// Tagged returns the ids of the artists, albums and tracks that have a tag.
func (s *Store) Tagged(ctx context.Context, tag string) (map[uint32]bool, error) {
	found, err := list(ctx, s.reader, scanTags, "SELECT entity_id, tags FROM enrichment WHERE tags <> ''")
	all := map[uint32]bool{}
	for _, v := range found {
		if slices.Contains(v.tags, tag) {
			all[v.id] = true
		}
	}
	return all, err
}
