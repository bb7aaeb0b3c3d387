// Package servers keeps which servers share a database, who leads them and what they have to do, and has them hear of
// what another process has changed.
package servers

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/internal/cluster"
	"reprise/internal/queue"
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns the part of a database.
func New(d *db.DB) *Store { return &Store{db: d} }

// Servers returns the servers that share the database, the leader first, as they were heard of; none if the server is
// alone.
func (s *Store) Servers(ctx context.Context) ([]cluster.Server, error) { return list(ctx, s.db.Reader) }

// Backlogs is [queue.Backlogs] of the database.
func (s *Store) Backlogs(ctx context.Context, servers []string) ([]queue.Backlog, error) {
	all, err := queue.Backlogs(ctx, s.db.Reader, servers)
	return all, db.Explain(err)
}

const (
	// heardOn is the channel of Postgres on which the servers of a database hear commands, and notesOn that on which
	// they tell each other what they do. Both are expressions: installations in other schemas have others.
	heardOn = "'reprise_changed_' || " + ofSchema
	notesOn = "'" + notes + "_' || " + ofSchema
	notes   = "reprise_notes"
	// ofSchema is short enough for a name, and has no sign.
	ofSchema = "md5(current_schema())"
	// hearAgainAfter is how long to wait after the connection on which a server hears was lost.
	hearAgainAfter = time.Second
)

// Tell has every server that uses the same Postgres database call what it gave to Hear.
func (s *Store) Tell(ctx context.Context) error {
	_, err := s.db.Change(ctx, "SELECT pg_notify("+heardOn+", '')")
	return db.Explain(err)
}

// Hear calls changed each time that another process has called Tell, until ctx ends. It has a connection of its own to
// the Postgres database, and calls changed also when that was lost and is there again. Beside SQLite it returns an
// error.
func Hear(ctx context.Context, at db.Place, changed func()) error {
	return listen(ctx, at, heardOn, changed, func(string) { changed() })
}

// listen calls begun when it has begun to listen on a channel, and got with each text that arrives, until ctx ends.
// When its connection is lost it begins again.
func listen(ctx context.Context, at db.Place, channel string, begun func(), got func(string)) error {
	if at.URL == "" {
		return errors.New("only Postgres notifies its servers")
	}
	for {
		_ = listenOnce(ctx, at, channel, begun, got) // the pages say when the database does not answer
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(hearAgainAfter):
		}
	}
}

// listenOnce is listen until the connection is lost.
func listenOnce(ctx context.Context, at db.Place, channel string, begun func(), got func(string)) error {
	c, err := db.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	var name string
	if err := c.QueryRow(ctx, "SELECT "+channel).Scan(&name); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
		return err
	}
	begun()
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		got(n.Payload)
	}
}
