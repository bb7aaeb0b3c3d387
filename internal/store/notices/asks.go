package notices

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"reprise/internal/accounts"
	"reprise/internal/asks"
	"reprise/internal/store/db"
)

const askColumns = " user_id, provider, need, asked_at, done_at "

func scanAsk(r db.Scanner) (a asks.Ask, err error) {
	var asked, done int64
	err = r.Scan(&a.User, &a.Provider, &a.Need, &asked, &done)
	a.AskedAt, a.DoneAt = db.Instant(asked), db.Instant(done)
	return a, err
}

// SaveAsk implements asks.Store.
func (s *Store) SaveAsk(ctx context.Context, a asks.Ask) (stored asks.Ask, fresh bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		stored, err = scanAsk(tx.QueryRowContext(ctx, `INSERT INTO asks (user_id, provider, need, asked_at)
			VALUES ($1, $2, $3, $4) ON CONFLICT (user_id, provider) DO UPDATE
			SET need = excluded.need, asked_at = excluded.asked_at, done_at = 0 WHERE asks.done_at > 0
			RETURNING`+askColumns, a.User, a.Provider, string(a.Need), db.Millis(a.AskedAt)))
		if fresh = err == nil; fresh || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		stored, err = scanAsk(tx.QueryRowContext(ctx,
			"SELECT"+askColumns+"FROM asks WHERE user_id = $1 AND provider = $2", a.User, a.Provider))
		return err
	})
	return stored, fresh && err == nil, err
}

// Asks implements asks.Store.
func (s *Store) Asks(ctx context.Context) ([]asks.Ask, error) {
	return db.List(ctx, s.db.Reader, scanAsk, "SELECT"+askColumns+"FROM asks ORDER BY asked_at, user_id, provider")
}

// ChangeAsk implements asks.Store.
func (s *Store) ChangeAsk(ctx context.Context, a asks.Ask) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.ExecTx(ctx, tx, "UPDATE asks SET need = $1, done_at = $2 WHERE user_id = $3 AND provider = $4",
			string(a.Need), db.Millis(a.DoneAt), a.User, a.Provider)
	})
}

// DropAsk implements asks.Store.
func (s *Store) DropAsk(ctx context.Context, user int64, provider string) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.ExecTx(ctx, tx, "DELETE FROM asks WHERE user_id = $1 AND provider = $2", user, provider)
	})
}

// FirstSteps returns how far a person's first steps have come. Those of a person who has none have ended.
func (s *Store) FirstSteps(ctx context.Context, user int64) (f accounts.FirstSteps, err error) {
	var chosen, leftOut string
	var ended int64
	err = s.db.Reader.QueryRowContext(ctx,
		"SELECT contact, chosen, left_out, ended_at FROM first_steps WHERE user_id = $1", user).
		Scan(&f.Contact, &chosen, &leftOut, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return accounts.FirstSteps{Ended: true}, nil
	}
	f.Begun, f.Chosen, f.LeftOut, f.Ended = err == nil, split(chosen), split(leftOut), ended > 0
	return f, db.Explain(err)
}

// SaveFirstSteps stores how far a person's first steps have come.
func (s *Store) SaveFirstSteps(ctx context.Context, user int64, f accounts.FirstSteps) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.ExecTx(ctx, tx, `INSERT INTO first_steps (user_id, contact, chosen, left_out, ended_at)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_id) DO UPDATE SET contact = excluded.contact,
			chosen = excluded.chosen, left_out = excluded.left_out, ended_at = excluded.ended_at`,
			user, db.Flag(f.Contact), strings.Join(f.Chosen, ","), strings.Join(f.LeftOut, ","), db.Flag(f.Ended))
	})
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
