package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/queue"
)

// Queue returns the queue in this database. A store that was opened beside a server has none.
func (s *Store) Queue() *queue.Queue { return s.jobs }

// openQueue opens the queue in the database.
func (s *Store) openQueue(ctx context.Context) (err error) {
	s.jobs, err = queue.Open(ctx, queue.Config{Driver: s.driver(s.writer), Writer: s.writer, Reader: s.reader,
		Wrap: local})
	return err
}

// enqueue inserts a delivery and returns its id. If there is the same one already, it stays as it is, but is
// re-driven when it is dead.
func (s *Store) enqueue(ctx context.Context, tx *sql.Tx, d delivery.Draft) (int64, error) {
	args, opts := d.Job(s.Options().Attempts)
	id, fresh, err := s.jobs.Insert(ctx, tx, args, opts)
	if err != nil {
		return 0, err
	}
	if !fresh {
		_, err := s.jobs.In(tx).Redrive(ctx, queue.Where(
			"SELECT id FROM "+queue.Table+" j WHERE id = $1 AND "+queue.HasState(queue.Dead), id))
		return id, err
	}
	err = execTx(ctx, tx, `INSERT INTO deliveries (id, user_id, connection, kind, ref, items, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, id, d.User, d.Connection, d.Kind, d.Ref, d.Items(), millis(time.Now()))
	return id, errors.Join(err, assign(ctx, tx, id, d))
}

// assign makes listens part of a delivery, whichever they were part of before.
func assign(ctx context.Context, tx *sql.Tx, id int64, d delivery.Draft) error {
	if d.Kind == delivery.DeleteListens {
		return assignDeletions(ctx, tx, id, d)
	}
	const width = 4
	args := make([]any, 0, len(d.Listens)*width)
	for _, listen := range d.Listens {
		args = append(args, listen, d.Connection, d.User, id)
	}
	return insertRows(ctx, tx, "INSERT INTO forwards (listen_id, connection, user_id, delivery_id)", width, args,
		"ON CONFLICT (listen_id, connection) DO UPDATE SET delivery_id = excluded.delivery_id")
}

// routes returns what decides where the listens of a person go.
func (s *Store) routes(ctx context.Context, tx *sql.Tx, user int64) (r delivery.Routes, err error) {
	r = delivery.Routes{User: user, Now: time.Now(), ArchiveEvery: s.Options().ArchiveEvery}
	if r.Rules, err = forwardingRules(ctx, tx, user); err == nil && len(r.Rules) > 0 {
		r.Accounts, err = accountsOf(ctx, tx, user)
	}
	return r, err
}

// enqueuePlays enqueues the deliveries that follow from plays which have just been stored.
func (s *Store) enqueuePlays(ctx context.Context, tx *sql.Tx, user int64, from library.ConnectionID,
	plays []delivery.Play) error {
	routes, err := s.routes(ctx, tx, user)
	if err != nil {
		return err
	}
	return s.enqueueAll(ctx, tx, routes.Drafts(from, plays))
}

func (s *Store) enqueueAll(ctx context.Context, tx *sql.Tx, drafts []delivery.Draft) error {
	for _, d := range drafts {
		enqueue := s.enqueue
		if delivery.Copies(d.Kind) {
			enqueue = s.enqueueCopy
		}
		if _, err := enqueue(ctx, tx, d); err != nil {
			return err
		}
	}
	return nil
}

// enqueueCopy notes that ours has changed, and enqueues writing its copy. It returns the id of the delivery.
func (s *Store) enqueueCopy(ctx context.Context, tx *sql.Tx, d delivery.Draft) (int64, error) {
	err := execTx(ctx, tx, `INSERT INTO copies (user_id, connection, kind, ref, wanted, written)
		VALUES ($1, $2, $3, $4, 1, 0)
		ON CONFLICT (user_id, connection, kind, ref) DO UPDATE SET wanted = copies.wanted + 1`,
		d.User, d.Connection, d.Kind, d.Ref)
	if err != nil {
		return 0, err
	}
	return s.enqueue(ctx, tx, d)
}
