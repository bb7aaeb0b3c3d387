package people

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// selectLink reads links; the name of a reset is that of its account.
const selectLink = `SELECT l.id, l.kind, l.hash, l.code, l.user_id, coalesce(u.name, l.name), l.role, l.made_by,
	coalesce(a.name, ''), l.created_at, l.expires_at
	FROM links l LEFT JOIN users u ON u.id = l.user_id LEFT JOIN users a ON a.id = l.made_by `

func (s *Store) scanLink(r db.Scanner) (l accounts.Link, err error) {
	var created, expires int64
	var sealed string
	err = r.Scan(&l.ID, &l.Kind, &l.Hash, &sealed, &l.User, &l.Name, &l.Role, &l.MadeBy, &l.By, &created, &expires)
	l.CreatedAt, l.ExpiresAt = db.Instant(created), db.Instant(expires)
	l.Code = OpenCode(s.db.Key, sealed, linkPlace(l.ID), l.Hash)
	return l, err
}

func linkPlace(id int64) string { return "links.code." + strconv.FormatInt(id, 10) }

// OpenCode returns the code that was sealed for a place; empty if it can't be opened, or if its hash is another one.
// What follows a "#" in it, such as a key, has no part in the hash.
func OpenCode(key *db.Key, sealed, place, hash string) string {
	code, err := key.Open(sealed, place)
	hashed, _, _ := strings.Cut(string(code), "#")
	if err != nil || accounts.HashToken(hashed) != hash {
		return ""
	}
	return string(code)
}

// works is the condition that a link works at time $1.
const works = "l.expires_at > $1"

// AddLink implements accounts.LinkStore.
func (s *Store) AddLink(ctx context.Context, l accounts.Link, most int) (accounts.Link, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		if l.Kind == accounts.Reset {
			err = resetting(ctx, tx, &l)
		} else {
			err = room(ctx, tx, most)
		}
		if err != nil {
			return err
		}
		if l.ID, err = db.NextIDs(ctx, tx, "links", 1); err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO links
			(id, kind, hash, code, user_id, name, role, made_by, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, l.ID, l.Kind, l.Hash,
			s.db.Key.Seal([]byte(l.Code), linkPlace(l.ID)), l.User, l.Name, l.Role, l.MadeBy, db.Millis(l.CreatedAt),
			db.Millis(l.ExpiresAt))
	})
	return l, err
}

// resetting fills in the name of the person of a reset, and removes an earlier one.
func resetting(ctx context.Context, tx *sql.Tx, l *accounts.Link) error {
	u, err := Person(ctx, tx, l.User)
	if err == nil && u.Role == Leaving {
		err = accounts.ErrUnknown
	}
	if err != nil {
		return err
	}
	l.Name = u.Name
	return dropResets(ctx, tx, l.User)
}

// dropResets removes the links that change a person's password.
func dropResets(ctx context.Context, tx *sql.Tx, user int64) error {
	return db.ExecTx(ctx, tx, "DELETE FROM links WHERE user_id = $1 AND kind = $2", user, accounts.Reset)
}

// room returns an InputError if there are as many open invitations as most.
func room(ctx context.Context, tx *sql.Tx, most int) error {
	var open int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM links l WHERE "+works+" AND kind = $2", db.Millis(time.Now()),
		accounts.Invitation).Scan(&open)
	if err == nil && open >= most {
		err = accounts.InputError{Text: words.New("input.invitations")}
	}
	return err
}

// LinkByHash implements accounts.LinkStore.
func (s *Store) LinkByHash(ctx context.Context, hash string) (accounts.Link, error) {
	l, err := s.scanLink(s.db.Reader.QueryRowContext(ctx, selectLink+"WHERE "+works+" AND l.hash = $2",
		db.Millis(time.Now()), hash))
	return l, linked(err)
}

func linked(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return accounts.ErrLink
	}
	return db.Explain(err)
}

// Invitations returns the open invitations, the newest first.
func (s *Store) Invitations(ctx context.Context) ([]accounts.Link, error) {
	return db.List(ctx, s.db.Reader, s.scanLink, selectLink+"WHERE "+works+" AND l.kind = $2 ORDER BY l.id DESC",
		db.Millis(time.Now()), accounts.Invitation)
}

// OpenLink returns a link of a kind that works by its id, or by the id of the person of a reset. It returns
// accounts.ErrLink for none.
func (s *Store) OpenLink(ctx context.Context, kind string, id int64) (accounts.Link, error) {
	of := "l.id"
	if kind == accounts.Reset {
		of = "l.user_id"
	}
	l, err := s.scanLink(s.db.Reader.QueryRowContext(ctx, selectLink+"WHERE "+works+" AND l.kind = $2 AND "+of+" = $3",
		db.Millis(time.Now()), kind, id))
	return l, linked(err)
}

// DeleteInvitation takes back an invitation. It reports whether there was one.
func (s *Store) DeleteInvitation(ctx context.Context, id int64) (there bool, err error) {
	n, err := db.Affected(s.db.Change(ctx, "DELETE FROM links WHERE id = $1 AND kind = $2", id,
		accounts.Invitation))
	return n > 0, db.Explain(err)
}

// takeLink removes a link that works and returns it, or accounts.ErrLink.
func takeLink(ctx context.Context, tx *sql.Tx, kind, hash string) (l accounts.Link, err error) {
	err = tx.QueryRowContext(ctx, `DELETE FROM links AS l WHERE `+works+` AND l.hash = $2 AND l.kind = $3
		RETURNING id, user_id, role`, db.Millis(time.Now()), hash, kind).Scan(&l.ID, &l.User, &l.Role)
	return l, linked(err)
}

// UseInvitation implements accounts.LinkStore. The role is that of the invitation.
func (s *Store) UseInvitation(ctx context.Context, hash string, u accounts.User) (accounts.User, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		l, err := takeLink(ctx, tx, accounts.Invitation, hash)
		if err != nil {
			return err
		}
		u.Role = l.Role
		u, err = insertUser(ctx, tx, u, false)
		return err
	})
	return u, err
}

// UseReset implements accounts.LinkStore.
func (s *Store) UseReset(ctx context.Context, hash, password string) (u accounts.User, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		l, err := takeLink(ctx, tx, accounts.Reset, hash)
		if err != nil {
			return err
		}
		if u, err = Person(ctx, tx, l.User); err != nil || u.Role == Leaving {
			return errors.Join(accounts.ErrLink, err)
		}
		u.PasswordHash = password
		return setPassword(ctx, tx, l.User, password)
	})
	return u, err
}
