package catalogue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
)

// titled is a track or an album of an artist into which others were merged.
type titled struct {
	id                  int64
	kind, title, artist string
	artists             []int64
}

// sameTitles finds the tracks and albums of merged artists that have the same title. The one stored first replaces the
// others, so that later listens do not change which one it is.
func (s *Store) sameTitles(ctx context.Context, r *music.Rulings, into []int64, keys map[int64]int64) error {
	group := map[int64]bool{}
	for _, id := range into {
		end := r.End(id)
		group[id], group[end] = true, true
		for other := range r.Instead {
			if slices.Contains(r.Ends(other), end) {
				group[other] = true
			}
		}
	}
	var bases []int64
	for id := range group {
		bases = append(bases, id)
	}
	slices.Sort(bases)
	first := map[string]int64{}
	note := func(id int64, key string) {
		if there := first[key]; there == 0 {
			first[key] = id
		} else if there != id && r.Instead[id] == nil {
			r.Same[id] = there
		}
	}
	all, err := s.titledBy(ctx, bases)
	for _, v := range all {
		if v.kind != library.KindAlbum {
			note(v.id, fmt.Sprint(v.kind, " ", r.ArtistsOf(v.artists, v.id, 0), music.NormalTitle(v.title)))
		} else if id, ok := keys[music.ArtistKey(v.artist)]; ok && group[id] {
			note(v.id, fmt.Sprint("album ", r.Ends(id), music.NormalTitle(v.title)))
		}
	}
	return err
}

// titledBy returns the albums and the tracks of artists, ordered by ID. Some may occur twice.
func (s *Store) titledBy(ctx context.Context, artists []int64) (all []titled, err error) {
	for chunk := range slices.Chunk(artists, 200) {
		these, args := db.Numbered(1, len(chunk)), Anys(chunk)
		albums, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (v titled, err error) {
			v.kind = library.KindAlbum
			return v, r.Scan(&v.id, &v.title, &v.artist)
		}, `SELECT DISTINCT e.id, e.title, e.artist FROM track_artists a JOIN spellings p ON p.track_id = a.track_id
			JOIN entities e ON e.id = p.album_id WHERE a.artist_id IN `+these, args...)
		if err != nil {
			return nil, err
		}
		tracks, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (v titled, err error) {
			v.artists = []int64{0}
			return v, r.Scan(&v.id, &v.kind, &v.title, &v.artists[0])
		}, `SELECT e.id, e.kind, e.title, a.artist_id FROM track_artists a JOIN entities e ON e.id = a.track_id
			WHERE a.track_id IN (SELECT track_id FROM track_artists WHERE artist_id IN `+these+`)
			ORDER BY e.id, a.position, a.artist_id`, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, albums...)
		for i := 0; i < len(tracks); {
			v := tracks[i]
			for i++; i < len(tracks) && tracks[i].id == v.id; i++ {
				v.artists = append(v.artists, tracks[i].artists...)
			}
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b titled) int { return cmp.Compare(a.id, b.id) })
	return all, nil
}
