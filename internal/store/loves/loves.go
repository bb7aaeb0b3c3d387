// Package loves keeps which tracks people love, and which they hate, and what their services have of that. What
// services call one track is one.
package loves

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/copies"
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	copies *copies.Store
}

// New returns the part of a database.
func New(d *db.DB, c *copies.Store) *Store { return &Store{db: d, copies: c} }

func scan(r db.Scanner) (v library.Love, err error) {
	var at int64
	err = r.Scan(&v.Title, &v.Artist, &v.RecordingMBID, &v.Score, &at)
	v.At = db.Instant(at)
	return v, err
}

// scanKeyed is scan with the key of the track.
func scanKeyed(r db.Scanner) (v library.LoveThere, err error) {
	var at int64
	err = r.Scan(&v.Key, &v.Title, &v.Artist, &v.RecordingMBID, &v.Score, &at)
	v.At = db.Instant(at)
	return v, err
}

const (
	loveColumns = "title, artist, recording_mbid, score, said_at"
	selectLove  = "SELECT " + loveColumns + " FROM loves "
)

// SaveLove stores what a person thinks of a track, and has it sent to the services that are kept the same. Said once
// more, it keeps the time at which it was said first.
func (s *Store) SaveLove(ctx context.Context, user int64, v library.Love) error {
	return s.db.WriteFor(ctx, user, func(ctx context.Context, tx *sql.Tx) error {
		if err := save(ctx, tx, user, music.LoveKey(v), v); err != nil {
			return err
		}
		return s.send(ctx, tx, user)
	})
}

func save(ctx context.Context, tx *sql.Tx, user, key int64, v library.Love) error {
	return db.ExecTx(ctx, tx, `INSERT INTO loves (user_id, match_key, title, artist, recording_mbid, score, said_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (user_id, match_key) DO UPDATE SET
		said_at = CASE WHEN loves.score = excluded.score THEN loves.said_at ELSE excluded.said_at END,
		score = excluded.score,
		recording_mbid = CASE WHEN excluded.recording_mbid = '' THEN loves.recording_mbid
			ELSE excluded.recording_mbid END`,
		user, key, v.Title, v.Artist, v.RecordingMBID, v.Score, db.Millis(v.At))
}

// send has the services looked at that are kept the same as here.
func (s *Store) send(ctx context.Context, tx *sql.Tx, user int64) error {
	return s.copies.EnqueueCopies(ctx, tx, user, delivery.WriteLoves, delivery.LovesRef)
}

// Loves returns a page of what a filter selects, the latest first, and the number of all.
func (s *Store) Loves(ctx context.Context, f library.LoveFilter, offset, limit int) (page []library.Love, total int,
	err error) {
	const listed = `EXISTS (SELECT 1 FROM loves_there t WHERE t.user_id = loves.user_id
		AND t.match_key = loves.match_key AND t.score = loves.score AND t.gone = 0 AND t.connection = `
	where, args := "WHERE user_id = $1 AND score <> 0 AND (score = $2 OR $2 = 0)", []any{f.User, f.Score}
	if f.At != "" {
		args = append(args, f.At)
		where += " AND " + listed + "$" + strconv.Itoa(len(args)) + ")"
	}
	if f.NotAt != "" {
		args = append(args, f.NotAt)
		where += " AND NOT " + listed + "$" + strconv.Itoa(len(args)) + ")"
	}
	if !f.Since.IsZero() {
		args = append(args, db.Millis(f.Since))
		where += " AND said_at >= $" + strconv.Itoa(len(args))
	}
	if !f.Until.IsZero() {
		args = append(args, db.Millis(f.Until))
		where += " AND said_at < $" + strconv.Itoa(len(args))
	}
	const order = " ORDER BY said_at DESC, match_key"
	if text := music.Normal(f.Text); text != "" {
		all, err := db.List(ctx, s.db.Reader, scan, selectLove+where+order, args...)
		all = slices.DeleteFunc(all, func(v library.Love) bool {
			return !strings.Contains(music.Normal(v.Title+" "+v.Artist), text)
		})
		from := min(offset, len(all))
		return all[from:min(from+limit, len(all))], len(all), err
	}
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM loves "+where, args...).Scan(&total)
	if err != nil {
		return nil, 0, db.Explain(err)
	}
	n := len(args)
	page, err = db.List(ctx, s.db.Reader, scan, selectLove+where+order+" LIMIT $"+strconv.Itoa(n+1)+" OFFSET $"+
		strconv.Itoa(n+2), append(args, limit, offset)...)
	return page, total, err
}

// LoveOf returns what a person thinks of a track; its score is 0 if they have not said.
func (s *Store) LoveOf(ctx context.Context, user int64, title, artist string) (library.Love, error) {
	v, err := scan(s.db.Reader.QueryRowContext(ctx, selectLove+"WHERE user_id = $1 AND match_key = $2", user,
		music.LoveKey(library.Love{Title: title, Artist: artist})))
	if errors.Is(err, sql.ErrNoRows) {
		return library.Love{Title: title, Artist: artist}, nil
	}
	return v, db.Explain(err)
}

// Loved returns which of some tracks a person loves.
func (s *Store) Loved(ctx context.Context, user int64, tracks []library.Track) ([]bool, error) {
	loved, keys := make([]bool, len(tracks)), make([]int64, len(tracks))
	args := []any{user}
	for i, t := range tracks {
		keys[i] = music.LoveKey(library.Love{Title: t.Title, Artist: t.Artist})
		args = append(args, keys[i])
	}
	if len(tracks) == 0 {
		return loved, nil
	}
	scan := func(r db.Scanner) (key int64, err error) { return key, r.Scan(&key) }
	all, err := db.List(ctx, s.db.Reader, scan,
		"SELECT match_key FROM loves WHERE user_id = $1 AND score = 1 AND match_key IN "+db.Numbered(2, len(tracks)),
		args...)
	for i, key := range keys {
		loved[i] = slices.Contains(all, key)
	}
	return loved, err
}

// TrackByMBID returns the names of a recording that somebody here has heard, or library.ErrNotFound.
func (s *Store) TrackByMBID(ctx context.Context, mbid string) (t library.Track, err error) {
	err = s.db.Reader.QueryRowContext(ctx, `SELECT title, artist, recording_mbid FROM spellings
		WHERE recording_mbid = $1 AND recording_mbid <> '' ORDER BY id LIMIT 1`, mbid).
		Scan(&t.Title, &t.Artist, &t.RecordingMBID)
	return t, db.Found(err)
}

// TrackNamed returns the first track for which is returns true, of those that somebody here has heard, or
// library.ErrNotFound. It reads the names of all.
func (s *Store) TrackNamed(ctx context.Context, is func(library.Track) bool) (t library.Track, err error) {
	rows, err := s.db.Reader.QueryContext(ctx, "SELECT title, artist, recording_mbid FROM spellings ORDER BY id DESC")
	if err != nil {
		return t, db.Explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&t.Title, &t.Artist, &t.RecordingMBID); err != nil {
			return t, db.Explain(err)
		}
		if is(t) {
			return t, nil
		}
	}
	if err := rows.Err(); err != nil {
		return t, db.Explain(err)
	}
	return t, library.ErrNotFound
}
