package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"reprise/internal/cluster"
	"reprise/internal/store/db"
)

// Book is the list of the servers that share a Postgres database, and of who leads them. It has a connection of its
// own, because a server is to be heard of while it may not write, and while a long transaction runs. Its statements are
// for Postgres alone. It is safe for concurrent use.
type Book struct {
	db    *sql.DB
	tries *sql.DB // see Limits
	desk  *sql.DB // for requests, which may be large
	at    db.Place
	key   *db.Key // what servers tell each other is sealed with it
}

// Open connects to the list of servers. It changes nothing. The error says what is wrong; it is [db.ErrWrongKey] if the
// key is not that of the database.
func Open(ctx context.Context, at db.Place, key *db.Key) (*Book, error) {
	own, err := db.OpenAlone(ctx, at, key)
	if err != nil {
		return nil, err
	}
	tries, err := db.OpenAlone(ctx, at, key)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	desk, err := db.OpenAlone(ctx, at, key)
	if err != nil {
		return nil, errors.Join(err, own.Close(), tries.Close())
	}
	desk.SetMaxOpenConns(deskConnections)
	return &Book{own, tries, desk, at, key}, nil
}

// Close closes the connections.
func (b *Book) Close() error { return errors.Join(b.desk.Close(), b.tries.Close(), b.db.Close()) }

// Empty reports whether the database has no tables yet.
func (b *Book) Empty(ctx context.Context) (bool, error) {
	_, err := b.db.ExecContext(ctx, "SELECT 1 FROM leader")
	return isEmpty(err), db.Explain(unlessEmpty(err))
}

// Fresh reports whether nobody has an account yet.
func (b *Book) Fresh(ctx context.Context) (bool, error) {
	var users bool
	err := b.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM users)").Scan(&users)
	return !users, db.Explain(unlessEmpty(err))
}

// now is the database's time in milliseconds.
const now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// lateAfter is when a server that says nothing is no longer listed.
const lateAfter = 10 * time.Minute

