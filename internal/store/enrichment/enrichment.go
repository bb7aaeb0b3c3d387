package enrichment

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/statistics"
)

// queueAtOnce is the number of entities queued in one transaction.
const queueAtOnce = 5000

// Enqueue puts up to queueAtOnce new entities of these kinds into the queue of a source. They are due now, or wait for
// an MBID if the source needs another one, needs, to find it. It reports whether there may be more.
func (s *Store) Enqueue(ctx context.Context, source string, kinds []string, needs string) (more bool, err error) {
	var fresh bool
	err = s.db.Reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM entities
		WHERE id > coalesce((SELECT last FROM enrichment_marks WHERE name = $1), 0))`, source).Scan(&fresh)
	if err != nil || !fresh {
		return false, db.Explain(err)
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		last, err := catalogue.Mark(ctx, tx, source)
		if err != nil {
			return err
		}
		var to sql.NullInt64
		var n int
		err = tx.QueryRowContext(ctx, `SELECT max(id), count(*)
			FROM (SELECT id FROM entities WHERE id > $1 ORDER BY id LIMIT $2) next`, last, queueAtOnce).Scan(&to, &n)
		if err != nil || n == 0 {
			return err
		}
		more = n == queueAtOnce
		// If the needed source has answered already without an MBID, there is nothing to ask for.
		args := []any{source, needs, last, to.Int64, db.Millis(time.Now())}
		for _, k := range kinds {
			args = append(args, k)
		}
		return errors.Join(db.ExecTx(ctx, tx, `INSERT INTO enrichment (source, entity_id, state, due_at)
			SELECT CAST($1 AS TEXT), e.id,
				CASE WHEN e.mbid = '' AND n.state IN ('done', 'not_there') THEN 'not_there' ELSE 'waiting' END,
				CASE WHEN CAST($2 AS TEXT) <> '' AND e.mbid = '' THEN 0 ELSE CAST($5 AS BIGINT) END
			FROM entities e LEFT JOIN enrichment n ON n.entity_id = e.id AND n.source = $2
			WHERE e.id > $3 AND e.id <= $4 AND e.kind IN `+db.Numbered(6, len(kinds)), args...),
			catalogue.SetMark(ctx, tx, source, to.Int64))
	})
	return more && err == nil, err
}

// NextTask returns the task of a source that has been due longest, or library.ErrNotFound.
func (s *Store) NextTask(ctx context.Context, source string) (t enrich.Task, err error) {
	var ms int64
	t.Source = source
	err = s.db.Reader.QueryRowContext(ctx, `SELECT e.id, e.kind, e.artist, e.title, e.album, e.duration_ms, e.isrc,
			e.mbid, r.state, r.failures
		FROM enrichment r JOIN entities e ON e.id = r.entity_id
		WHERE r.source = $1 AND r.due_at BETWEEN 1 AND $2
		ORDER BY r.due_at, r.entity_id LIMIT 1`, source, db.Millis(time.Now())).
		Scan(&t.ID, &t.Kind, &t.Artist, &t.Title, &t.Album, &ms, &t.ISRC, &t.MBID, &t.State, &t.Failures)
	t.Duration = time.Duration(ms) * time.Millisecond
	return t, db.Found(err)
}

// SaveOutcome stores an outcome. A source that waits for an MBID becomes due when one is found, or when the MBID
// changes. If there is none, the source has nothing to ask for.
func (s *Store) SaveOutcome(ctx context.Context, o enrich.Outcome) error {
	now := db.Millis(time.Now())
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		if o.Failures > 0 {
			return db.ExecTx(ctx, tx, `UPDATE enrichment
				SET state = $1, due_at = $2, failures = $3, reason = $4, asked_at = $5
				WHERE entity_id = $6 AND source = $7`,
				o.State, db.Millis(o.Due), o.Failures, o.Reason, now, o.ID, o.Source)
		}
		f := o.Facts
		err := db.ExecTx(ctx, tx, `UPDATE enrichment
			SET state = $1, due_at = $2, failures = 0, reason = '', asked_at = $3, mbid = $4, name = $5, tags = $6,
				released = $7, picture = $8
			WHERE entity_id = $9 AND source = $10`,
			o.State, db.Millis(o.Due), now, f.MBID, f.Name, strings.Join(f.Tags, "\n"), f.Released, o.Picture, o.ID,
			o.Source)
		if err != nil {
			return err
		}
		return release(ctx, tx, o, now)
	})
}

// release stores the MBID that was found, and makes the sources due that need it.
func release(ctx context.Context, tx *sql.Tx, o enrich.Outcome, now int64) error {
	another := int64(0)
	if o.Facts.MBID != "" {
		res, err := tx.ExecContext(ctx,
			"UPDATE entities SET mbid = $1 WHERE id = $2 AND mbid <> $1"+catalogue.NotDivided,
			o.Facts.MBID, o.ID)
		if err != nil {
			return err
		}
		if another, err = res.RowsAffected(); err != nil {
			return err
		}
		if another > 0 {
			if err := catalogue.JoinSame(ctx, tx, o.Kind, o.Facts.MBID); err != nil {
				return err
			}
		}
	}
	if len(o.Then) == 0 {
		return nil
	}
	args := []any{o.ID, enrich.NotThere, 0}
	which := " WHERE entity_id = $1 AND source IN " + db.Numbered(4, len(o.Then))
	if o.Facts.MBID != "" {
		args = []any{o.ID, enrich.Waiting, now}
	}
	if another == 0 { // the MBID is the same: only those that wait for one change
		which += " AND due_at = 0"
	}
	for _, name := range o.Then {
		args = append(args, name)
	}
	return db.ExecTx(ctx, tx, "UPDATE enrichment SET state = $2, failures = 0, due_at = $3"+which, args...)
}

// RetryFailed makes the failed tasks of a source due.
func (s *Store) RetryFailed(ctx context.Context, source string) error {
	return s.db.Exec(ctx, "UPDATE enrichment SET due_at = $1 WHERE source = $2 AND failures > 0 AND due_at > $1",
		db.Millis(time.Now()), source)
}

// RenewPictures makes the tasks due whose picture is missing, except failed ones. missing returns those of the names
// whose picture is not there.
func (s *Store) RenewPictures(ctx context.Context, missing func(names []string) []string) error {
	scan := func(r db.Scanner) (name string, err error) { return name, r.Scan(&name) }
	now := db.Millis(time.Now())
	all, err := db.List(ctx, s.db.Reader, scan,
		"SELECT DISTINCT picture FROM enrichment WHERE picture <> '' AND failures = 0 AND due_at > $1", now)
	if err != nil || len(all) == 0 {
		return err
	}
	gone := missing(all)
	if len(gone) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for some := range slices.Chunk(gone, queueAtOnce) {
			args := []any{now}
			for _, name := range some {
				args = append(args, name)
			}
			err := db.ExecTx(ctx, tx, `UPDATE enrichment SET due_at = $1
				WHERE picture <> '' AND failures = 0 AND due_at > $1 AND picture IN `+db.Numbered(2, len(some)),
				args...)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// EnrichmentProgress returns the progress of each source.
func (s *Store) EnrichmentProgress(ctx context.Context) (map[string]enrich.Progress, error) {
	type row struct {
		source string
		state  enrich.State
		failed int
		n      int
		next   int64
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.source, &v.state, &v.failed, &v.n, &v.next) }
	rows, err := db.List(ctx, s.db.Reader, scan, `SELECT source, state, failures, count(*),
			coalesce(min(CASE WHEN due_at > 0 THEN due_at END), 0)
		FROM enrichment GROUP BY source, state, failures`)
	all := map[string]enrich.Progress{}
	for _, v := range rows {
		p := all[v.source]
		p.Add(v.state, v.n)
		at := db.Instant(v.next)
		p.NextAt = earlier(p.NextAt, at)
		if v.failed > 0 {
			p.PutOff, p.PutOffUntil = p.PutOff+v.n, earlier(p.PutOffUntil, at)
		}
		all[v.source] = p
	}
	return all, err
}

// earlier returns the earlier of two times; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// People returns the IDs of all accounts.
func (s *Store) People(ctx context.Context) ([]int64, error) {
	scan := func(r db.Scanner) (id int64, err error) { return id, r.Scan(&id) }
	return db.List(ctx, s.db.Reader, scan, "SELECT id FROM users ORDER BY id")
}

// MusicKinds are the kinds of entities that have a page.
var MusicKinds = []string{library.KindArtist, library.KindAlbum, library.KindTrack}

// Music returns what is known of an entity; of the one that it has joined, with its ID, if it is gone. It returns
// library.ErrNotFound if the person has not heard it.
func (s *Store) Music(ctx context.Context, user int64, kind string, id int64) (m enrich.Music, err error) {
	if !slices.Contains(MusicKinds, kind) {
		return m, library.ErrNotFound
	}
	ruled, err := s.catalogue.Rulings(ctx)
	if err != nil {
		return m, err
	}
	e, err := s.entity(ctx, kind, id)
	if err == nil && ruled.End(e.ID) != e.ID {
		e, err = s.entity(ctx, kind, ruled.End(e.ID))
	}
	if err != nil {
		return m, err
	}
	plays, err := s.statistics.HeardOf(ctx, user)
	if err != nil {
		return m, err
	}
	heard := statistics.PlaysOf(plays.Entity, e.ID)
	if heard.N == 0 {
		return m, library.ErrNotFound
	}
	ruled.Call(e.ID, &e.Entity)
	m.ID, m.Entity, m.Plays, m.LastHeard = e.ID, e.Entity, int(heard.N), db.Instant(heard.Last*1000)
	m.Chosen = ruled.Pictures[e.ID]
	m.Told, err = db.List(ctx, s.db.Reader, scanTold, `SELECT source, state, asked_at, due_at, reason, mbid, name, tags,
			released, picture
		FROM enrichment WHERE entity_id = $1 ORDER BY source`, e.ID)
	return m, err
}

// entity returns an artist, an album or a track, or the one that replaced it when they were joined. It returns
// library.ErrNotFound if there is none.
func (s *Store) entity(ctx context.Context, kind string, id int64) (*music.Keyed, error) {
	e, err := catalogue.ScanEntity(s.db.Reader.QueryRowContext(ctx,
		catalogue.SelectEntity+`WHERE e.kind = $2 AND (e.id = $1
		OR e.id = (SELECT entity_id FROM joined_ids WHERE old_id = $1))`, id, kind))
	return e, db.Found(err)
}

func scanTold(r db.Scanner) (t enrich.Told, err error) {
	var asked, due int64
	var tags string
	err = r.Scan(&t.Source, &t.State, &asked, &due, &t.Reason, &t.MBID, &t.Name, &tags, &t.Released, &t.Picture)
	t.AskedAt, t.Due = db.Instant(asked), db.Instant(due)
	if tags != "" {
		t.Tags = strings.Split(tags, "\n")
	}
	return t, err
}

// Links returns the entities and the picture of each of these tracks.
func (s *Store) Links(ctx context.Context, tracks []library.Track) ([]enrich.Links, error) {
	var keys []music.EntityKey
	none := func(string) bool { return false }
	for _, t := range tracks {
		for _, e := range music.EntitiesOf(t, none) {
			keys = append(keys, e.Named())
		}
		if music.Composed(t.Artist) {
			for _, name := range music.Possible(t.Artist) {
				keys = append(keys, music.EntityKey{Kind: library.KindArtist, Key: music.ArtistKey(name)})
			}
		}
	}
	known, err := catalogue.KnownEntities(ctx, s.db.Reader, keys)
	if err != nil || len(known) == 0 {
		return make([]enrich.Links, len(tracks)), err
	}
	alone := func(name string) bool {
		return known[music.EntityKey{Kind: library.KindArtist, Key: music.ArtistKey(name)}] != nil
	}
	credited, err := s.credited(ctx, known)
	if err != nil {
		return nil, err
	}
	links := make([]enrich.Links, len(tracks))
	for i, t := range tracks {
		l := &links[i]
		for _, e := range music.EntitiesOf(t, alone) {
			k := known[e.Named()]
			if k == nil {
				continue
			}
			switch e.Kind {
			case library.KindArtist:
				if l.Artist == 0 { // the first one
					l.Artist = k.ID
				}
			case library.KindAlbum:
				l.Album = k.ID
			case library.KindTrack:
				l.Track = k.ID
			}
			if credits := credited[k.ID]; len(credits) > 0 {
				l.Artist, l.Credits = credits[0].ID, credits
			}
		}
	}
	if err := s.catalogue.Rule(ctx, tracks, links); err != nil {
		return nil, err
	}
	return links, s.addPictures(ctx, links)
}

// credited returns the artists of each track that is stored.
func (s *Store) credited(ctx context.Context, known map[music.EntityKey]*music.Keyed) (map[int64][]enrich.Credit,
	error) {
	var args []any
	for k, e := range known {
		if k.Kind == library.KindTrack || k.Kind == music.Untitled {
			args = append(args, e.ID)
		}
	}
	all := make(map[int64][]enrich.Credit, len(args))
	scan := func(r db.Scanner) (none struct{}, err error) {
		var track int64
		var c enrich.Credit
		err = r.Scan(&track, &c.ID, &c.Name)
		all[track] = append(all[track], c)
		return none, err
	}
	for chunk := range slices.Chunk(args, 200) {
		_, err := db.List(ctx, s.db.Reader, scan, `SELECT t.track_id, t.artist_id, e.artist FROM track_artists t
			JOIN entities e ON e.id = t.artist_id WHERE t.track_id IN `+db.Numbered(1, len(chunk))+
			" ORDER BY t.track_id, t.position, t.artist_id", chunk...)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addPictures adds the pictures of albums to links; where there is none, that of the artist.
func (s *Store) addPictures(ctx context.Context, links []enrich.Links) error {
	of := map[int64]bool{}
	for _, l := range links {
		of[l.Album], of[l.Artist] = true, true
	}
	pictures, err := s.pictures(ctx, of)
	for i := range links {
		l := &links[i]
		if l.Picture = pictures[l.Album]; l.Picture == "" {
			l.Picture = pictures[l.Artist]
			l.Portrait = l.Picture != ""
		}
	}
	return err
}

// pictures returns the pictures of these entities by their IDs. Entities without one are left out.
func (s *Store) pictures(ctx context.Context, of map[int64]bool) (map[int64]string, error) {
	args := make([]any, 0, len(of))
	for id := range of {
		if id != 0 {
			args = append(args, id)
		}
	}
	all := make(map[int64]string, len(args))
	if len(args) == 0 {
		return all, nil
	}
	type row struct {
		id   int64
		name string
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.id, &v.name) }
	rows, err := db.List(ctx, s.db.Reader, scan, `SELECT entity_id, picture FROM enrichment
		WHERE picture <> '' AND entity_id IN `+db.Numbered(1, len(args))+" ORDER BY source DESC", args...)
	for _, r := range rows {
		all[r.id] = r.name
	}
	if err == nil {
		err = s.catalogue.AddChosen(ctx, of, all)
	}
	return all, err
}
