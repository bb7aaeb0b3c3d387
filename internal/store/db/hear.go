package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// heardOn is the channel of Postgres on which the servers of a database hear commands.
	heardOn = "reprise_changed"
	// hearAgainAfter is how long to wait after the connection on which a server hears was lost.
	hearAgainAfter = 5 * time.Second
)

// Tell has every server that uses the same Postgres database call what it gave to Hear.
func (s *DB) Tell(ctx context.Context) error {
	_, err := s.Writer.ExecContext(ctx, "SELECT pg_notify($1, '')", heardOn)
	return Local(err)
}

// Hear calls changed each time that another process has called Tell, until ctx ends. It has a connection of its own to
// the Postgres database, and calls changed also when that was lost and is there again.
func Hear(ctx context.Context, at Place, changed func()) error {
	e, err := at.engine()
	if err != nil {
		return err
	}
	p, ok := e.(postgres)
	if !ok {
		return errors.New("only Postgres notifies its servers")
	}
	for {
		_ = p.hear(ctx, changed) // the pages say when the database does not answer
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(hearAgainAfter):
		}
	}
}

// hear is Hear until the connection is lost.
func (p postgres) hear(ctx context.Context, changed func()) error {
	c, err := pgx.ConnectConfig(ctx, p.config)
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
