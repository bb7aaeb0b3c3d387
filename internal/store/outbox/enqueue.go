package outbox

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/queue"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
)

// Insert inserts deliveries and returns the id of the last one. If there is the same one already, it stays as it is,
// but is re-driven when it is dead.
func (s *Store) Insert(ctx context.Context, tx *sql.Tx, all ...delivery.Draft) (id int64, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	next, err := db.NextIDs(ctx, tx, "deliveries", len(all))
	if err != nil {
		return 0, err
	}
	due := map[delivery.Send]bool{}
	for i, d := range all {
		var now bool
		if id, now, err = s.put(ctx, tx, next+int64(i), d); err != nil {
			return 0, err
		}
		if now {
			due[delivery.Send{User: d.User, Connection: d.Connection}] = true
		}
	}
	look(ctx, s.Jobs)
	return id, queue.Insert(ctx, s.Jobs, tx, slices.Collect(maps.Keys(due))...)
}

// look has the deliveries looked at that a transaction makes due, now or later.
func look(ctx context.Context, q *queue.Queue) {
	kind := delivery.Send{}.Kind()
	if !db.After(ctx, func() { q.Stored(kind) }) {
		q.Look(kind)
	}
}

// put inserts a delivery with an id, unless there is the same one. It returns its id, and reports whether its
// connection needs a job.
func (s *Store) put(ctx context.Context, tx *sql.Tx, id int64, d delivery.Draft) (_ int64, due bool, err error) {
	key, now := d.Key(), time.Now()
	var same int64
	err = tx.QueryRowContext(ctx, "SELECT id FROM deliveries WHERE idempotency_key = $1 AND "+unrepeated, key).
		Scan(&same)
	if err == nil {
		_, err = s.BecomeDue(ctx, tx, redriven, "d.id = $1 AND d.state = 'dead'", same)
		return same, false, err
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, false, err
	}
	at := now
	if d.Due.After(now) {
		at = d.Due
	}
	err = db.ExecTx(ctx, tx, `INSERT INTO deliveries (id, user_id, connection, kind, ref, schema_version,
		idempotency_key, items, history, state, max_attempts, due_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'scheduled', $10, $11, $12)`, id, d.User, d.Connection, d.Kind,
		d.Ref, delivery.Schema, key, d.Items(), db.Flag(d.History), s.Options().Attempts, db.Millis(at), db.Millis(now))
	return id, !at.After(now), errors.Join(err, assign(ctx, tx, id, d))
}

// unrepeated is the condition that there is no second delivery with the same key, word by word as in the index
// deliveries_key.
const unrepeated = "(state <> 'done' OR kind NOT IN ('write_playlist', 'write_loves', 'archive', 'notify'))"

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
	return db.InsertRows(ctx, tx, "INSERT INTO forwards (listen_id, connection, user_id, delivery_id)", width, args,
		"ON CONFLICT (listen_id, connection) DO UPDATE SET delivery_id = excluded.delivery_id")
}

// ForwardingRules returns a person's forwarding rules, by provider.
func ForwardingRules(ctx context.Context, q db.Querier, user int64) ([]delivery.Rule, error) {
	scan := func(r db.Scanner) (v delivery.Rule, err error) {
		var from, oldest, since int64
		err = r.Scan(&v.User, &v.Connection, &v.Kind, &v.Batch, &from, &oldest, &since)
		v.From, v.Oldest, v.Since = db.Instant(from), time.Duration(oldest)*time.Millisecond, db.Instant(since)
		return v, err
	}
	return db.List(ctx, q, scan, `SELECT user_id, connection, kind, batch, from_at, oldest, since FROM forwarding
		WHERE user_id = $1 ORDER BY connection`, user)
}

// Routes returns what decides where the listens of a person go.
func (s *Store) Routes(ctx context.Context, tx *sql.Tx, user int64) (r delivery.Routes, err error) {
	r = delivery.Routes{User: user, Now: time.Now(), ArchiveEvery: s.Options().ArchiveEvery}
	if r.Rules, err = ForwardingRules(ctx, tx, user); err == nil && len(r.Rules) > 0 {
		r.Accounts, err = connections.AccountsOf(ctx, tx, user)
	}
	return r, err
}

// EnqueuePlays enqueues the deliveries that follow from plays which have just been stored.
func (s *Store) EnqueuePlays(ctx context.Context, tx *sql.Tx, user int64, from library.ConnectionID,
	plays []delivery.Play) error {
	routes, err := s.Routes(ctx, tx, user)
	if err != nil {
		return err
	}
	return s.EnqueueAll(ctx, tx, routes.Drafts(from, plays))
}

// EnqueueAll enqueues deliveries. Of copies, it also notes that what they are made of has changed.
func (s *Store) EnqueueAll(ctx context.Context, tx *sql.Tx, drafts []delivery.Draft) error {
	for _, d := range drafts {
		if delivery.Copies(d.Kind) {
			if err := wanted(ctx, tx, d); err != nil {
				return err
			}
		}
	}
	_, err := s.Insert(ctx, tx, drafts...)
	return err
}

// EnqueueCopy notes that ours has changed, and enqueues writing its copy. It returns the id of the delivery.
func (s *Store) EnqueueCopy(ctx context.Context, tx *sql.Tx, d delivery.Draft) (int64, error) {
	if err := wanted(ctx, tx, d); err != nil {
		return 0, err
	}
	return s.Insert(ctx, tx, d)
}

// wanted notes that what a copy is made of has changed.
func wanted(ctx context.Context, tx *sql.Tx, d delivery.Draft) error {
	return db.ExecTx(ctx, tx, `INSERT INTO copies (user_id, connection, kind, ref, wanted, written)
		VALUES ($1, $2, $3, $4, 1, 0)
		ON CONFLICT (user_id, connection, kind, ref) DO UPDATE SET wanted = copies.wanted + 1`,
		d.User, d.Connection, d.Kind, d.Ref)
}
