package settings

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"reprise/internal/store/db"
)

// AnswerLife is how long the answer of a call with an Idempotency-Key is kept.
const AnswerLife = 24 * time.Hour

// MostAnswers is how many of them are kept for one person, the newest; see core.Once for their size.
const MostAnswers = 1000

func answerPlace(user int64, id string) string { return fmt.Sprintf("answers.answer.%d.%s", user, id) }

// Answered returns what KeepAnswer kept under a key within the last day, or library.ErrNotFound.
func (s *Store) Answered(ctx context.Context, user int64, key string) ([]byte, error) {
	id, sealed := db.Fingerprint(key), ""
	err := s.db.Reader.QueryRowContext(ctx,
		"SELECT answer FROM answers WHERE user_id = $1 AND id = $2 AND kept_at > $3",
		user, id, db.Millis(time.Now().Add(-AnswerLife))).Scan(&sealed)
	if err != nil {
		return nil, db.Found(err)
	}
	return s.db.Key.Open(sealed, answerPlace(user, id))
}

// KeepAnswer keeps the answer of a person's call for a day, sealed, in place of the oldest if there are too many.
func (s *Store) KeepAnswer(ctx context.Context, user int64, key string, answer []byte) error {
	id := db.Fingerprint(key)
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.ExecTx(ctx, tx, `DELETE FROM answers WHERE user_id = $1 AND id NOT IN (SELECT id FROM answers
			WHERE user_id = $1 ORDER BY kept_at DESC, id LIMIT $2)`, user, MostAnswers-1)
		if err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO answers (user_id, id, answer, kept_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (user_id, id) DO UPDATE SET answer = excluded.answer, kept_at = excluded.kept_at`,
			user, id, s.db.Key.Seal(answer, answerPlace(user, id)), db.Millis(time.Now()))
	})
}
