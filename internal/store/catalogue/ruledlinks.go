package catalogue

import (
	"context"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/music"
)

// NotDivided leaves out the albums and tracks $2 that a rule has created, since their MBID would join them again.
const NotDivided = ` AND NOT EXISTS (SELECT 1 FROM music_rule_parts p JOIN music_rules r ON r.id = p.rule_id
	WHERE p.entity_id = $2 AND p.part = 'into' AND r.kind = 'divide' AND r.entity <> 'artist')`

// Rule applies the rules to the links of tracks, and fills in the names that differ from those that services report.
func (s *Store) Rule(ctx context.Context, tracks []library.Track, links []enrich.Links) error {
	ruled, err := s.Rulings(ctx)
	if err != nil || ruled.Instead == nil {
		return err
	}
	before := make([]enrich.Links, len(links))
	var ids []uint32
	for i := range links {
		l := &links[i]
		before[i] = *l
		told := music.Meaning{Track: l.Track, Album: l.Album, Title: tracks[i].Title, AlbumTitle: tracks[i].Album}
		for _, c := range l.Credits {
			told.Artists = append(told.Artists, c.ID)
		}
		if len(told.Artists) == 0 && l.Artist != 0 {
			told.Artists = []int64{l.Artist}
		}
		now := ruled.Apply(told)
		l.Track, l.Album, l.Credits = now.Track, now.Album, nil
		for _, id := range now.Artists {
			if len(before[i].Credits) > 0 {
				l.Credits = append(l.Credits, enrich.Credit{ID: id})
			}
			l.Artist = now.Artists[0]
		}
		for _, id := range append(now.Artists, l.Album, l.Track) {
			ids = append(ids, uint32(id))
		}
	}
	names, err := s.Entities(ctx, ids)
	if err != nil {
		return err
	}
	// Services write a name in several ways, so only a different name replaces theirs.
	other := func(was, id int64, told string, name func(library.Entity) string) string {
		e, ok := names[uint32(id)]
		if !ok || was == id && ruled.Names[id].Name == "" || music.Normal(name(e)) == music.Normal(told) &&
			ruled.Names[id].Name == "" {
			return ""
		}
		return name(e)
	}
	title := func(e library.Entity) string { return e.Title }
	for i := range links {
		l, was, t := &links[i], before[i], tracks[i]
		l.TrackName = other(was.Track, l.Track, t.Title, title)
		l.AlbumName = other(was.Album, l.Album, t.Album, title)
		for i, c := range l.Credits {
			l.Credits[i].Name = names[uint32(c.ID)].Artist
		}
		if len(ruled.Ends(was.Artist)) == 1 {
			l.ArtistName = other(was.Artist, l.Artist, t.Artist, func(e library.Entity) string { return e.Artist })
		}
	}
	return nil
}

// AddChosen replaces the pictures from services by those that administrators have chosen.
func (s *Store) AddChosen(ctx context.Context, of map[int64]bool, all map[int64]string) error {
	ruled, err := s.Rulings(ctx)
	if err != nil {
		return err
	}
	for id, name := range ruled.Pictures {
		if of[id] {
			all[id] = name
		}
	}
	return nil
}
