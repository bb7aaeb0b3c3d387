// Package servers keeps which servers share a database and who leads them, and has them hear of what another process
// has changed.
package servers

import (
	"context"
	"errors"
	"time"

	"reprise/internal/cluster"
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns the part of a database.
func New(d *db.DB) *Store { return &Store{db: d} }

// Servers returns the servers that share the database, the leader first, as they were heard of; none if the server is
// alone.
func (s *Store) Servers(ctx context.Context) ([]cluster.Server, error) { return list(ctx, s.db.Reader) }

const (
	// heardOn is the channel of Postgres on which the servers of a database hear commands.
	heardOn = "reprise_changed"
	// hearAgainAfter is how long to wait after the connection on which a server hears was lost.
	hearAgainAfter = 5 * time.Second
)

// Tell has every server that uses the same Postgres database call what it gave to Hear.
func (s *Store) Tell(ctx context.Context) error {
	_, err := s.db.Change(ctx, "SELECT pg_notify($1, '')", heardOn)
	return db.Explain(err)
}

// Hear calls changed each time that another process has called Tell, until ctx ends. It has a connection of its own to
// the Postgres database, and calls changed also when that was lost and is there again. Beside SQLite it returns an
// error.
func Hear(ctx context.Context, at db.Place, changed func()) error {
	if at.URL == "" {
		return errors.New("only Postgres notifies its servers")
	}
	for {
		_ = hear(ctx, at, changed) // the pages say when the database does not answer
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(hearAgainAfter):
		}
	}
}

// hear is Hear until the connection is lost.
func hear(ctx context.Context, at db.Place, changed func()) error {
	c, err := db.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+heardOn); err != nil {
		return err
	}
	for {
		changed()
		if _, err := c.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
