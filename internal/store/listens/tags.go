package listens

import (
	"context"
	"slices"
	"strings"

	"reprise/internal/store/db"
)

type tagged struct {
	id   uint32
	tags []string
}

func scanTags(r db.Scanner) (v tagged, err error) {
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
		found, err := db.List(ctx, s.db.Reader, scanTags, "SELECT entity_id, tags FROM enrichment WHERE tags <> '' "+
			"AND entity_id IN "+db.Numbered(1, len(args))+" ORDER BY source", args...)
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
	found, err := db.List(ctx, s.db.Reader, scanTags, "SELECT entity_id, tags FROM enrichment WHERE tags <> ''")
	all := map[uint32]bool{}
	for _, v := range found {
		if slices.Contains(v.tags, tag) {
			all[v.id] = true
		}
	}
	return all, err
}
