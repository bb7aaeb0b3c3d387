package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/store/db"
	"reprise/internal/store/people"
)

// Restoring is the folder in the data directory in which Restore prepares a copy.
const Restoring = "restoring"

// comeBack ends the sessions, the links and the consents under way of a database that is a copy: they may have ended,
// or been used, since it was made. It also reads when a copy was opened last.
func (s *Store) comeBack(ctx context.Context) error {
	scan := func(r db.Scanner) (fact [2]string, err error) { return fact, r.Scan(&fact[0], &fact[1]) }
	facts, err := db.List(ctx, s.Reader, scan, "SELECT name, value FROM facts WHERE name IN ($1, $2) ORDER BY name",
		db.CopyFact, db.RestoredFact)
	for _, fact := range facts {
		if fact[0] == db.CopyFact {
			s.restoredAt = time.Now()
			return s.Write(ctx, func(tx *sql.Tx) error { return endAll(ctx, tx, s.restoredAt) })
		}
		at, _ := strconv.ParseInt(fact[1], 10, 64)
		s.restoredAt = db.Instant(at)
	}
	return err
}

func endAll(ctx context.Context, tx *sql.Tx, now time.Time) (err error) {
	for _, table := range []string{"sessions", "links", "oauth_states"} {
		err = errors.Join(err, db.ExecTx(ctx, tx, "DELETE FROM "+table))
	}
	return errors.Join(err, db.ExecTx(ctx, tx, "DELETE FROM facts WHERE name = $1", db.CopyFact),
		db.ExecTx(ctx, tx, `INSERT INTO facts (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, db.RestoredFact,
			strconv.FormatInt(db.Millis(now), 10)))
}

// RestoredAt implements delivery.Store: when this database was put back from a copy, or zero.
func (s *Store) RestoredAt() time.Time { return s.restoredAt }

// Restored says what became of a copy that was put back.
type Restored struct {
	Listens  int64
	Kept     string // where the database is that it replaced; empty without one
	Compared bool   // with that database
	// People and Tokens are those that the replaced database had removed, and that are removed again. Without a
	// comparison they are all that are there.
	People, Tokens []string
	Sent           int // listens that were still to be sent in the copy, and had been sent since
}

// Restore puts a copy, which key opens, in the place of the database in a directory, and keeps that one beside it. No
// server may use the directory. Killed at any moment, it leaves the former database or the restored one.
func Restore(ctx context.Context, file, dir string, key *db.Key) (r Restored, err error) {
	look, err := db.LookAtCopy(ctx, file, key)
	switch {
	case err != nil:
		return r, fmt.Errorf("%s can't be read: %w", file, err)
	case !look.Sound || look.Step == 0:
		return r, fmt.Errorf("%s isn't a database of Reprise, or it's damaged; nothing was changed", file)
	case !look.Opens:
		return r, db.ErrWrongKey
	}
	folder := filepath.Join(dir, Restoring)
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	to := filepath.Join(folder, db.FileName)
	if err := db.Duplicate(file, to); err != nil {
		return r, err
	}
	if err := db.MarkCopy(ctx, to); err != nil {
		return r, err
	}
	s, err := Open(ctx, db.Place{Dir: folder}, key, Options{})
	if err != nil {
		return r, err
	}
	r, err = s.reconcile(ctx, dir, key)
	if err := errors.Join(err, s.Close()); err != nil {
		return r, err
	}
	r.Listens = look.Listens
	r.Kept, err = exchange(to, filepath.Join(dir, db.FileName))
	return r, err
}

// exchange puts a database in the place of another one, which it keeps under another name.
func exchange(from, to string) (kept string, err error) {
	if _, err := os.Stat(to); err == nil {
		kept = to + time.Now().Format(".20060102-150405") + ".bak"
		if os.Link(to, kept) != nil { // some file systems have no links
			if err := db.Duplicate(to, kept); err != nil {
				return "", err
			}
		}
		for _, end := range []string{"-wal", "-shm"} { // a damaged one may still have them
			if err := db.Remove(to + end); err != nil {
				return "", err
			}
		}
	}
	return kept, errors.Join(os.Rename(from, to), db.SyncDir(filepath.Dir(to)))
}

// reconcile takes over from the database that is replaced what must not come back, if it can be read and has grown out
// of this one.
func (s *Store) reconcile(ctx context.Context, dir string, key *db.Key) (r Restored, err error) {
	was := db.Place{Dir: dir}
	if there, _ := db.Exists(ctx, was); there {
		look, err := db.Glance(ctx, was, key)
		if err == nil && look.Sound && look.Opens && look.Step == look.Newest {
			_, err = s.Writer.ExecContext(ctx, "ATTACH DATABASE $1 AS was", filepath.Join(dir, db.FileName))
		}
		if err == nil && look.Step == look.Newest {
			r, err = s.compare(ctx)
		}
		if ctx.Err() != nil || err == nil && r.Compared {
			return r, ctx.Err()
		}
	}
	r = Restored{}
	return r, s.Write(ctx, func(tx *sql.Tx) (err error) {
		if r.Tokens, err = db.List(ctx, tx, scanText, ownedTokens+" ORDER BY 1"); err != nil {
			return err
		}
		r.People, err = db.List(ctx, tx, scanText, "SELECT name FROM users WHERE role <> $1 ORDER BY name",
			people.Leaving)
		return err
	})
}

func scanText(r db.Scanner) (text string, err error) { return text, r.Scan(&text) }

const ownedTokens = "SELECT u.name || ': ' || t.name FROM tokens t JOIN users u ON u.id = t.user_id"

// grown says whether the database "was" has grown out of this one: its key was sealed in the same moment, and it has
// counted on.
const grown = `SELECT EXISTS (SELECT 1 FROM facts f JOIN was.facts w ON w.name = f.name AND w.value = f.value
	WHERE f.name = $1) AND NOT EXISTS (SELECT 1 FROM sequences c LEFT JOIN was.sequences w ON w.name = c.name
	WHERE coalesce(w.last, 0) < c.last)`

// compare takes over from the database "was".
func (s *Store) compare(ctx context.Context) (r Restored, err error) {
	var gone []int64
	err = s.Write(ctx, func(tx *sql.Tx) (err error) {
		if err := tx.QueryRowContext(ctx, grown, db.KeyCheck).Scan(&r.Compared); err != nil || !r.Compared {
			return err
		}
		const revoked = " WHERE t.hash NOT IN (SELECT w.hash FROM was.tokens w)"
		if r.Tokens, err = db.List(ctx, tx, scanText, ownedTokens+revoked+" ORDER BY 1"); err != nil {
			return err
		}
		gone, err = db.List(ctx, tx, db.ScanID, `SELECT id FROM users u WHERE role <> $1 AND NOT EXISTS
			(SELECT 1 FROM was.users w WHERE w.id = u.id AND w.role <> $1) ORDER BY id`, people.Leaving)
		if err == nil {
			r.Sent, err = db.Affected(tx.ExecContext(ctx, sentSince))
		}
		for _, step := range []string{
			"DELETE FROM tokens AS t" + revoked,
			"DELETE FROM sending_players WHERE id NOT IN (SELECT w.id FROM was.sending_players w)",
			`UPDATE sending_players SET hash = w.hash, last_four = w.last_four, proof = w.proof, kind = w.kind,
				session_hash = w.session_hash, api_key = w.api_key, grant_hash = '' FROM was.sending_players w
				WHERE w.id = sending_players.id`,
			"DELETE FROM shares WHERE hash NOT IN (SELECT w.hash FROM was.shares w)",
			`UPDATE shares SET parts = w.parts, name = w.name, span = w.span, zone = w.zone FROM was.shares w
				WHERE w.hash = shares.hash`,
			"UPDATE users SET password_hash = w.password_hash FROM was.users w WHERE w.id = users.id AND w.role <> '" +
				people.Leaving + "'",
			// Nobody is locked out: an administrator stays one where all others are unknown here.
			"UPDATE users SET role = w.role FROM was.users w WHERE w.id = users.id AND w.role <> '" + people.Leaving +
				"' AND EXISTS (SELECT 1 FROM users u JOIN was.users a ON a.id = u.id WHERE a.role = '" +
				accounts.Admin + "')",
			recountWaiting,
		} {
			err = errors.Join(err, db.ExecTx(ctx, tx, step))
		}
		return err
	})
	for _, id := range gone {
		u, e := s.BeginRemoval(ctx, id)
		if errors.Is(e, accounts.ErrLastAdmin) {
			continue
		}
		err = errors.Join(err, e)
		r.People = append(r.People, u.Name)
	}
	return r, err
}

// sentSince notes the listens that are to be sent here, and were sent there.
const sentSince = `UPDATE forwards SET delivery_id = 0
	WHERE delivery_id IN (SELECT id FROM deliveries WHERE state <> 'done')
	AND EXISTS (SELECT 1 FROM was.forwards w LEFT JOIN was.deliveries d ON d.id = w.delivery_id
		WHERE w.listen_id = forwards.listen_id AND w.connection = forwards.connection
		AND (w.delivery_id = 0 OR d.state = 'done'))`

// recountWaiting counts the listens of deliveries that are not done. One without any ends at its first attempt.
const recountWaiting = `UPDATE deliveries
	SET items = (SELECT count(*) FROM forwards f WHERE f.delivery_id = deliveries.id)
	WHERE kind IN ('` + delivery.SubmitListens + `', '` + delivery.Scrobble + `')
	AND state <> 'done'`
