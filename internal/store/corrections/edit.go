package corrections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
)

// held is a listen as it is kept, in a pile.
type held struct {
	in          intake.Pile
	id, at      int64 // at in milliseconds
	spelt       int64
	approximate int
}

// holding returns where and how a listen of a person is kept, or library.ErrNotFound.
func holding(ctx context.Context, tx *sql.Tx, user, id int64, among ...intake.Pile) (h held, err error) {
	for _, in := range among {
		h.in, h.id = in, id
		err = tx.QueryRowContext(ctx, "SELECT played_at, approximate, spelling_id FROM "+in.Listens+
			" WHERE user_id = $1 AND id = $2", user, id).Scan(&h.at, &h.approximate, &h.spelt)
		if !errors.Is(err, sql.ErrNoRows) {
			break
		}
	}
	return h, db.Found(err)
}

// become gives a listen another spelling and another time. What its sources told stays.
func (h held) become(ctx context.Context, tx *sql.Tx, next held) error {
	return errors.Join(
		db.ExecTx(ctx, tx,
			"UPDATE "+h.in.Listens+` SET played_at = $2, approximate = $3, spelling_id = $4 WHERE id = $1`,
			h.id, next.at, next.approximate, next.spelt),
		db.ExecTx(ctx, tx, "UPDATE "+h.in.Sources+" SET later = later + $2 WHERE listen_id = $1", h.id, h.at-next.at))
}

// edited does what follows from a listen having become another one.
func (s *Store) edited(ctx context.Context, tx *sql.Tx, user int64, before, after held) error {
	if before.in.Removed {
		return nil
	}
	some := []delivery.Play{{Listen: before.id, At: time.UnixMilli(before.at)},
		{Listen: after.id, At: time.UnixMilli(after.at)}}
	return s.intake.ListensChanged(ctx, tx, user, some)
}

// EditListen changes a listen of a person. It returns library.ErrNotFound if there is none, and library.ErrUnchanged if
// it is like that already. Services that tell of the listen as it was tell of the same one.
func (s *Store) EditListen(ctx context.Context, user, id int64, v library.Change) (c library.Correction, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		before, err := holding(ctx, tx, user, id, intake.Kept)
		if err != nil {
			return err
		}
		spelt, err := catalogue.SpellingsByID(ctx, tx, []int64{before.spelt})
		if err != nil {
			return err
		}
		was := spelt[before.spelt].Track
		now := withChange(was, v)
		after := before
		if v.PlayedAt != nil {
			after.at, after.approximate = db.Millis(*v.PlayedAt), 0
		}
		if ids, err := s.catalogue.Shelve(ctx, tx, []music.Spelling{music.SpellingOf(now)}); err != nil {
			return err
		} else if after.spelt = ids[0]; after == before {
			return library.ErrUnchanged
		}
		c = library.Correction{User: user, Kind: library.Edited, Listens: 1, Title: was.Title, Artist: was.Artist,
			MadeAt: db.Instant(db.Millis(time.Now()))}
		if was.Title != now.Title || was.Artist != now.Artist {
			c.Becomes = now.Artist + " – " + now.Title
		}
		if err := addCorrection(ctx, tx, &c); err != nil {
			return err
		}
		return errors.Join(
			db.ExecTx(ctx, tx, `INSERT INTO edited_listens
				(correction_id, user_id, listen_id, played_at, approximate, spelling_id)
				VALUES ($1, $2, $3, $4, $5, $6)`, c.ID, user, id, before.at, before.approximate, before.spelt),
			before.become(ctx, tx, after),
			s.edited(ctx, tx, user, before, after))
	})
	return c, err
}

// withChange returns a track with what a person changes of it. Ids that tell of a recording tell of the former one.
func withChange(t library.Track, v library.Change) library.Track {
	set := func(to *string, s *string) bool {
		if s == nil || *s == *to {
			return false
		}
		*to = *s
		return true
	}
	title, artist := set(&t.Title, v.Title), set(&t.Artist, v.Artist)
	if title || artist {
		t.ISRC, t.RecordingMBID = "", ""
	}
	set(&t.Album, v.Album)
	return t
}

// changeBack makes an edited listen what it was before, or before the next edit, if there was another one since.
func (s *Store) changeBack(ctx context.Context, tx *sql.Tx, c library.Correction) error {
	var was held
	err := tx.QueryRowContext(ctx, `SELECT listen_id, played_at, approximate, spelling_id FROM edited_listens
		WHERE correction_id = $1`, c.ID).Scan(&was.id, &was.at, &was.approximate, &was.spelt)
	if err != nil {
		return err
	}
	var next int64
	err = tx.QueryRowContext(ctx, `SELECT coalesce(min(correction_id), 0) FROM edited_listens
		WHERE user_id = $1 AND listen_id = $2 AND correction_id > $3`, c.User, was.id, c.ID).Scan(&next)
	if err != nil {
		return err
	}
	if err := db.ExecTx(ctx, tx, "DELETE FROM edited_listens WHERE correction_id = $1", c.ID); err != nil {
		return err
	}
	if next != 0 {
		return db.ExecTx(ctx, tx, `UPDATE edited_listens SET played_at = $2, approximate = $3, spelling_id = $4
			WHERE correction_id = $1`, next, was.at, was.approximate, was.spelt)
	}
	now, err := holding(ctx, tx, c.User, was.id, intake.Kept, intake.Removed)
	if errors.Is(err, library.ErrNotFound) {
		return nil // it went with its service
	}
	if err != nil {
		return err
	}
	was.in = now.in
	return errors.Join(now.become(ctx, tx, was), s.edited(ctx, tx, c.User, now, was))
}

