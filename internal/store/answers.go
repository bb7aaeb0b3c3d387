package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// answerLife is how long the answer of a call with an Idempotency-Key is kept.
const answerLife = 24 * time.Hour

// mostAnswers is how many of them are kept for one person, the newest; see core.Once for their size.
const mostAnswers = 1000

func answerPlace(user int64, id string) string { return fmt.Sprintf("answers.answer.%d.%s", user, id) }

// Answered returns what KeepAnswer kept under a key within the last day, or library.ErrNotFound.
func (s *Store) Answered(ctx context.Context, user int64, key string) ([]byte, error) {
	id, sealed := fingerprint(key), ""
	err := s.reader.QueryRowContext(ctx, "SELECT answer FROM answers WHERE user_id = $1 AND id = $2 AND kept_at > $3",
		user, id, millis(time.Now().Add(-answerLife))).Scan(&sealed)
	if err != nil {
		return nil, found(err)
	}
	return s.key.open(sealed, answerPlace(user, id))
}

// KeepAnswer keeps the answer of a person's call for a day, sealed, in place of the oldest if there are too many.
func (s *Store) KeepAnswer(ctx context.Context, user int64, key string, answer []byte) error {
	id := fingerprint(key)
	return s.write(ctx, func(tx *sql.Tx) error {
		err := execTx(ctx, tx, `DELETE FROM answers WHERE user_id = $1 AND id NOT IN (SELECT id FROM answers
			WHERE user_id = $1 ORDER BY kept_at DESC, id LIMIT $2)`, user, mostAnswers-1)
		if err != nil {
			return err
		}
		return execTx(ctx, tx, `INSERT INTO answers (user_id, id, answer, kept_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (user_id, id) DO UPDATE SET answer = excluded.answer, kept_at = excluded.kept_at`,
			user, id, s.key.seal(answer, answerPlace(user, id)), millis(time.Now()))
	})
}
