package connections

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

func credentialsPlace(table string, user int64, conn library.ConnectionID) string {
	return fmt.Sprintf("%s.credentials.%d.%s", table, user, conn)
}

func (s *Store) sealCredentials(table string, c library.Connection) (string, error) {
	b, err := json.Marshal(c.Credentials)
	return s.db.Key.Seal(b, credentialsPlace(table, c.User, c.ID)), err
}

// SelectConnection selects connections for [Store.ScanConnection]; a condition follows.
const SelectConnection = `SELECT user_id, connection, account_id, account, app, generation, credentials,
	authorized_at, expires_at, paused, created_at, name FROM connections `

// ScanConnection reads a row of [SelectConnection], and opens its credentials.
func (s *Store) ScanConnection(r db.Scanner) (library.Connection, error) {
	var c library.Connection
	var sealed string
	var authorized, expires, created int64
	err := r.Scan(&c.User, &c.ID, &c.AccountID, &c.Account, &c.App, &c.Generation, &sealed, &authorized, &expires,
		&c.Paused, &created, &c.Name)
	if err != nil {
		return c, err
	}
	c.AuthorizedAt, c.ExpiresAt, c.CreatedAt = db.Instant(authorized), db.Instant(expires), db.Instant(created)
	return c, s.openCredentials("connections", sealed, &c)
}

func (s *Store) openCredentials(table, sealed string, c *library.Connection) error {
	b, err := s.db.Key.Open(sealed, credentialsPlace(table, c.User, c.ID))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, &c.Credentials)
}

// Connections returns every connection of every user.
func (s *Store) Connections(ctx context.Context) ([]library.Connection, error) {
	return db.List(ctx, s.db.Reader, s.ScanConnection, SelectConnection+"ORDER BY user_id, connection")
}

// UserConnections returns the connections of one user.
func (s *Store) UserConnections(ctx context.Context, user int64) ([]library.Connection, error) {
	return db.List(ctx, s.db.Reader, s.ScanConnection, SelectConnection+"WHERE user_id = $1 ORDER BY connection", user)
}

// Connection returns one connection, or library.ErrNotFound.
func (s *Store) Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error) {
	c, err := s.ScanConnection(s.db.Reader.QueryRowContext(ctx,
		SelectConnection+"WHERE user_id = $1 AND connection = $2", user, conn))
	return c, db.Found(err)
}

// otherAccount is the condition that connection $2 of person $1 has another account than $3, or does not exist.
const otherAccount = ` AND NOT EXISTS (SELECT 1 FROM connections c
	WHERE c.user_id = $1 AND c.connection = $2 AND c.account_id = $3)`

// SaveConnection stores a verified connection as its next generation, which is in the result. It removes the stops and
// holds of the old credential. If the account is another one than before, reading starts from the beginning, and what
// is known about the content of the account is deleted.
func (s *Store) SaveConnection(ctx context.Context, c library.Connection) (library.Connection, error) {
	sealed, err := s.sealCredentials("connections", c)
	if err != nil {
		return c, fmt.Errorf("encode credentials: %w", err)
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `INSERT INTO generations (user_id, connection, generation)
			VALUES ($1, $2, 1)
			ON CONFLICT (user_id, connection) DO UPDATE SET generation = generations.generation + 1
			RETURNING generation`, c.User, c.ID).Scan(&c.Generation)
		if err != nil {
			return err
		}
		return errors.Join(
			db.ExecTx(ctx, tx, "UPDATE streams SET reading = '', note = '' WHERE user_id = $1 AND connection = $2"+
				otherAccount, c.User, c.ID, c.AccountID),
			db.ExecTx(ctx, tx, "DELETE FROM track_matches WHERE user_id = $1 AND connection = $2"+otherAccount,
				c.User, c.ID, c.AccountID),
			db.ExecTx(ctx, tx, "DELETE FROM song_questions WHERE user_id = $1 AND connection = $2"+otherAccount,
				c.User, c.ID, c.AccountID),
			db.ExecTx(ctx, tx, `UPDATE copies
				SET remote_id = '', written = 0, marks = '', snapshot = '', drift = '', agreed = '', decided = '',
					pending = ''
				WHERE user_id = $1 AND connection = $2`+
				otherAccount, c.User, c.ID, c.AccountID),
			// What was asked about copies at the other account.
			db.ExecTx(ctx, tx, `UPDATE notifications SET resolved_at = $4 WHERE resolved_at = 0
				AND (cause LIKE 'copy of playlist %' OR cause LIKE 'conflict of playlist %')
				AND user_id = $1 AND connection = $2`+otherAccount, c.User, c.ID, c.AccountID, db.Millis(time.Now())),
			db.ExecTx(ctx, tx, "DELETE FROM gaps WHERE user_id = $1 AND connection = $2"+otherAccount,
				c.User, c.ID, c.AccountID),
			db.ExecTx(ctx, tx, "DELETE FROM audits WHERE user_id = $1 AND connection = $2"+otherAccount,
				c.User, c.ID, c.AccountID),
			db.ExecTx(ctx, tx, "DELETE FROM loves_there WHERE user_id = $1 AND connection = $2"+otherAccount,
				c.User, c.ID, c.AccountID),
			db.ExecTx(ctx, tx, "DELETE FROM library_songs WHERE user_id = $1 AND connection = $2"+otherAccount,
				c.User, c.ID, c.AccountID),
			db.ExecTx(ctx, tx, "DELETE FROM streams WHERE user_id = $1 AND connection = $2 AND stream = ''",
				c.User, c.ID),
			db.ExecTx(ctx, tx, `UPDATE streams
				SET stop_category = '', stop_since = 0, stop_admin = 0, advice = '', detail = ''
				WHERE user_id = $1 AND connection = $2`, c.User, c.ID),
			db.ExecTx(ctx, tx, "DELETE FROM pending_connections WHERE user_id = $1 AND connection = $2", c.User, c.ID),
			db.ExecTx(ctx, tx, "DELETE FROM holds WHERE user_id = $1 AND connection = $2", c.User, c.ID),
			db.ExecTx(ctx, tx, `INSERT INTO connections
				(user_id, connection, account_id, account, app, generation, credentials,
				authorized_at, expires_at, paused, created_at, name)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $11)
				ON CONFLICT (user_id, connection) DO UPDATE
				SET account_id = excluded.account_id, account = excluded.account, app = excluded.app,
					generation = excluded.generation, credentials = excluded.credentials,
					authorized_at = excluded.authorized_at, expires_at = excluded.expires_at,
					paused = 0, renewal_until = 0,
					name = CASE WHEN excluded.name = '' THEN connections.name ELSE excluded.name END`,
				c.User, c.ID, c.AccountID, c.Account, c.App, c.Generation, sealed, db.Millis(c.AuthorizedAt),
				db.Millis(c.ExpiresAt), db.Millis(c.CreatedAt), c.Name))
	})
	c.Paused = false
	return c, err
}

