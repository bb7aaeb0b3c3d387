package people

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

const selectFactor = `SELECT id, user_id, kind, name, credential, secret, confirmed, step, created_at, used_at
	FROM factors `

func (s *Ways) scanFactor(r db.Scanner) (f accounts.Factor, err error) {
	var created, used, confirmed int64
	var sealed string
	err = r.Scan(&f.ID, &f.User, &f.Kind, &f.Name, &f.Credential, &sealed, &confirmed, &f.Step, &created, &used)
	if err != nil {
		return f, err
	}
	f.Confirmed, f.CreatedAt, f.UsedAt = confirmed != 0, db.Instant(created), db.Instant(used)
	f.Secret, err = s.db.Key.Open(sealed, factorPlace(f.ID))
	return f, err
}

func factorPlace(id int64) string { return "factors.secret." + strconv.FormatInt(id, 10) }

// AddFactor implements accounts.FactorStore.
func (s *Ways) AddFactor(ctx context.Context, f accounts.Factor) (accounts.Factor, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		u, err := Person(ctx, tx, f.User)
		if err == nil && u.Role == Leaving {
			err = accounts.ErrUnknown
		}
		if err != nil {
			return err
		}
		var all, same int
		err = tx.QueryRowContext(ctx, `SELECT
			(SELECT count(*) FROM factors WHERE user_id = $1 AND kind = $2),
			(SELECT count(*) FROM factors WHERE credential = $3 AND credential <> '')`, f.User, f.Kind, f.Credential).
			Scan(&all, &same)
		switch {
		case err != nil:
			return err
		case same > 0:
			return accounts.ErrTaken
		case f.Kind == accounts.Passkey && all >= accounts.MostPasskeys:
			return accounts.InputError{Text: words.New("input.passkeys", "Number", all)}
		case f.Kind == accounts.Codes:
			err := db.ExecTx(ctx, tx, "DELETE FROM factors WHERE user_id = $1 AND kind = $2 AND confirmed = 0", f.User,
				f.Kind)
			if err != nil {
				return err
			}
		}
		if f.ID, err = db.NextIDs(ctx, tx, "factors", 1); err != nil {
			return err
		}
		f.CreatedAt = time.Now()
		return db.ExecTx(ctx, tx, `INSERT INTO factors
			(id, user_id, kind, name, credential, secret, confirmed, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, f.ID, f.User, f.Kind, f.Name, f.Credential,
			s.db.Key.Seal(f.Secret, factorPlace(f.ID)), db.Flag(f.Confirmed), db.Millis(f.CreatedAt))
	})
	return f, err
}

// Factors implements accounts.FactorStore.
func (s *Ways) Factors(ctx context.Context, user int64) ([]accounts.Factor, error) {
	return db.List(ctx, s.db.Reader, s.scanFactor, selectFactor+"WHERE user_id = $1 ORDER BY id", user)
}

// FactorByCredential implements accounts.FactorStore.
func (s *Ways) FactorByCredential(ctx context.Context, credential string) (accounts.Factor, error) {
	f, err := s.scanFactor(s.db.Reader.QueryRowContext(ctx,
		selectFactor+"WHERE credential = $1 AND credential <> ''", credential))
	return f, db.Found(err)
}

// ConfirmCodes implements accounts.FactorStore.
func (s *Ways) ConfirmCodes(ctx context.Context, user, id, step int64, recovery []string) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.Changed(tx.ExecContext(ctx, `UPDATE factors SET confirmed = 1, step = $1, used_at = $2
			WHERE id = $3 AND user_id = $4 AND kind = $5 AND confirmed = 0`, step, db.Millis(time.Now()), id, user,
			accounts.Codes))
		if err != nil {
			return err
		}
		return errors.Join(
			db.ExecTx(ctx, tx, "DELETE FROM factors WHERE user_id = $1 AND kind = $2 AND id <> $3", user,
				accounts.Codes, id),
			setRecovery(ctx, tx, user, recovery))
	})
}

// SetRecovery implements accounts.FactorStore.
func (s *Ways) SetRecovery(ctx context.Context, user int64, hashes []string) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error { return setRecovery(ctx, tx, user, hashes) })
}

func setRecovery(ctx context.Context, tx *sql.Tx, user int64, hashes []string) error {
	err := db.ExecTx(ctx, tx, "DELETE FROM recovery_codes WHERE user_id = $1", user)
	for _, hash := range hashes {
		if err == nil {
			err = db.ExecTx(ctx, tx, "INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)", user, hash)
		}
	}
	return err
}

// UseStep implements accounts.FactorStore.
func (s *Ways) UseStep(ctx context.Context, id, step int64) (fresh bool, err error) {
	n, err := db.Affected(s.db.Change(ctx, "UPDATE factors SET step = $1, used_at = $2 WHERE id = $3 AND step < $1",
		step, db.Millis(time.Now()), id))
	return n > 0, db.Explain(err)
}

// UseRecovery implements accounts.FactorStore.
func (s *Ways) UseRecovery(ctx context.Context, user int64, hash string) (left int, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		n, err := db.Affected(tx.ExecContext(ctx, "DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2", user,
			hash))
		if err == nil && n == 0 {
			err = accounts.ErrWrong
		}
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM recovery_codes WHERE user_id = $1", user).Scan(&left)
	})
	return left, err
}

// RecoveryLeft implements accounts.FactorStore.
func (s *Ways) RecoveryLeft(ctx context.Context, user int64) (left int, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM recovery_codes WHERE user_id = $1", user).Scan(&left)
	return left, db.Explain(err)
}

// UsePasskey implements accounts.FactorStore.
func (s *Ways) UsePasskey(ctx context.Context, f accounts.Factor, secret []byte) error {
	return db.Changed(s.db.Change(ctx, "UPDATE factors SET secret = $1, used_at = $2 WHERE id = $3 AND used_at = $4",
		s.db.Key.Seal(secret, factorPlace(f.ID)), db.Millis(time.Now()), f.ID, db.Millis(f.UsedAt)))
}

// RenameFactor implements accounts.FactorStore.
func (s *Ways) RenameFactor(ctx context.Context, user, id int64, name string) error {
	return db.Changed(s.db.Change(ctx, "UPDATE factors SET name = $1 WHERE user_id = $2 AND id = $3 AND kind = $4",
		name, user, id, accounts.Passkey))
}

// RemoveFactor implements accounts.FactorStore.
func (s *Ways) RemoveFactor(ctx context.Context, user, id int64, works accounts.Works) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		var kind string
		err := tx.QueryRowContext(ctx, "DELETE FROM factors WHERE user_id = $1 AND id = $2 RETURNING kind", user, id).
			Scan(&kind)
		if errors.Is(err, sql.ErrNoRows) {
			return library.ErrNotFound
		}
		if err == nil && kind == accounts.Codes {
			err = setRecovery(ctx, tx, user, nil)
		}
		if err != nil {
			return err
		}
		return s.otherWay(ctx, tx, user, works)
	})
}

// RemoveCodes implements accounts.FactorStore.
func (s *Ways) RemoveCodes(ctx context.Context, user int64) (counted bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		n, err := db.Affected(tx.ExecContext(ctx, `DELETE FROM factors
			WHERE user_id = $1 AND kind = $2 AND confirmed = 1`, user, accounts.Codes))
		counted = n > 0
		return errors.Join(err,
			db.ExecTx(ctx, tx, "DELETE FROM factors WHERE user_id = $1 AND kind = $2", user, accounts.Codes),
			setRecovery(ctx, tx, user, nil))
	})
	return counted && err == nil, err
}

// SignedInBefore reports whether a person has signed in within what the log has kept, and whether by the same visit.
func (s *Ways) SignedInBefore(ctx context.Context, user int64, visit string) (ever, same bool, err error) {
	err = s.db.Reader.QueryRowContext(ctx, `SELECT
		EXISTS (SELECT 1 FROM activity WHERE user_id = $1 AND action = $2),
		EXISTS (SELECT 1 FROM activity WHERE user_id = $1 AND action = $2 AND subject = $3)`,
		user, string(activity.SignedIn), visit).Scan(&ever, &same)
	return ever, same, db.Explain(err)
}
