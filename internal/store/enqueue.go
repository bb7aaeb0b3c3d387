package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
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

// rule is a row of forwarding.
type rule struct {
	connection   library.ConnectionID
	kind         string
	batch        int
	from, oldest int64
}

// takes reports whether a play is forwarded by the rule.
func (r rule) takes(p stored, now time.Time) bool {
	return p.fresh && !p.guess && millis(p.at) >= r.from &&
		(r.oldest == 0 || now.Sub(p.at).Milliseconds() <= r.oldest)
}

func rules(ctx context.Context, q querier, user int64) ([]rule, error) {
	scan := func(r scanner) (v rule, err error) {
		return v, r.Scan(&v.connection, &v.kind, &v.batch, &v.from, &v.oldest)
	}
	return list(ctx, q, scan, `SELECT connection, kind, batch, from_at, oldest FROM forwarding
		WHERE user_id = $1 ORDER BY connection`, user)
}

// stored is a listen that has just been stored, or has got another source.
type stored struct {
	id     int64
	at     time.Time        // of the listen, not of the source
	fresh  bool             // a new listen, not one that was known from another provider
	guess  bool             // its time is a guess
	others []library.Source // further connections that reported it
}

// enqueuePlays enqueues the deliveries that follow from plays which have just been stored: to every account that
// their person forwards to, once, except the one that reported them.
func (s *Store) enqueuePlays(ctx context.Context, tx *sql.Tx, user int64, from library.ConnectionID,
	plays []stored) error {
	all, err := rules(ctx, tx, user)
	if err != nil || len(all) == 0 {
		return err
	}
	held, err := accountIDs(ctx, tx, user)
	if err != nil {
		return err
	}
	for i, r := range all {
		if r.kind == delivery.Archive {
			err = errors.Join(err, s.enqueueMonths(ctx, tx, user, r.connection, plays))
			continue
		}
		there := func(earlier rule) bool { return held.same(earlier.connection, r.connection) }
		if held.same(from, r.connection) || slices.ContainsFunc(all[:i], there) {
			continue
		}
		now := time.Now()
		var news, history []int64
		for _, p := range plays {
			knows := func(s library.Source) bool { return held.same(s.Connection, r.connection) }
			switch {
			case !r.takes(p, now) || slices.ContainsFunc(p.others, knows):
			case now.Sub(p.at) > newsFor:
				history = append(history, p.id)
			default:
				news = append(news, p.id)
			}
		}
		d := delivery.Draft{User: user, Connection: r.connection, Kind: r.kind}
		err = errors.Join(err, s.enqueueListens(ctx, tx, d, news, r.batch))
		d.History = true
		err = errors.Join(err, s.enqueueListens(ctx, tx, d, history, r.batch))
	}
	return err
}

// newsFor is how long after it was played a listen is delivered before those that are history.
const newsFor = 24 * time.Hour

// enqueueListens enqueues deliveries of at most batch listens each.
func (s *Store) enqueueListens(ctx context.Context, tx *sql.Tx, d delivery.Draft, ids []int64, batch int) error {
	for chunk := range slices.Chunk(ids, batch) {
		d.Listens = chunk
		if _, err := s.enqueue(ctx, tx, d); err != nil {
			return err
		}
	}
	return nil
}

// enqueueMonths enqueues the months of these plays for an archive.
func (s *Store) enqueueMonths(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID,
	plays []stored) error {
	months := map[string]bool{}
	for _, p := range plays {
		months[delivery.MonthOf(p.at)] = true
	}
	due := time.Now().Add(s.Options().ArchiveEvery)
	var errs []error
	for month := range months {
		_, err := s.enqueueCopy(ctx, tx, delivery.Draft{User: user, Connection: conn, Kind: delivery.Archive,
			Ref: month, Due: due})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
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
