// Package loves keeps which tracks people love, and which they hate. What services call one track is one.
package loves

import (
	"context"
	"database/sql"
	"errors"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns the part of a database.
func New(d *db.DB) *Store { return &Store{db: d} }

func keyOf(title, artist string) int64 { return music.MatchKey(title, music.Indexed(artist)) }

func scan(r db.Scanner) (v library.Love, err error) {
	var at int64
	err = r.Scan(&v.Title, &v.Artist, &v.RecordingMBID, &v.Score, &at)
	v.At = db.Instant(at)
	return v, err
}

const selectLove = "SELECT title, artist, recording_mbid, score, said_at FROM loves "

// SaveLove stores what a person thinks of a track. Said once more, it keeps the time at which it was said first.
func (s *Store) SaveLove(ctx context.Context, user int64, v library.Love) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		key := keyOf(v.Title, v.Artist)
		if v.Score == library.Unrated {
			return db.ExecTx(ctx, tx, "DELETE FROM loves WHERE user_id = $1 AND match_key = $2", user, key)
		}
		return db.ExecTx(ctx, tx, `INSERT INTO loves (user_id, match_key, title, artist, recording_mbid, score, said_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (user_id, match_key) DO UPDATE SET
			said_at = CASE WHEN loves.score = excluded.score THEN loves.said_at ELSE excluded.said_at END,
			score = excluded.score,
			recording_mbid = CASE WHEN excluded.recording_mbid = '' THEN loves.recording_mbid
				ELSE excluded.recording_mbid END`,
			user, key, v.Title, v.Artist, v.RecordingMBID, v.Score, db.Millis(v.At))
	})
}

// Loves returns a page of the tracks with a score, or with any if that is 0, the latest first, and their number.
func (s *Store) Loves(ctx context.Context, user int64, score, offset, limit int) (page []library.Love, total int,
	err error) {
	const which = "WHERE user_id = $1 AND (score = $2 OR $2 = 0)"
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM loves "+which, user, score).Scan(&total)
	if err != nil {
		return nil, 0, db.Explain(err)
	}
	page, err = db.List(ctx, s.db.Reader, scan, selectLove+which+" ORDER BY said_at DESC, match_key LIMIT $3 OFFSET $4",
		user, score, limit, offset)
	return page, total, err
}

// LoveOf returns what a person thinks of a track; its score is 0 if they have not said.
func (s *Store) LoveOf(ctx context.Context, user int64, title, artist string) (library.Love, error) {
	v, err := scan(s.db.Reader.QueryRowContext(ctx, selectLove+"WHERE user_id = $1 AND match_key = $2", user,
		keyOf(title, artist)))
	if errors.Is(err, sql.ErrNoRows) {
		return library.Love{Title: title, Artist: artist}, nil
	}
	return v, db.Explain(err)
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
