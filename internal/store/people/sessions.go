package people

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/store/db"
)

// Sessions stores the sessions of browsers for scs. It stores only fingerprints of their tokens.
type Sessions struct{ s *Store }

// Sessions returns the session store over this database.
func (s *Store) Sessions() Sessions { return Sessions{s} }

// FindCtx implements scs.CtxStore.
func (t Sessions) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	var data string
	err := t.s.db.Reader.QueryRowContext(ctx, "SELECT data FROM sessions WHERE id = $1 AND expires_at > $2",
		db.Fingerprint(token), db.Millis(time.Now())).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, db.Explain(err)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	return b, err == nil, err
}

// CommitCtx implements scs.CtxStore.
func (t Sessions) CommitCtx(ctx context.Context, token string, b []byte, expiry time.Time) error {
	return t.s.db.Exec(ctx, `INSERT INTO sessions (id, data, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`,
		db.Fingerprint(token), base64.StdEncoding.EncodeToString(b), db.Millis(expiry))
}

// DeleteCtx implements scs.CtxStore.
func (t Sessions) DeleteCtx(ctx context.Context, token string) error {
	return t.s.db.Exec(ctx, "DELETE FROM sessions WHERE id = $1", db.Fingerprint(token))
}

// Update stores the data of a session that began earlier. It does nothing if the session has ended meanwhile.
func (t Sessions) Update(ctx context.Context, token string, b []byte, expiry time.Time) error {
	return t.s.db.Exec(ctx, "UPDATE sessions SET data = $1, expires_at = $2 WHERE id = $3",
		base64.StdEncoding.EncodeToString(b), db.Millis(expiry), db.Fingerprint(token))
}

// Use stores who uses a session, from where and when. The session ends if its grant has. If the user
// has more than most sessions, those that were not used for longest end; 0 for no bound.
func (t Sessions) Use(ctx context.Context, token string, user int64, use accounts.Session, most int) error {
	return t.s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.ExecTx(ctx, tx, `UPDATE sessions SET user_id = $1, agent = $2, address = $3, signed_in_at = $4,
			seen_at = $5, way = $6, issuer = $7, client = $8, there = $9, grant_id = $10 WHERE id = $11`, user,
			use.Agent, use.Address, db.Millis(use.SignedInAt), db.Millis(use.UsedAt), string(use.Way), use.Issuer,
			use.Client, use.There, use.Grant, db.Fingerprint(token))
		if err == nil && use.Grant != "" { // it has ended while this session got another token
			err = db.ExecTx(ctx, tx, `DELETE FROM sessions WHERE id = $1 AND NOT EXISTS
				(SELECT 1 FROM grants g WHERE g.id = $2)`, db.Fingerprint(token), use.Grant)
		}
		if err != nil || most == 0 {
			return err
		}
		return db.ExecTx(ctx, tx, `DELETE FROM sessions WHERE user_id = $1 AND id NOT IN
			(SELECT id FROM sessions WHERE user_id = $1 ORDER BY seen_at DESC, id LIMIT $2)`, user, most)
	})
}

// sessionID is how many characters of a fingerprint name a session to its owner.
const sessionID = 16

// Of returns the sessions of a user, the latest sign-in first.
func (t Sessions) Of(ctx context.Context, user int64) ([]accounts.Session, error) {
	scan := func(r db.Scanner) (v accounts.Session, err error) {
		var in, used int64
		err = r.Scan(&v.ID, &v.Agent, &v.Address, &in, &used, &v.Way, &v.Issuer, &v.There)
		v.SignedInAt, v.UsedAt = db.Instant(in), db.Instant(used)
		return v, err
	}
	return db.List(ctx, t.s.db.Reader, scan,
		`SELECT substr(id, 1, $1), agent, address, signed_in_at, seen_at, way, issuer, there FROM sessions
		WHERE user_id = $2 AND expires_at > $3 ORDER BY signed_in_at DESC, id`, sessionID, user, db.Millis(time.Now()))
}

// End ends a session of a user by its ID, or returns library.ErrNotFound.
func (t Sessions) End(ctx context.Context, user int64, id string) error {
	return db.Changed(t.s.db.Change(ctx,
		"DELETE FROM sessions WHERE user_id = $1 AND substr(id, 1, $2) = $3",
		user, sessionID, id))
}

