package copies

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

// MostQuestions is how many questions about songs are kept for a connection.
const MostQuestions = 2_000

const selectQuestion = `SELECT id, user_id, connection, song, title, artist, album, duration_ms, offered, answer,
	chosen, refused, asked_at, answered_at FROM song_questions `

// offeredSong is a song as it is stored with a question.
type offeredSong struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Artist   string `json:"artist"`
	Album    string `json:"album,omitempty"`
	Duration int64  `json:"duration_ms,omitempty"`
}

func scanQuestion(r db.Scanner) (q delivery.Question, err error) {
	var asked, answered, length int64
	var offered, refused string
	err = r.Scan(&q.ID, &q.User, &q.Connection, &q.Song, &q.Track.Title, &q.Track.Artist, &q.Track.Album, &length,
		&offered, &q.Answer, &q.Chosen, &refused, &asked, &answered)
	if err != nil {
		return q, err
	}
	q.Track.Duration = time.Duration(length) * time.Millisecond
	q.AskedAt, q.AnsweredAt = db.Instant(asked), db.Instant(answered)
	var songs []offeredSong
	if err := json.Unmarshal([]byte(offered), &songs); err != nil {
		return q, fmt.Errorf("songs of a question: %w", err)
	}
	for _, s := range songs {
		q.Offered = append(q.Offered, library.Track{SourceID: s.ID, Title: s.Title, Artist: s.Artist, Album: s.Album,
			Duration: time.Duration(s.Duration) * time.Millisecond})
	}
	return q, json.Unmarshal([]byte(refused), &q.Refused)
}

// Questions returns the questions about songs at a connection, by their keys.
func (s *Store) Questions(ctx context.Context, user int64, conn library.ConnectionID, songs []string) (
	map[string]delivery.Question, error) {
	all := make(map[string]delivery.Question)
	for chunk := range slices.Chunk(songs, 100) {
		args := []any{user, conn}
		for _, song := range chunk {
			args = append(args, song)
		}
		rows, err := db.List(ctx, s.db.Reader, scanQuestion, selectQuestion+
			"WHERE user_id = $1 AND connection = $2 AND song IN "+db.Numbered(3, len(chunk)), args...)
		if err != nil {
			return nil, err
		}
		for _, q := range rows {
			all[q.Song] = q
		}
	}
	return all, nil
}

// Question returns one question, or library.ErrNotFound.
func (s *Store) Question(ctx context.Context, user int64, conn library.ConnectionID, id int64) (
	delivery.Question, error) {
	q, err := scanQuestion(s.db.Reader.QueryRowContext(ctx, selectQuestion+
		"WHERE user_id = $1 AND connection = $2 AND id = $3", user, conn, id))
	return q, db.Found(err)
}

// AllQuestions returns the questions about songs at a connection, the open ones first, then the latest first.
func (s *Store) AllQuestions(ctx context.Context, user int64, conn library.ConnectionID) ([]delivery.Question, error) {
	return db.List(ctx, s.db.Reader, scanQuestion, selectQuestion+`WHERE user_id = $1 AND connection = $2
		ORDER BY CASE WHEN answer = '' THEN 0 ELSE 1 END, asked_at DESC, id DESC`, user, conn)
}

// Ask stores a question that is open, in place of an earlier one about its song, and returns its id. q.AnsweredAt is
// when the earlier one was answered. It returns 0 and stores nothing when that was answered meanwhile, or when the
// connection has 2,000 questions.
func (s *Store) Ask(ctx context.Context, q delivery.Question) (id int64, err error) {
	songs := make([]offeredSong, len(q.Offered))
	for i, t := range q.Offered {
		songs[i] = offeredSong{t.SourceID, t.Title, t.Artist, t.Album, t.Duration.Milliseconds()}
	}
	offered, err := json.Marshal(songs)
	if err != nil {
		return 0, err
	}
	refused, err := json.Marshal(append([]string{}, q.Refused...))
	if err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		var others int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM song_questions
			WHERE user_id = $1 AND connection = $2 AND song <> $3`, q.User, q.Connection, q.Song).Scan(&others)
		if err != nil || others >= MostQuestions {
			return err
		}
		next, err := db.NextIDs(ctx, tx, "song_questions", 1)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `INSERT INTO song_questions
			(id, user_id, connection, song, title, artist, album, duration_ms, offered, refused, asked_at)
			VALUES ($11, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (user_id, connection, song) DO UPDATE
			SET title = excluded.title, artist = excluded.artist, album = excluded.album,
				duration_ms = excluded.duration_ms, offered = excluded.offered, refused = excluded.refused,
				answer = '', chosen = '', asked_at = excluded.asked_at, answered_at = 0
			WHERE song_questions.answered_at = $12
			RETURNING id`, q.User, q.Connection, q.Song, q.Track.Title, q.Track.Artist, q.Track.Album,
			q.Track.Duration.Milliseconds(), string(offered), string(refused), db.Millis(q.AskedAt), next,
			db.Millis(q.AnsweredAt)).Scan(&id)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil // answered meanwhile
	}
	return id, err
}

// Answer stores the answer to a question. With delivery.NoneOfThem, all that was offered counts as refused.
func (s *Store) Answer(ctx context.Context, q delivery.Question) error {
	refused, err := json.Marshal(append([]string{}, q.Refused...))
	if err != nil {
		return err
	}
	return s.db.Exec(ctx, `UPDATE song_questions SET answer = $4, chosen = $5, refused = $6, answered_at = $7
		WHERE user_id = $1 AND connection = $2 AND id = $3`, q.User, q.Connection, q.ID, string(q.Answer), q.Chosen,
		string(refused), db.Millis(q.AnsweredAt))
}

// DropQuestion deletes a question with its answer.
func (s *Store) DropQuestion(ctx context.Context, user int64, conn library.ConnectionID, id int64) error {
	return s.db.Exec(ctx, "DELETE FROM song_questions WHERE user_id = $1 AND connection = $2 AND id = $3", user, conn,
		id)
}

// ForgetMisses deletes what is known to be missing at a connection, or at all of them if conn is empty, so that it is
// searched for again.
func (s *Store) ForgetMisses(ctx context.Context, user int64, conn library.ConnectionID) error {
	return s.db.Exec(ctx, `DELETE FROM track_matches WHERE user_id = $1 AND source_id = ''
		AND (connection = $2 OR CAST($2 AS TEXT) = '')`, user, conn)
}

// DeadListens returns what the dead letters with one listen at a connection are about, by their ids.
func (s *Store) DeadListens(ctx context.Context, user int64, conn library.ConnectionID) (
	map[int64]library.Track, error) {
	type row struct {
		id int64
		library.Track
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.id, &v.Title, &v.Artist) }
	rows, err := db.List(ctx, s.db.Reader, scan, `SELECT d.id, p.title, p.artist FROM deliveries d
		JOIN forwards f ON f.delivery_id = d.id JOIN listens l ON l.id = f.listen_id
		JOIN spellings p ON p.id = l.spelling_id
		WHERE d.user_id = $1 AND d.connection = $2 AND d.items = 1 AND d.category = 'item'
		AND d.state = 'dead'`, user, conn)
	all := make(map[int64]library.Track, len(rows))
	for _, r := range rows {
		all[r.id] = r.Track
	}
	return all, err
}