// SetAccountID gives a connection another id of its account. What has been read and chosen stays, because it is the
// same account: SaveConnection starts over with another one.
func (s *Store) SetAccountID(ctx context.Context, user int64, conn library.ConnectionID, account string) error {
	return s.db.Exec(ctx, "UPDATE connections SET account_id = $1 WHERE user_id = $2 AND connection = $3",
		account, user, conn)
}

// ConnectionNames returns the names that a user gave to connections, and those of their players.
func (s *Store) ConnectionNames(ctx context.Context, user int64) (map[library.ConnectionID]string, error) {
	type row struct {
		connection library.ConnectionID
		name       string
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.connection, &v.name) }
	rows, err := db.List(ctx, s.db.Reader, scan,
		"SELECT connection, name FROM connections WHERE user_id = $1 AND name <> ''", user)
	if err != nil {
		return nil, err
	}
	scanPlayer := func(r db.Scanner) (v row, err error) {
		var n int
		err = r.Scan(&n, &v.name)
		v.connection = library.NewConnectionID(library.PlayerProvider, n)
		return v, err
	}
	players, err := db.List(ctx, s.db.Reader, scanPlayer, "SELECT id, name FROM sending_players WHERE user_id = $1",
		user)
	names := make(map[library.ConnectionID]string, len(rows)+len(players))
	for _, r := range slices.Concat(rows, players) {
		names[r.connection] = r.name
	}
	return names, err
}

// RenameConnection changes the name of a connection. It returns library.ErrNotFound if there is none.
func (s *Store) RenameConnection(ctx context.Context, user int64, conn library.ConnectionID, name string) error {
	return db.Changed(s.db.Change(ctx,
		"UPDATE connections SET name = $1 WHERE user_id = $2 AND connection = $3", name, user, conn))
}

// Current returns library.ErrReplaced if the connection has another generation. It does not check generation 0.
func Current(ctx context.Context, q db.RowQuerier, user int64, conn library.ConnectionID, generation int64) error {
	if generation == 0 {
		return nil
	}
	var now int64
	err := q.QueryRowContext(ctx, "SELECT generation FROM connections WHERE user_id = $1 AND connection = $2",
		user, conn).Scan(&now)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if now != generation {
		return library.ErrReplaced
	}
	return nil
}

