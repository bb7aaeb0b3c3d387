package rules

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/statistics"
)

// DivideMusic splits an artist, an album or a track for the whole household, until this is undone. It returns
// library.ErrNotFound if the person has not heard it, library.ErrNotHere if something to be split off does not belong
// to it, and library.ErrUnchanged if nothing would remain or change.
func (s *Store) DivideMusic(ctx context.Context, user int64, kind string, id int64, d library.Division) (
	c library.Correction, err error) {
	h, err := s.heardOne(ctx, user, kind, id)
	if err != nil {
		return c, err
	}
	c = ruleOn(user, library.Divided, h)
	names := d.Names
	var parts []part
	switch {
	case kind != library.KindArtist:
		c.Becomes = strings.Join(d.Titles, ", ")
		parts, c.Listens, err = s.writings(ctx, user, h, d.Titles)
	case len(names) > 0:
		c.Becomes = strings.Join(names, ", ")
		if names = distinct(names); len(names) < 2 {
			err = library.ErrUnchanged
		}
	default:
		names, c.Becomes = []string{d.Name}, d.Name
		parts, c.Listens, err = s.leaving(ctx, user, h, d)
	}
	if err != nil {
		return c, err
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		made, err := s.artistsNamed(ctx, tx, names)
		if err != nil {
			return err
		}
		if kind != library.KindArtist {
			if made, err = s.addDivided(ctx, tx, h, d.Titles[0]); err != nil {
				return err
			}
		} else if len(names) == 1 && made[0].id == h.ID {
			return library.ErrUnchanged
		}
		return addRule(ctx, tx, &c, h.ID, append(made, parts...))
	})
	return c, err
}

// distinct returns one name for each different artist.
func distinct(names []string) (all []string) {
	seen := map[int64]bool{}
	for _, name := range names {
		if key := music.ArtistKey(name); !seen[key] && name != "" {
			seen[key] = true
			all = append(all, music.Indexed(name))
		}
	}
	return all
}

// leaving returns the albums and the tracks to split off from an artist, and the number of a person's listens to them.
func (s *Store) leaving(ctx context.Context, user int64, h library.Heard, d library.Division) (parts []part, n int,
	err error) {
	albums, tracks, err := s.ofArtist(ctx, user, h.ID)
	if err != nil {
		return nil, 0, err
	}
	for _, some := range []struct {
		ids []int64
		of  map[int64]int
	}{{d.Albums, albums}, {d.Tracks, tracks}} {
		for _, id := range some.ids {
			if some.of[id] == 0 {
				return nil, 0, library.ErrNotHere
			}
			n += some.of[id]
			parts = append(parts, part{part: "leaves", id: id})
		}
	}
	if len(parts) == 0 {
		err = library.ErrUnchanged
	}
	return parts, n, err
}

// Written returns the ways in which services write the title of an album or a track, and how often the person has heard
// each, the most frequent first.
func (s *Store) Written(ctx context.Context, user int64, kind string, id int64) (all []library.Writing, err error) {
	plays, err := s.statistics.HeardOf(ctx, user)
	if err != nil {
		return nil, err
	}
	column := "title"
	if kind == library.KindAlbum {
		column = "album"
	}
	scan := func(r db.Scanner) (none struct{}, err error) {
		var id int64
		var title string
		err = r.Scan(&id, &title)
		i := slices.IndexFunc(all, func(w library.Writing) bool { return w.Title == title })
		if i < 0 {
			i, all = len(all), append(all, library.Writing{Title: title})
		}
		all[i].Plays += int(statistics.PlaysOf(plays.Spelling, id).N)
		return none, err
	}
	for chunk := range slices.Chunk(plays.SpellingsOf(kind, id), 200) {
		_, err := db.List(ctx, s.db.Reader, scan, "SELECT id, "+column+" FROM spellings WHERE id IN "+
			db.Numbered(1, len(chunk)), catalogue.Anys(chunk)...)
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b library.Writing) int { return b.Plays - a.Plays })
	return all, nil
}

// writings returns the titles to split off from an album or a track, and the number of a person's listens with them.
func (s *Store) writings(ctx context.Context, user int64, h library.Heard, titles []string) (parts []part, n int,
	err error) {
	all, err := s.Written(ctx, user, h.Kind, h.ID)
	if err != nil {
		return nil, 0, err
	}
	left := len(all)
	for _, title := range slices.Compact(slices.Sorted(slices.Values(titles))) {
		i := slices.IndexFunc(all, func(w library.Writing) bool { return w.Title == title })
		if i < 0 {
			return nil, 0, library.ErrNotHere
		}
		left--
		n += all[i].Plays
		parts = append(parts, part{part: "written", title: title})
	}
	if left == 0 || len(parts) == 0 {
		err = library.ErrUnchanged
	}
	return parts, n, err
}

// artistsNamed returns the artists with these names, and stores those that are unknown.
func (s *Store) artistsNamed(ctx context.Context, tx *sql.Tx, names []string) (parts []part, err error) {
	for _, name := range names {
		key := music.EntityKey{Kind: library.KindArtist, Key: music.ArtistKey(name)}
		known, err := catalogue.KnownEntities(ctx, tx, []music.EntityKey{key})
		if err != nil {
			return nil, err
		}
		e := known[key]
		if e == nil {
			e = &music.Keyed{Key: key.Key, Entity: library.Entity{Kind: library.KindArtist, Artist: name}}
			if err := addEntity(ctx, tx, e); err != nil {
				return nil, err
			}
		}
		parts = append(parts, into(e.ID))
	}
	return parts, nil
}

// addDivided stores a new album or track that is split off from h. Its key is unique, so that names from services never
// lead to it.
func (s *Store) addDivided(ctx context.Context, tx *sql.Tx, h library.Heard, title string) ([]part, error) {
	sum := fnv.New64a()
	_, _ = fmt.Fprint(sum, "divided from ", h.ID, " ", time.Now().UnixNano(), title)
	e := &music.Keyed{Key: int64(sum.Sum64()), Entity: library.Entity{Kind: h.Kind, Artist: h.Artist, Title: title,
		Album: h.Album, Duration: h.Duration}}
	err := addEntity(ctx, tx, e)
	return []part{into(e.ID)}, err
}

// addEntity stores an entity, and gives it its id.
func addEntity(ctx context.Context, tx *sql.Tx, e *music.Keyed) (err error) {
	if e.ID, err = db.NextIDs(ctx, tx, "entities", 1); err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, `INSERT INTO entities (id, kind, match_key, artist, title, album, duration_ms, isrc, mbid)
		VALUES ($1, $2, $3, $4, $5, $6, $7, '', '')`, e.ID, e.Kind, e.Key, e.Artist, e.Title, e.Album,
		e.Duration.Milliseconds())
}
