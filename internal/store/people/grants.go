package people

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/store/db"
)

func grantPlace(id string) string { return "grants.secret." + id }

// AddGrant implements accounts.GrantStore. Tidy deletes a grant that no session has.
func (s *Ways) AddGrant(ctx context.Context, g accounts.Grant) (id string, err error) {
	secret, err := json.Marshal(g)
	if err != nil {
		return "", err
	}
	id = rand.Text()
	return id, s.db.Exec(ctx, "INSERT INTO grants (id, secret, asked_at) VALUES ($1, $2, $3)", id,
		s.db.Key.Seal(secret, grantPlace(id)), db.Millis(time.Now()))
}

// OwnGrant implements accounts.GrantStore.
func (s *Ways) OwnGrant(ctx context.Context, id string, user int64, admin bool) error {
	return s.db.Exec(ctx, "UPDATE grants SET user_id = $1, admin = $2 WHERE id = $3", user, db.Flag(admin), id)
}

// DueGrants implements accounts.GrantStore.
func (s *Ways) DueGrants(ctx context.Context, since time.Time) ([]accounts.DueGrant, error) {
	var unread error // one that can't be opened doesn't keep the others from being asked about
	scan := func(r db.Scanner) (d accounts.DueGrant, err error) {
		var asked, in, admin int64
		var sealed string
		err = r.Scan(&d.ID, &sealed, &asked, &admin, &d.User, &d.Session.ID, &d.Session.Agent, &d.Session.Address,
			&in)
		if err != nil {
			return d, err
		}
		d.Admin = admin != 0
		d.Asked, d.Session.SignedInAt = db.Instant(asked), db.Instant(in)
		secret, err := s.db.Key.Open(sealed, grantPlace(d.ID))
		if err == nil {
			err = json.Unmarshal(secret, &d.Grant)
		}
		unread = errors.Join(unread, err)
		return d, nil
	}
	all, err := db.List(ctx, s.db.Reader, scan, `SELECT g.id, g.secret, g.asked_at, g.admin, g.user_id,
		substr(s.id, 1, $1), s.agent, s.address, s.signed_in_at FROM grants g
		JOIN sessions s ON s.grant_id = g.id AND s.user_id = g.user_id
		WHERE g.asked_at <= $2 AND s.expires_at > $3 ORDER BY g.asked_at, g.id`, sessionID, db.Millis(since),
		db.Millis(time.Now()))
	return slices.DeleteFunc(all, func(d accounts.DueGrant) bool { return d.Issuer == "" }), errors.Join(err, unread)
}

// TakeGrant implements accounts.GrantStore.
func (s *Ways) TakeGrant(ctx context.Context, d accounts.DueGrant) (bool, error) {
	n, err := db.Affected(s.db.Change(ctx, "UPDATE grants SET asked_at = $1 WHERE id = $2 AND asked_at = $3",
		db.Millis(time.Now()), d.ID, db.Millis(d.Asked)))
	return n > 0, db.Explain(err)
}

// KeepGrant implements accounts.GrantStore.
func (s *Ways) KeepGrant(ctx context.Context, id string, g accounts.Grant) error {
	secret, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return s.db.Exec(ctx, "UPDATE grants SET secret = $1 WHERE id = $2", s.db.Key.Seal(secret, grantPlace(id)), id)
}

// NoteAdmin implements accounts.GrantStore.
func (s *Ways) NoteAdmin(ctx context.Context, user int64, issuer string, admin bool) error {
	return s.db.Exec(ctx, `UPDATE grants SET admin = $1 WHERE user_id = $2 AND id IN
		(SELECT grant_id FROM sessions WHERE user_id = $2 AND issuer = $3)`, db.Flag(admin), user, issuer)
}

// EndGrant implements accounts.GrantStore.
func (s *Ways) EndGrant(ctx context.Context, id string) (ended bool, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		n, err := db.Affected(tx.ExecContext(ctx, "DELETE FROM sessions WHERE grant_id = $1", id))
		ended = n > 0
		return errors.Join(err, db.ExecTx(ctx, tx, "DELETE FROM grants WHERE id = $1", id))
	})
	return ended, err
}