// ClaimRenewal implements oauth.CredentialStore.
func (s *Store) ClaimRenewal(ctx context.Context, c library.Connection, until time.Time) (taken time.Time, err error) {
	err = s.db.WriteFor(ctx, c.User, func(ctx context.Context, tx *sql.Tx) error {
		claimed, err := db.Affected(tx.ExecContext(ctx, `UPDATE connections SET renewal_until = $1
			WHERE user_id = $2 AND connection = $3 AND generation = $4
				AND (renewal_until < $5 OR renewal_until > $6)`, // unless a clock was set back
			db.Millis(until), c.User, c.ID, c.Generation, db.Millis(time.Now()), db.Millis(until.Add(time.Hour))))
		if err != nil || claimed > 0 {
			return err
		}
		var ends int64
		err = tx.QueryRowContext(ctx, `SELECT renewal_until FROM connections
			WHERE user_id = $1 AND connection = $2 AND generation = $3`, c.User, c.ID, c.Generation).Scan(&ends)
		taken = db.Instant(ends)
		return err
	})
	return taken, db.Found(err)
}

// SaveCredentials implements oauth.CredentialStore. It also stores them when the lease has ended meanwhile: this may be
// the only token that the provider still takes, and the claim keeps others out.
func (s *Store) SaveCredentials(ctx context.Context, c library.Connection, claim time.Time) error {
	sealed, err := s.sealCredentials("connections", c)
	if err != nil {
		return fmt.Errorf("encode credentials: %w", err)
	}
	return s.db.WriteFor(leases.Without(ctx), c.User, func(ctx context.Context, tx *sql.Tx) error {
		return db.Changed(tx.ExecContext(ctx, `UPDATE connections SET credentials = $1, renewal_until = 0
			WHERE user_id = $2 AND connection = $3 AND generation = $4 AND renewal_until = $5`,
			sealed, c.User, c.ID, c.Generation, db.Millis(claim)))
	})
}

// EndRenewals ends the claims of a process that was killed, if no other server may have made them.
func (s *Store) EndRenewals(ctx context.Context) error {
	return s.db.Exec(ctx, "UPDATE connections SET renewal_until = 0 WHERE renewal_until > 0")
}

// SetApp changes whose limits a connection shares.
func (s *Store) SetApp(ctx context.Context, user int64, conn library.ConnectionID, app string) error {
	return db.Changed(s.db.Change(ctx,
		"UPDATE connections SET app = $1 WHERE user_id = $2 AND connection = $3", app, user, conn))
}

// SetPaused pauses or resumes a connection.
func (s *Store) SetPaused(ctx context.Context, user int64, conn library.ConnectionID, paused bool) error {
	return db.Changed(s.db.Change(ctx,
		"UPDATE connections SET paused = $1 WHERE user_id = $2 AND connection = $3", db.Flag(paused), user, conn))
}

// ExecSteps runs statements whose arguments are a person and a connection.
func ExecSteps(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID, steps ...string) error {
	for _, step := range steps {
		if err := db.ExecTx(ctx, tx, step, user, conn); err != nil {
			return err
		}
	}
	return nil
}

// SavePending stores a verified credential of another account until its person has chosen what to do with it.
func (s *Store) SavePending(ctx context.Context, c library.Connection) error {
	sealed, err := s.sealCredentials("pending_connections", c)
	if err != nil {
		return fmt.Errorf("encode credentials: %w", err)
	}
	return s.db.Exec(ctx, `INSERT INTO pending_connections
		(user_id, connection, account_id, account, app, credentials, authorized_at, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (user_id, connection) DO UPDATE
		SET account_id = excluded.account_id, account = excluded.account, app = excluded.app,
			credentials = excluded.credentials, authorized_at = excluded.authorized_at,
			expires_at = excluded.expires_at, created_at = excluded.created_at`,
		c.User, c.ID, c.AccountID, c.Account, c.App, sealed, db.Millis(c.AuthorizedAt), db.Millis(c.ExpiresAt),
		db.Millis(c.CreatedAt))
}

// Pending returns the credential that waits for a choice, or library.ErrNotFound.
func (s *Store) Pending(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error) {
	var c library.Connection
	var sealed string
	var authorized, expires, created int64
	err := s.db.Reader.QueryRowContext(ctx, `SELECT user_id, connection, account_id, account, app, credentials,
		authorized_at, expires_at, created_at FROM pending_connections
		WHERE user_id = $1 AND connection = $2`, user, conn).
		Scan(&c.User, &c.ID, &c.AccountID, &c.Account, &c.App, &sealed, &authorized, &expires, &created)
	if err != nil {
		return c, db.Found(err)
	}
	c.AuthorizedAt, c.ExpiresAt, c.CreatedAt = db.Instant(authorized), db.Instant(expires), db.Instant(created)
	return c, s.openCredentials("pending_connections", sealed, &c)
}

// DropPending deletes the credential that waits for a choice.
func (s *Store) DropPending(ctx context.Context, user int64, conn library.ConnectionID) error {
	return s.db.Exec(ctx, "DELETE FROM pending_connections WHERE user_id = $1 AND connection = $2", user, conn)
}