// AddListen stores a listen that a person adds, and returns the correction and the listen's number. It returns
// library.ErrUnchanged with the number of the listen that is there, if a service has told of that play, or if there is
// one of that title and artist in that second: a program whose answer was lost sends the same again.
func (s *Store) AddListen(ctx context.Context, user int64, l library.Listen) (c library.Correction, id int64,
	err error) {
	c = library.Correction{User: user, Kind: library.Added, Listens: 1, Title: l.Title, Artist: l.Artist,
		MadeAt: db.Instant(db.Millis(time.Now()))}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		if id, err = sameSecond(ctx, tx, user, l); err != nil || id != 0 {
			return cmp.Or(err, library.ErrUnchanged)
		}
		if err := addCorrection(ctx, tx, &c); err != nil {
			return err
		}
		l.SourceID = addedID(c)
		_, added, err := s.intake.TakeIn(ctx, tx, library.Intake{User: user, Connection: library.ByHand,
			Listens: []library.Listen{l}})
		if err == nil {
			id, err = addedIn(ctx, tx, intake.Kept, c)
		}
		if err == nil && added == 0 {
			err = library.ErrUnchanged
		}
		return err
	})
	return c, id, err
}

// sameSecond returns the number of a person's listen with the title and artist of l in the second of l; 0 for none.
func sameSecond(ctx context.Context, tx *sql.Tx, user int64, l library.Listen) (id int64, err error) {
	from := l.PlayedAt.Truncate(time.Second)
	there, err := db.List(ctx, tx, listens.ScanListen, listens.SelectListen+
		"WHERE l.user_id = $1 AND l.played_at >= $2 AND l.played_at < $3 ORDER BY l.id",
		user, db.Millis(from), db.Millis(from.Add(time.Second)))
	for _, other := range there {
		if id == 0 && music.MatchKey(other.Title, music.Indexed(other.Artist)) == music.MatchKey(l.Title,
			music.Indexed(l.Artist)) {
			id = other.ID
		}
	}
	return id, err
}

// addedID returns the id of the source of a listen that was added.
func addedID(c library.Correction) string { return fmt.Sprintf("%d-%d", c.MadeAt.Unix(), c.ID) }

// addedIn returns the number of the listen in a pile that was added; 0 if it is not there.
func addedIn(ctx context.Context, tx *sql.Tx, in intake.Pile, c library.Correction) (id int64, err error) {
	source := addedID(c)
	err = tx.QueryRowContext(ctx, "SELECT s.listen_id FROM "+in.Sources+` s WHERE s.source_key = $1 AND `+
		connections.SourceOf("s", 2)+" AND "+listens.IdOf("s")+" = $3",
		intake.SourceKey(c.User, library.ByHand, source), library.ByHand, source).
		Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}

// takeAway takes a listen away that was added. It stays if a service has told of it since.
func (s *Store) takeAway(ctx context.Context, tx *sql.Tx, c library.Correction) error {
	for _, in := range []intake.Pile{intake.Kept, intake.Removed} {
		id, err := addedIn(ctx, tx, in, c)
		if err != nil {
			return err
		}
		if id == 0 {
			continue
		}
		h, err := holding(ctx, tx, c.User, id, in)
		if err != nil {
			return err
		}
		err = errors.Join(
			db.ExecTx(ctx, tx, "DELETE FROM "+in.Sources+" WHERE listen_id = $1 AND "+connections.SourceOf(in.Sources,
				2)+
				" AND "+listens.IdOf(in.Sources)+" = $3", id, library.ByHand, addedID(c)),
			db.ExecTx(ctx, tx, "DELETE FROM "+in.Listens+" WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM "+in.Sources+
				" s WHERE s.listen_id = $1)", id))
		if err != nil || in.Removed {
			return err
		}
		return errors.Join(outbox.CancelEmpty(ctx, tx, c.User),
			s.intake.ListensChanged(ctx, tx, c.User, []delivery.Play{{Listen: id, At: time.UnixMilli(h.at)}}))
	}
	return nil
}

// OneListen returns a listen of a person, with what each source told, the earliest first; or library.ErrNotFound.
func (s *Store) OneListen(ctx context.Context, user, id int64) (l library.StoredListen, told []library.Told,
	err error) {
	l, err = listens.ScanListen(s.db.Reader.QueryRowContext(ctx,
		listens.SelectListen+"WHERE l.user_id = $1 AND l.id = $2", user, id))
	if err != nil {
		return l, nil, db.Found(err)
	}
	scan := func(r db.Scanner) (v library.Told, err error) {
		var later, known int64
		err = r.Scan(&v.Connection, &v.SourceID, &later, &known, &v.Player)
		v.At, v.KnownAt = l.PlayedAt.Add(time.Duration(later)*time.Millisecond), db.Instant(1000*known)
		return v, err
	}
	told, err = db.List(ctx, s.db.Reader, scan,
		"SELECT n.connection, "+listens.IdOf("s")+` AS source_id, s.later, s.stored_at,
			coalesce(p.name, '')
		FROM listen_sources s JOIN connection_numbers n ON n.number = s.connection
		LEFT JOIN players p ON p.id = s.player WHERE s.listen_id = $1
		ORDER BY s.later, n.connection, source_id`, id)
	for _, v := range told {
		l.Sources = append(l.Sources, v.Source)
	}
	return l, told, err
}
