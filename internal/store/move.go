package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/library"
)

// moveStep is the migration after which the listens of an older database are moved to the rows of spellings, and
// before the one that removes what they were moved from. A database at this step has been moved in part: the next start
// goes on.
const moveStep = 25

// moveAtOnce is how many listens are moved in one transaction.
const moveAtOnce = 5000

// moved is the name of the sequence with the number of the last listen that was moved.
const moved = "moved listens"

// moveListens gives every listen its spelling, and moves the sources. Options.Moving hears of it.
func (s *Store) moveListens(ctx context.Context) error {
	var all, done int64
	err := s.writer.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(CASE WHEN spelling_id > 0 THEN 1 ELSE 0 END), 0)
		FROM listens`).Scan(&all, &done)
	if err != nil {
		return local(err)
	}
	if done < all {
		if s.moving, err = s.artistsToMove(ctx); err != nil {
			return err
		}
		defer func() { s.moving = nil }()
	}
	began := time.Now()
	for {
		n := 0
		err := s.write(ctx, func(tx *sql.Tx) (err error) {
			n, err = s.moveSome(ctx, tx)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		if done += int64(n); s.Options().Moving != nil {
			s.Options().Moving(done, all, time.Since(began))
		}
	}
}

// artistsToMove returns the keys of the names in the listens that are those of one artist. "A, B" are two if A and B
// are known, also from a listen that comes later.
func (s *Store) artistsToMove(ctx context.Context) (map[int64]bool, error) {
	scan := func(r scanner) (name string, err error) { return name, r.Scan(&name) }
	names, err := list(ctx, s.writer, scan, "SELECT DISTINCT artist FROM listens")
	keys := make(map[int64]bool, len(names))
	for _, name := range names {
		if !composed(name) {
			keys[artistKey(name)] = true
		}
	}
	return keys, err
}

// oldListen is a listen as it was stored before.
type oldListen struct {
	id, user, at int64
	library.Track
}

// moveSome moves the next listens and returns their number.
func (s *Store) moveSome(ctx context.Context, tx *sql.Tx) (int, error) {
	var last int64
	err := tx.QueryRowContext(ctx, "SELECT last FROM sequences WHERE name = $1", moved).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	scan := func(r scanner) (l oldListen, err error) {
		var ms int64
		err = r.Scan(&l.id, &l.user, &l.at, &l.Title, &l.Artist, &l.Album, &ms, &l.ISRC, &l.RecordingMBID)
		l.Duration = length(ms)
		return l, err
	}
	heard, err := list(ctx, tx, scan, `SELECT id, user_id, played_at, title, artist, album, duration_ms, isrc,
			recording_mbid
		FROM listens WHERE id > $1 ORDER BY id LIMIT $2`, last, moveAtOnce)
	if err != nil || len(heard) == 0 {
		return 0, err
	}
	all := make([]spelling, len(heard))
	byID := make(map[int64]*oldListen, len(heard))
	spanned := map[hearing]bool{}
	for i := range heard {
		l := &heard[i]
		all[i], byID[l.id] = spellingOf(l.Track), l
		spanned[hearing{l.user, spanOf(instant(l.at)), foldKey(all[i].Artist)}] = true
	}
	ids, err := s.shelve(ctx, tx, all)
	if err != nil {
		return 0, err
	}
	to := heard[len(heard)-1].id
	return len(heard), errors.Join(
		giveSpellings(ctx, tx, heard, ids),
		moveTheirSources(ctx, tx, byID, last, to),
		saveHeard(ctx, tx, spanned),
		execTx(ctx, tx, `INSERT INTO sequences (name, last) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET last = excluded.last`, moved, to))
}

// giveSpellings stores the spellings of listens.
func giveSpellings(ctx context.Context, tx *sql.Tx, heard []oldListen, ids []int64) error {
	args := make([]any, 0, 2*len(heard))
	for i, l := range heard {
		args = append(args, l.id, ids[i])
	}
	err := insertRows(ctx, tx, "INSERT INTO given_spellings (listen_id, spelling_id)", 2, args, "")
	if err != nil {
		return err
	}
	return errors.Join(
		execTx(ctx, tx, `UPDATE listens SET spelling_id = g.spelling_id FROM given_spellings g
			WHERE g.listen_id = listens.id AND listens.id >= $1 AND listens.id <= $2`,
			heard[0].id, heard[len(heard)-1].id),
		execTx(ctx, tx, "DELETE FROM given_spellings"))
}

// moveTheirSources moves the sources of the listens from after one number to another.
func moveTheirSources(ctx context.Context, tx *sql.Tx, listens map[int64]*oldListen, after, to int64) error {
	type source struct {
		listen           int64
		connection       library.ConnectionID
		id               string
		playedAt, stored int64
	}
	scan := func(r scanner) (v source, err error) {
		return v, r.Scan(&v.listen, &v.connection, &v.id, &v.playedAt, &v.stored)
	}
	all, err := list(ctx, tx, scan, `SELECT listen_id, connection, source_id, played_at, stored_at
		FROM old_listen_sources WHERE listen_id > $1 AND listen_id <= $2 ORDER BY listen_id`, after, to)
	if err != nil {
		return err
	}
	const width = 6
	rows := make([]any, 0, width*len(all))
	numbers := map[library.ConnectionID]int64{}
	for _, v := range all {
		if numbers[v.connection] == 0 {
			if numbers[v.connection], err = numberOf(ctx, tx, v.connection); err != nil {
				return err
			}
		}
		l := listens[v.listen]
		rows = append(rows, v.listen, numbers[v.connection], sourceKey(l.user, v.connection, v.id), v.id,
			v.playedAt-l.at, v.stored/1000)
	}
	return insertRows(ctx, tx, `INSERT INTO listen_sources
		(listen_id, connection, source_key, source_id, later, stored_at)`, width, rows, "")
}

// hearing marks a span in which a person may have heard an artist. Later migration steps read it, and one drops it.
type hearing struct{ user, span, artist int64 }

func saveHeard(ctx context.Context, tx *sql.Tx, all map[hearing]bool) error {
	const width = 3
	rows := make([]any, 0, width*len(all))
	for h := range all {
		rows = append(rows, h.user, h.span, h.artist)
	}
	return insertRows(ctx, tx, "INSERT INTO heard (user_id, span, artist_key)", width, rows, "ON CONFLICT DO NOTHING")
}
