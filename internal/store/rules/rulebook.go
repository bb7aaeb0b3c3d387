package rules

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/corrections"
	"reprise/internal/store/db"
	"reprise/internal/store/statistics"
)

// part is a row of music_rule_parts; see migration 34.
type part struct {
	part  string
	id    int64
	title string
}

func into(id int64) part { return part{part: "into", id: id} }

// addRule stores a rule, sets its ID, and counts a change of meanings.
func addRule(ctx context.Context, tx *sql.Tx, c *library.Correction, of int64, parts []part) (err error) {
	if c.ID, err = db.NextIDs(ctx, tx, "corrections", 1); err != nil {
		return err
	}
	c.Of = of
	if err := tx.QueryRowContext(ctx, "SELECT name FROM users WHERE id = $1", c.User).Scan(&c.By); err != nil {
		return err
	}
	rows := make([]any, 0, 5*len(parts))
	for i, p := range parts {
		rows = append(rows, c.ID, i, p.part, p.id, p.title)
	}
	name := c.Title
	if c.About == library.KindArtist {
		name = c.Artist
	}
	artist := c.Artist
	if c.About == library.KindArtist {
		artist = ""
	}
	return errors.Join(
		db.ExecTx(ctx, tx, `INSERT INTO music_rules
			(id, kind, entity, entity_id, name, artist, becomes, listens, made_by, made_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, c.ID, c.Kind, c.About, of, name, artist, c.Becomes,
			c.Listens, c.User, db.Millis(c.MadeAt)),
		db.InsertRows(ctx, tx, "INSERT INTO music_rule_parts (rule_id, position, part, entity_id, title)", 5, rows, ""),
		catalogue.Remeant(ctx, tx))
}

// ruleOn returns a new rule about something that a person has heard.
func ruleOn(user int64, kind string, h library.Heard) library.Correction {
	return library.Correction{User: user, Kind: kind, About: h.Kind, Listens: h.Plays, Title: h.Title, Artist: h.Artist,
		MadeAt: db.Instant(db.Millis(time.Now()))}
}

// heardOne returns an artist, an album or a track that a person has heard, or library.ErrNotFound.
func (s *Store) heardOne(ctx context.Context, user int64, kind string, id int64) (library.Heard, error) {
	m, err := s.enrichment.Music(ctx, user, kind, id)
	return library.Heard{ID: m.ID, Entity: m.Entity, Plays: m.Plays, LastHeard: m.LastHeard}, err
}

// MergeEffect returns what MergeMusic would change. It returns library.ErrNotFound unless the person has heard both,
// and library.ErrUnchanged if they are already merged.
func (s *Store) MergeEffect(ctx context.Context, user int64, kind string, from, to int64) (v library.Effect,
	err error) {
	if v.From, err = s.heardOne(ctx, user, kind, from); err != nil {
		return v, err
	}
	if v.Into, err = s.heardOne(ctx, user, kind, to); err != nil {
		return v, err
	}
	if v.From.ID == v.Into.ID {
		return v, library.ErrUnchanged
	}
	if kind != library.KindArtist {
		return v, nil
	}
	albums, tracks, err := s.ofArtist(ctx, user, v.From.ID)
	v.Albums, v.Tracks = len(albums), len(tracks)
	return v, err
}

// ofArtist returns how often a person has heard the albums and the tracks of an artist, by ID.
func (s *Store) ofArtist(ctx context.Context, user, id int64) (albums, tracks map[int64]int, err error) {
	plays, err := s.statistics.HeardOf(ctx, user)
	if err != nil {
		return nil, nil, err
	}
	albums, tracks = map[int64]int{}, map[int64]int{}
	for _, spelt := range plays.SpellingsOf(library.KindArtist, id) {
		_, album, track := plays.Music.Of(uint32(spelt))
		n := int(statistics.PlaysOf(plays.Spelling, spelt).N)
		if album != 0 {
			albums[int64(album)] += n
		}
		if track != 0 {
			tracks[int64(track)] += n
		}
	}
	return albums, tracks, nil
}

// MergeMusic merges an artist, an album or a track into another one for the whole household, until this is undone. If
// both artists have an album or a track with the same title, those become one as well. The errors are those of
// MergeEffect.
func (s *Store) MergeMusic(ctx context.Context, user int64, kind string, from, to int64) (c library.Correction,
	err error) {
	v, err := s.MergeEffect(ctx, user, kind, from, to)
	if err != nil {
		return c, err
	}
	c = ruleOn(user, library.Merged, v.From)
	c.Becomes = v.Into.Name()
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		return addRule(ctx, tx, &c, v.From.ID, []part{into(v.Into.ID)})
	})
	return c, err
}

// RenameMusic renames an artist, an album or a track for the whole household. It returns library.ErrNotFound if the
// person has not heard it, library.ErrUnchanged if it has this name already, and library.ErrNameTaken if another artist
// has it.
func (s *Store) RenameMusic(ctx context.Context, user int64, kind string, id int64, name string) (
	c library.Correction, err error) {
	h, err := s.heardOne(ctx, user, kind, id)
	if err != nil {
		return c, err
	}
	if name = music.Indexed(name); name == h.Name() {
		return c, library.ErrUnchanged
	}
	if kind == library.KindArtist {
		if other, err := s.artistByName(ctx, name); err != nil {
			return c, err
		} else if other != 0 && other != h.ID {
			return c, library.ErrNameTaken
		}
	}
	c = ruleOn(user, library.Renamed, h)
	c.Becomes = name
	err = s.db.Write(ctx, func(tx *sql.Tx) error { return addRule(ctx, tx, &c, h.ID, nil) })
	return c, err
}

// artistByName returns the ID of the artist with this name, by the rules or as listens report it; 0 if there is none.
func (s *Store) artistByName(ctx context.Context, name string) (int64, error) {
	ruled, err := s.catalogue.Rulings(ctx)
	if err != nil {
		return 0, err
	}
	for id, n := range ruled.Names {
		if n.Kind == library.KindArtist && music.Normal(n.Name) == music.Normal(name) && ruled.End(id) == id {
			return id, nil
		}
	}
	key := music.EntityKey{Kind: library.KindArtist, Key: music.ArtistKey(name)}
	known, err := catalogue.KnownEntities(ctx, s.db.Reader, []music.EntityKey{key})
	if err != nil || known[key] == nil {
		return 0, err
	}
	var told bool
	err = s.db.Reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM track_artists WHERE artist_id = $1)",
		known[key].ID).Scan(&told)
	id := ruled.End(known[key].ID)
	if !told || ruled.Names[id].Name != "" && music.Normal(ruled.Names[id].Name) != music.Normal(name) {
		return 0, db.Explain(err)
	}
	return id, db.Explain(err)
}

// UndoRule undoes a rule about an artist, an album or a track, and returns it. It does nothing if the rule is already
// undone, and returns library.ErrNotFound if there is no such rule.
func (s *Store) UndoRule(ctx context.Context, id int64) (c library.Correction, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		if c, err = corrections.ScanCorrection(tx.QueryRowContext(ctx, corrections.SelectRule+"WHERE r.id = $1",
			id)); err != nil {
			return db.Found(err)
		}
		if !c.UndoneAt.IsZero() {
			return nil
		}
		c.UndoneAt = db.Instant(db.Millis(time.Now()))
		return errors.Join(
			db.ExecTx(ctx, tx, "UPDATE music_rules SET undone_at = $2 WHERE id = $1", id, db.Millis(c.UndoneAt)),
			// Remove the entities that divisions have created, unless a service has reported them since or another rule
			// needs them.
			db.ExecTx(ctx, tx, `DELETE FROM entities
				WHERE id IN (SELECT p.entity_id FROM music_rule_parts p JOIN music_rules r ON r.id = p.rule_id
					WHERE r.undone_at > 0 AND r.kind = 'divide' AND p.part = 'into')
				AND NOT EXISTS (SELECT 1 FROM track_artists a WHERE a.artist_id = entities.id)
				AND NOT EXISTS (SELECT 1 FROM spellings p WHERE p.album_id = entities.id)
				AND NOT EXISTS (SELECT 1 FROM spellings p WHERE p.track_id = entities.id)
				AND NOT EXISTS (SELECT 1 FROM music_rules r LEFT JOIN music_rule_parts p ON p.rule_id = r.id
					WHERE r.undone_at = 0 AND (r.entity_id = entities.id OR p.entity_id = entities.id))`),
			db.ExecTx(ctx, tx, `DELETE FROM chosen_pictures WHERE name NOT IN (SELECT becomes FROM music_rules
				WHERE kind = 'picture' AND undone_at = 0)`),
			catalogue.Remeant(ctx, tx))
	})
	return c, err
}

// RuleExists reports whether there is a rule about an artist, an album or a track with this ID, undone or not.
func (s *Store) RuleExists(ctx context.Context, id int64) (there bool, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM music_rules WHERE id = $1)", id).Scan(&there)
	return there, db.Explain(err)
}

// mostWorks caps the albums, and the tracks, that are listed of an artist.
const mostWorks = 500

// Works returns the albums and the tracks of an artist that a person has heard, the most heard first.
func (s *Store) Works(ctx context.Context, user, artist int64) (albums, tracks []library.Heard, err error) {
	ofAlbums, ofTracks, err := s.ofArtist(ctx, user, artist)
	if err != nil {
		return nil, nil, err
	}
	if albums, err = s.worksOf(ctx, ofAlbums, library.KindAlbum); err != nil {
		return nil, nil, err
	}
	tracks, err = s.worksOf(ctx, ofTracks, library.KindTrack)
	return albums, tracks, err
}

func (s *Store) worksOf(ctx context.Context, plays map[int64]int, kind string) (all []library.Heard, err error) {
	var ids []uint32
	for id := range plays {
		ids = append(ids, uint32(id))
	}
	names, err := s.catalogue.Entities(ctx, ids)
	for id, e := range names {
		if e.Kind == kind {
			all = append(all, library.Heard{ID: int64(id), Entity: e, Plays: plays[int64(id)]})
		}
	}
	slices.SortStableFunc(all, func(a, b library.Heard) int {
		return cmp.Or(cmp.Compare(b.Plays, a.Plays), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(len(all), mostWorks)], err
}