// Beat implements cluster.Book.
func (b *Book) Beat(ctx context.Context, me cluster.Server) (cluster.Leader, error) {
	_, err := b.db.ExecContext(ctx, `WITH gone AS (DELETE FROM servers WHERE seen_at < `+now+` - $5 AND id <> $1),
		old AS (DELETE FROM requests WHERE asked_at < `+now+` - $6)
		INSERT INTO servers (id, name, version, started_at, seen_at) VALUES ($1, $2, $3, $4, `+now+`)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
		me.ID, me.Name, me.Version, me.Started.UnixMilli(), lateAfter.Milliseconds(),
		requestsLast.Milliseconds())
	if isEmpty(err) {
		return cluster.Leader{}, nil
	}
	if err != nil {
		return cluster.Leader{}, db.Explain(err)
	}
	l, err := scanLeader(b.db.QueryRowContext(ctx, "SELECT "+leaderColumns+" FROM leader"))
	return l, db.Explain(err)
}

const leaderColumns = "server_id, lease, " + now + " - seen_at, released"

func scanLeader(row *sql.Row) (l cluster.Leader, err error) {
	var age, released int64
	err = row.Scan(&l.ID, &l.Lease, &age, &released)
	l.Age, l.Released = time.Duration(age)*time.Millisecond, released == 1
	return l, err
}

// Begun waits until a server has taken the lead, before which it has made the tables.
func (b *Book) Begun(ctx context.Context) error {
	for {
		var begun bool
		err := b.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM leader WHERE lease > 0)").Scan(&begun)
		if err = unlessEmpty(err); err != nil || begun {
			return db.Explain(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cluster.ConfirmEvery):
		}
	}
}

// unlessEmpty returns an error unless it says that the tables do not exist yet.
func unlessEmpty(err error) error {
	if isEmpty(err) {
		return nil
	}
	return err
}

// isEmpty reports whether an error says that the tables do not exist yet.
func isEmpty(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "42P01"
}

// Claim implements cluster.Book.
func (b *Book) Claim(ctx context.Context, me cluster.Server) (lease int64, err error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, db.Explain(err)
	}
	defer tx.Rollback()
	before, err := scanLeader(tx.QueryRowContext(ctx, "SELECT "+leaderColumns+" FROM leader FOR UPDATE"))
	if err != nil || !before.Vacant() {
		return 0, db.Explain(err)
	}
	if err := endLeader(ctx, tx, before.Lease); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `UPDATE leader SET lease = lease + 1, server_id = $1, released = 0,
		seen_at = `+now+` RETURNING lease`, me.ID).Scan(&lease)
	if err == nil {
		err = tx.Commit()
	}
	return lease, db.Explain(err)
}

const (
	// endWithin is how long the connections of a leader may take to end, and lookEvery how often it is looked.
	endWithin = 10 * time.Second
	lookEvery = 50 * time.Millisecond
	// ofLeader selects the connections of the leader of a lease.
	ofLeader = " FROM pg_stat_activity WHERE datname = current_database() AND application_name = " + db.LeaderName
)

// endLeader ends the connections of the leader of a lease, and waits for that: what they had not committed is undone.
// While the row of the leader is locked it makes no new ones.
func endLeader(ctx context.Context, tx *sql.Tx, lease int64) error {
	if _, err := tx.ExecContext(ctx, "SELECT pg_terminate_backend(pid)"+ofLeader, lease); err != nil {
		return db.Explain(err)
	}
	for end := time.Now().Add(endWithin); ; {
		var left int
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_clear_snapshot(), LATERAL (SELECT 1"+ofLeader+
			") AS connections", lease).Scan(&left)
		switch {
		case err != nil:
			return db.Explain(err)
		case left == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%d connections of the leader before haven't ended", left)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// Confirm implements cluster.Book.
func (b *Book) Confirm(ctx context.Context, lease int64) (bool, error) {
	return b.changed(ctx, "UPDATE leader SET seen_at = "+now+" WHERE lease = $1 AND released = 0", lease)
}

// Resign implements cluster.Book.
func (b *Book) Resign(ctx context.Context, lease int64) error {
	_, err := b.changed(ctx, "UPDATE leader SET released = 1 WHERE lease = $1", lease)
	return err
}

// Leave implements cluster.Book.
func (b *Book) Leave(ctx context.Context, id string) error {
	_, err := b.changed(ctx, "DELETE FROM servers WHERE id = $1", id)
	return err
}

// changed runs a statement and reports whether it has changed a row.
func (b *Book) changed(ctx context.Context, query string, args ...any) (bool, error) {
	result, err := b.db.ExecContext(ctx, query, args...)
	if isEmpty(err) {
		return false, nil
	}
	if err != nil {
		return false, db.Explain(err)
	}
	n, err := result.RowsAffected()
	return n > 0, db.Explain(err)
}

// Send implements cluster.Transport. Others who may use the database can't read it, or send such a text.
func (b *Book) Send(ctx context.Context, text string) error {
	_, err := b.db.ExecContext(ctx, "SELECT pg_notify("+notesOn+", $1)", b.key.Wrap([]byte(text), notes))
	return db.Explain(err)
}

// Receive implements cluster.Transport. It has a connection of its own.
func (b *Book) Receive(ctx context.Context, begun func(), got func(string)) error {
	return listen(ctx, b.at, notesOn, begun, func(sealed string) {
		if text, err := b.key.Unwrap(sealed, notes); err == nil {
			got(string(text))
		}
	})
}

// All implements cluster.Book.
func (b *Book) All(ctx context.Context) ([]cluster.Server, error) { return list(ctx, b.db) }

func list(ctx context.Context, from *sql.DB) ([]cluster.Server, error) {
	return db.List(ctx, from, func(r db.Scanner) (v cluster.Server, err error) {
		var started, seen, leads int64
		var apps string
		err = r.Scan(&v.ID, &v.Name, &v.Version, &started, &seen, &leads, &apps)
		v.Started, v.Seen, v.Leads = time.UnixMilli(started).UTC(), time.UnixMilli(seen).UTC(), leads == 1
		if apps != "" {
			v.Apps = slices.Sorted(strings.SplitSeq(apps, "\n"))
		}
		return v, err
	}, `SELECT id, name, version, started_at, seen_at,
		CASE WHEN id = (SELECT server_id FROM leader WHERE released = 0) THEN 1 ELSE 0 END AS leads,
		coalesce((SELECT string_agg(app, $1) FROM leases WHERE server_id = servers.id), '')
		FROM servers ORDER BY 6 DESC, name, id`, "\n")
}
