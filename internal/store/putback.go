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
)

// copyFact is the name of the fact that a database is a copy which no server has opened yet.
const copyFact = "copied"

// restoredFact is the name of the fact when a copy was opened last, in milliseconds.
const restoredFact = "restored_at"

// Restoring is the folder in the data directory in which Restore prepares a copy.
const Restoring = "restoring"

// markCopy marks a database in a file as a copy.
func markCopy(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", address(file)+"?mode=rw")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO facts (name, value) VALUES ($1, '') ON CONFLICT (name) DO NOTHING",
		copyFact)
	return errors.Join(local(err), db.Close())
}

// comeBack ends the sessions, the links and the consents under way of a database that is a copy: they may have ended,
// or been used, since it was made. It also reads when a copy was opened last.
func (s *Store) comeBack(ctx context.Context) error {
	scan := func(r scanner) (fact [2]string, err error) { return fact, r.Scan(&fact[0], &fact[1]) }
	facts, err := list(ctx, s.reader, scan, "SELECT name, value FROM facts WHERE name IN ($1, $2) ORDER BY name",
		copyFact, restoredFact)
	for _, fact := range facts {
		if fact[0] == copyFact {
			s.restoredAt = time.Now()
			return s.write(ctx, func(tx *sql.Tx) error { return endAll(ctx, tx, s.restoredAt) })
		}
		at, _ := strconv.ParseInt(fact[1], 10, 64)
		s.restoredAt = instant(at)
	}
	return err
}

func endAll(ctx context.Context, tx *sql.Tx, now time.Time) (err error) {
	for _, table := range []string{"sessions", "links", "oauth_states"} {
		err = errors.Join(err, execTx(ctx, tx, "DELETE FROM "+table))
	}
	return errors.Join(err, execTx(ctx, tx, "DELETE FROM facts WHERE name = $1", copyFact),
		execTx(ctx, tx, `INSERT INTO facts (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, restoredFact, strconv.FormatInt(millis(now), 10)))
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
func Restore(ctx context.Context, file, dir string, key *Key) (r Restored, err error) {
	look, err := lookAtFile(ctx, address(file)+"?mode=ro&immutable=1", "PRAGMA integrity_check(1)", key)
	switch {
	case err != nil:
		return r, fmt.Errorf("%s can't be read: %w", file, err)
	case !look.Sound || look.Step == 0:
		return r, fmt.Errorf("%s isn't a database of Reprise, or it's damaged; nothing was changed", file)
	case !look.Opens:
		return r, ErrWrongKey
	}
	folder := filepath.Join(dir, Restoring)
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	to := filepath.Join(folder, FileName)
	if err := duplicate(file, to); err != nil {
		return r, err
	}
	if err := markCopy(ctx, to); err != nil {
		return r, err
	}
	s, err := Open(ctx, Place{Dir: folder}, key, Options{})
	if err != nil {
		return r, err
	}
	r, err = s.reconcile(ctx, newSQLite(dir), key)
	if err := errors.Join(err, s.Close()); err != nil {
		return r, err
	}
	r.Listens = look.Listens
	r.Kept, err = exchange(to, filepath.Join(dir, FileName))
	return r, err
}

// exchange puts a database in the place of another one, which it keeps under another name.
func exchange(from, to string) (kept string, err error) {
	if _, err := os.Stat(to); err == nil {
		kept = to + time.Now().Format(".20060102-150405") + ".bak"
		if os.Link(to, kept) != nil { // some file systems have no links
			if err := duplicate(to, kept); err != nil {
				return "", err
			}
		}
		for _, end := range []string{"-wal", "-shm"} { // a damaged one may still have them
			if err := remove(to + end); err != nil {
				return "", err
			}
		}
	}
	return kept, errors.Join(os.Rename(from, to), SyncDir(filepath.Dir(to)))
}

// reconcile takes over from the database that is replaced what must not come back, if it can be read and has grown out
// of this one.
func (s *Store) reconcile(ctx context.Context, was sqliteFile, key *Key) (r Restored, err error) {
	if there, _ := was.exists(ctx); there {
		look, err := was.look(ctx, quick, key)
		if err == nil && look.Sound && look.Opens && look.Step == look.Newest {
			_, err = s.writer.ExecContext(ctx, "ATTACH DATABASE $1 AS was", was.path)
		}
		if err == nil && look.Step == look.Newest {
			r, err = s.compare(ctx)
		}
		if ctx.Err() != nil || err == nil && r.Compared {
			return r, ctx.Err()
		}
	}
	r = Restored{}
	return r, s.write(ctx, func(tx *sql.Tx) (err error) {
		if r.Tokens, err = list(ctx, tx, scanText, ownedTokens+" ORDER BY 1"); err != nil {
			return err
		}
		r.People, err = list(ctx, tx, scanText, "SELECT name FROM users WHERE role <> $1 ORDER BY name", leaving)
		return err
	})
}

func scanText(r scanner) (text string, err error) { return text, r.Scan(&text) }

const ownedTokens = "SELECT u.name || ': ' || t.name FROM tokens t JOIN users u ON u.id = t.user_id"

// grown says whether the database "was" has grown out of this one: its key was sealed in the same moment, and it has
// counted on.
const grown = `SELECT EXISTS (SELECT 1 FROM facts f JOIN was.facts w ON w.name = f.name AND w.value = f.value
	WHERE f.name = $1) AND NOT EXISTS (SELECT 1 FROM sequences c LEFT JOIN was.sequences w ON w.name = c.name
	WHERE coalesce(w.last, 0) < c.last)`

// compare takes over from the database "was".
func (s *Store) compare(ctx context.Context) (r Restored, err error) {
	var gone []int64
	err = s.write(ctx, func(tx *sql.Tx) (err error) {
		if err := tx.QueryRowContext(ctx, grown, keyCheck).Scan(&r.Compared); err != nil || !r.Compared {
			return err
		}
		const revoked = " WHERE t.hash NOT IN (SELECT w.hash FROM was.tokens w)"
		if r.Tokens, err = list(ctx, tx, scanText, ownedTokens+revoked+" ORDER BY 1"); err != nil {
			return err
		}
		gone, err = list(ctx, tx, scanID, `SELECT id FROM users u WHERE role <> $1 AND NOT EXISTS
			(SELECT 1 FROM was.users w WHERE w.id = u.id AND w.role <> $1) ORDER BY id`, leaving)
		if err == nil {
			r.Sent, err = affected(tx.ExecContext(ctx, sentSince))
		}
		for _, step := range []string{
			"DELETE FROM tokens AS t" + revoked,
			"DELETE FROM year_links WHERE hash NOT IN (SELECT w.hash FROM was.year_links w)",
			"UPDATE users SET password_hash = w.password_hash FROM was.users w WHERE w.id = users.id AND w.role <> '" +
				leaving + "'",
			// Nobody is locked out: an administrator stays one where all others are unknown here.
			"UPDATE users SET role = w.role FROM was.users w WHERE w.id = users.id AND w.role <> '" + leaving +
				"' AND EXISTS (SELECT 1 FROM users u JOIN was.users a ON a.id = u.id WHERE a.role = '" +
				accounts.Admin + "')",
			recountWaiting,
		} {
			err = errors.Join(err, execTx(ctx, tx, step))
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
