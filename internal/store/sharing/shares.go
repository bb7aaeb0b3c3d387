// Package sharing keeps what people show to others by links, and the links that they got from people with other
// servers.
package sharing

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/people"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns the part of a database.
func New(d *db.DB) *Store { return &Store{d} }

const selectShare = `SELECT s.id, s.user_id, s.kind, s.subject, s.hash, s.code, s.parts, s.name, s.span,
	s.zone, s.made_at, s.expires_at, s.used_at FROM shares s `

const deleteShare = "DELETE FROM shares WHERE user_id = $1 AND kind = $2 AND subject = $3"

func (s *Store) scanShare(r db.Scanner) (l library.Share, err error) {
	var sealed, parts string
	var made, expires, used int64
	err = r.Scan(&l.ID, &l.User, &l.Kind, &l.Subject, &l.Hash, &sealed, &parts, &l.Name, &l.Span, &l.Zone, &made,
		&expires, &used)
	l.Code = people.OpenCode(s.db.Key, sealed, sharePlace(l.ID), l.Hash)
	l.Key = s.db.Key.MAC(l.Hash, "marks of a share")
	l.Parts, l.MadeAt, l.ExpiresAt, l.UsedAt = strings.Fields(parts), db.Instant(made), db.Instant(expires),
		db.Instant(used)
	return l, err
}

func sharePlace(id int64) string { return "shares.code." + strconv.FormatInt(id, 10) }

// Share returns a person's share of a kind and subject, or library.ErrNotFound.
func (s *Store) Share(ctx context.Context, user int64, kind, subject string) (library.Share, error) {
	l, err := s.scanShare(s.db.Reader.QueryRowContext(ctx, selectShare+
		"WHERE s.user_id = $1 AND s.kind = $2 AND s.subject = $3", user, kind, subject))
	return l, db.Found(err)
}

// Shares returns a person's shares of a kind, in the order in which they were made.
func (s *Store) Shares(ctx context.Context, user int64, kind string) ([]library.Share, error) {
	return db.List(ctx, s.db.Reader, s.scanShare, selectShare+"WHERE s.user_id = $1 AND s.kind = $2 ORDER BY s.id",
		user, kind)
}

// UsedShare notes that the share with a hash was used at a time. It is exact to a minute, so that somebody who asks
// often causes few writes.
func (s *Store) UsedShare(ctx context.Context, hash string, at time.Time) error {
	return s.db.Exec(ctx, "UPDATE shares SET used_at = $1 WHERE hash = $2 AND used_at < $3", db.Millis(at), hash,
		db.Millis(at.Add(-time.Minute)))
}

// ShareByHash returns the share of a kind by the hash of its code. It returns library.ErrNotFound if there is none, or
// if its person is being removed.
func (s *Store) ShareByHash(ctx context.Context, kind, hash string) (library.Share, error) {
	l, err := s.scanShare(s.db.Reader.QueryRowContext(ctx, selectShare+
		"JOIN users u ON u.id = s.user_id WHERE s.hash = $1 AND s.kind = $2 AND u.role <> $3", hash, kind,
		people.Leaving))
	return l, db.Found(err)
}

// KeepShare stores a share, in place of the person's earlier one of the same kind and subject. A share without a hash
// keeps the code of the earlier one; if there is none, KeepShare returns library.ErrNotFound.
func (s *Store) KeepShare(ctx context.Context, l library.Share) error {
	parts := strings.Join(l.Parts, " ")
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		if l.Hash == "" {
			n, err := db.Affected(tx.ExecContext(ctx, `UPDATE shares SET parts = $4, name = $5, span = $6,
				zone = $7 WHERE user_id = $1 AND kind = $2 AND subject = $3`, l.User, l.Kind, l.Subject, parts, l.Name,
				l.Span, l.Zone))
			if err == nil && n == 0 {
				err = library.ErrNotFound
			}
			return err
		}
		err := db.ExecTx(ctx, tx, deleteShare, l.User, l.Kind, l.Subject)
		if err != nil {
			return err
		}
		id, err := db.NextIDs(ctx, tx, "shares", 1)
		if err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO shares
			(id, user_id, kind, subject, hash, code, parts, name, span, zone, made_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, id, l.User, l.Kind, l.Subject, l.Hash,
			s.db.Key.Seal([]byte(l.Code), sharePlace(id)), parts, l.Name, l.Span, l.Zone, db.Millis(l.MadeAt),
			db.Millis(l.ExpiresAt))
	})
}

// DeleteShare deletes a person's share of a kind and subject, or returns library.ErrNotFound.
func (s *Store) DeleteShare(ctx context.Context, user int64, kind, subject string) error {
	n, err := db.Affected(s.db.Change(ctx, deleteShare, user, kind, subject))
	if err == nil && n == 0 {
		return library.ErrNotFound
	}
	return db.Explain(err)
}