// EndOthers ends all sessions of a user but that of a token, and returns their number. Sessions that began before an
// upgrade and were not used since end, too: it is not known whose they are.
func (t Sessions) EndOthers(ctx context.Context, user int64, token string) (n int, err error) {
	err = t.s.db.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE user_id = $1 AND id <> $2", user,
			db.Fingerprint(token))
		if err != nil {
			return err
		}
		ended, err := result.RowsAffected()
		n = int(ended)
		return errors.Join(err,
			db.ExecTx(ctx, tx, "DELETE FROM sessions WHERE user_id = 0 AND id <> $1", db.Fingerprint(token)))
	})
	return n, err
}

// EndAll ends all sessions of a user, and returns their number.
func (t Sessions) EndAll(ctx context.Context, user int64) (int, error) {
	result, err := t.s.db.Change(ctx, "DELETE FROM sessions WHERE user_id = $1", user)
	if err != nil {
		return 0, db.Explain(err)
	}
	n, err := result.RowsAffected()
	return int(n), db.Explain(err)
}

// EndThere ends the sessions of a user that began at an issuer; with the name of a session there, only what began with
// that one. It returns their number.
func (t Sessions) EndThere(ctx context.Context, user int64, issuer, there string) (int, error) {
	ended, err := t.end(ctx, "user_id = $1 AND issuer = $2 AND ($3 = '' OR there = $3)", user, issuer, there)
	return len(ended), err
}

// EndIssued ends the sessions that began at an issuer before a time, with their grants, and returns whose they were: a
// user for each.
func (t Sessions) EndIssued(ctx context.Context, before time.Time) ([]int64, error) {
	return t.end(ctx, "way = $1 AND signed_in_at < $2", string(accounts.ByIssuer), db.Millis(before))
}

// EndUnknown ends the sessions that began at an issuer at which this server is none of these clients, with their
// grants, and returns whose they were: a user for each.
func (t Sessions) EndUnknown(ctx context.Context, known []accounts.Client) ([]int64, error) {
	where, args := "way = $1", []any{string(accounts.ByIssuer)}
	for _, c := range known { // earlier versions didn't note the client
		where += fmt.Sprintf(" AND NOT (issuer = $%d AND client IN ('', $%d))", len(args)+1, len(args)+2)
		args = append(args, c.Issuer, c.ID)
	}
	return t.end(ctx, where, args...)
}

// end ends sessions, with their grants, and returns whose they were.
func (t Sessions) end(ctx context.Context, where string, args ...any) (users []int64, err error) {
	type row struct {
		user  int64
		grant string
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.user, &v.grant) }
	err = t.s.db.Write(ctx, func(tx *sql.Tx) error {
		users = nil
		ended, err := db.List(ctx, tx, scan,
			"DELETE FROM sessions WHERE "+where+" RETURNING user_id, grant_id", args...)
		for _, v := range ended {
			users = append(users, v.user)
			if v.grant != "" && err == nil {
				err = db.ExecTx(ctx, tx, "DELETE FROM grants WHERE id = $1", v.grant)
			}
		}
		return err
	})
	return users, err
}

// WhoseThere returns whose sessions began with a session at an issuer.
func (t Sessions) WhoseThere(ctx context.Context, issuer, there string) ([]int64, error) {
	scan := func(r db.Scanner) (user int64, err error) { return user, r.Scan(&user) }
	return db.List(ctx, t.s.db.Reader, scan,
		"SELECT DISTINCT user_id FROM sessions WHERE issuer = $1 AND there = $2", issuer, there)
}

// Find implements scs.Store.
func (t Sessions) Find(token string) ([]byte, bool, error) {
	return t.FindCtx(context.Background(), token)
}

// Commit implements scs.Store.
func (t Sessions) Commit(token string, b []byte, expiry time.Time) error {
	return t.CommitCtx(context.Background(), token, b, expiry)
}

// Delete implements scs.Store.
func (t Sessions) Delete(token string) error { return t.DeleteCtx(context.Background(), token) }
