package people

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

const selectIdentity = `SELECT issuer, subject, user_id, name, created_at, used_at FROM identities `

func scanIdentity(r db.Scanner) (i accounts.Identity, err error) {
	var created, used int64
	err = r.Scan(&i.Issuer, &i.Subject, &i.User, &i.Name, &created, &used)
	i.CreatedAt, i.UsedAt = db.Instant(created), db.Instant(used)
	return i, err
}

// UserOfIdentity implements accounts.IdentityStore.
func (s *Ways) UserOfIdentity(ctx context.Context, issuer, subject string) (accounts.User, error) {
	u, err := scanUser(s.db.Reader.QueryRowContext(ctx, selectUser+`WHERE role <> $1 AND id =
		(SELECT user_id FROM identities WHERE issuer = $2 AND subject = $3)`, Leaving, issuer, subject))
	return u, known(err)
}

// AddIdentity implements accounts.IdentityStore.
func (s *Ways) AddIdentity(ctx context.Context, i accounts.Identity) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		u, err := Person(ctx, tx, i.User)
		if err == nil && u.Role == Leaving {
			err = accounts.ErrUnknown
		}
		if err != nil {
			return err
		}
		return addIdentity(ctx, tx, i)
	})
}

func addIdentity(ctx context.Context, tx *sql.Tx, i accounts.Identity) error {
	now := db.Millis(time.Now())
	n, err := db.Affected(tx.ExecContext(ctx, `INSERT INTO identities
		(issuer, subject, user_id, name, created_at, used_at) VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name, used_at = excluded.used_at
		WHERE identities.user_id = excluded.user_id`, i.Issuer, i.Subject, i.User, i.Name, now))
	if err == nil && n == 0 {
		err = accounts.ErrOthers
	}
	return err
}

// AddUserOf implements accounts.IdentityStore.
func (s *Ways) AddUserOf(ctx context.Context, u accounts.User, i accounts.Identity, invitation string) (
	accounts.User, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		if err := notEmpty(ctx, tx); err != nil {
			return err
		}
		if invitation != "" {
			l, err := takeLink(ctx, tx, accounts.Invitation, invitation)
			if err != nil {
				return err
			}
			u.Role = l.Role
		}
		var err error
		if u, err = insertUser(ctx, tx, u, false); err != nil || i.Issuer == "" {
			return err
		}
		i.User = u.ID
		return addIdentity(ctx, tx, i)
	})
	return u, err
}

// notEmpty returns ErrEmpty if there is no account yet.
func notEmpty(ctx context.Context, tx *sql.Tx) error {
	var n int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM users").Scan(&n)
	if err == nil && n == 0 {
		err = accounts.ErrEmpty
	}
	return err
}

// Identities implements accounts.IdentityStore.
func (s *Ways) Identities(ctx context.Context, user int64) ([]accounts.Identity, error) {
	return db.List(ctx, s.db.Reader, scanIdentity, selectIdentity+"WHERE user_id = $1 ORDER BY created_at, subject",
		user)
}

// RemoveIdentity implements accounts.IdentityStore.
func (s *Ways) RemoveIdentity(ctx context.Context, user int64, issuer, subject string,
	works accounts.Works) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		n, err := db.Affected(tx.ExecContext(ctx, `DELETE FROM identities
			WHERE user_id = $1 AND issuer = $2 AND subject = $3`, user, issuer, subject))
		if err == nil && n == 0 {
			err = library.ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.otherWay(ctx, tx, user, works)
	})
}

// otherWay returns ErrLastWay if a person has no password, no passkey and no identity that works.
func (s *Ways) otherWay(ctx context.Context, tx *sql.Tx, user int64, works accounts.Works) error {
	var hash string
	err := tx.QueryRowContext(ctx, "SELECT password_hash FROM users WHERE id = $1", user).Scan(&hash)
	if err != nil || hash != "" {
		return err
	}
	in, err := s.comesIn(ctx, tx, user, works)
	if err == nil && !in {
		err = accounts.ErrLastWay
	}
	return err
}

// comesIn reports whether a person can come in without a password.
func (s *Ways) comesIn(ctx context.Context, q db.Querier, user int64, works accounts.Works) (bool, error) {
	all, err := db.List(ctx, q, scanIdentity, selectIdentity+"WHERE user_id = $1", user)
	if err != nil || slices.ContainsFunc(all, func(i accounts.Identity) bool {
		return slices.Contains(works.Issuers, i.Issuer)
	}) {
		return err == nil, err
	}
	factors, err := db.List(ctx, q, s.scanFactor, selectFactor+"WHERE user_id = $1 AND kind = $2 AND confirmed = 1",
		user, accounts.Passkey)
	return err == nil && slices.ContainsFunc(factors, func(f accounts.Factor) bool { return works.Passkey(f.Secret) }),
		err
}

// Stranded implements accounts.IdentityStore.
func (s *Ways) Stranded(ctx context.Context, works accounts.Works) (names []string, err error) {
	all, err := db.List(ctx, s.db.Reader, scanUser, selectUser+"WHERE password_hash = '' AND role <> $1 ORDER BY name",
		Leaving)
	for _, u := range all {
		in, err := s.comesIn(ctx, s.db.Reader, u.ID, works)
		if err != nil {
			return nil, err
		}
		if !in {
			names = append(names, u.Name)
		}
	}
	return names, err
}
