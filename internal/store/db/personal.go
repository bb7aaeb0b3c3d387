package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
)

// personal is a transaction that belongs to one person; see WriteFor.
type personal struct {
	db     *DB
	person int64
	after  []func()
}

type personalKey struct{}

func personalOf(ctx context.Context) *personal {
	p, _ := ctx.Value(personalKey{}).(*personal)
	return p
}

// errEverybodys says that a personal transaction would add to what everybody shares.
var errEverybodys = errors.New("this belongs to everybody")

// apart are the sequences of what belongs to one person. They are counted outside the transaction, in which all people
// would wait for its end.
var apart = map[string]bool{"listens": true, "deliveries": true}

// WriteFor is Write for what belongs to one person: on a database that servers share, those of several people go on at
// once. fn gets the context to use in it. It may read what everybody shares; where it would add to that, NextIDs fails,
// and all is done again as Write does it. So fn may be called twice.
func (s *DB) WriteFor(ctx context.Context, person int64, fn func(context.Context, *sql.Tx) error) error {
	if s.people == nil {
		return s.Write(ctx, func(tx *sql.Tx) error { return fn(ctx, tx) })
	}
	p := &personal{db: s, person: person}
	own := context.WithValue(ctx, personalKey{}, p)
	err := write(own, s.people, func(tx *sql.Tx) error { return fn(own, tx) })
	if errors.Is(err, errEverybodys) {
		return s.Write(ctx, func(tx *sql.Tx) error { return fn(ctx, tx) })
	}
	if err == nil {
		for _, do := range p.after {
			do()
		}
	}
	return err
}

// Turns returns whose transactions wait for each other: a person's own, where WriteFor has those of several go on at
// once; otherwise 0 for everybody's.
func (s *DB) Turns(person int64) int64 {
	if s.people == nil {
		return 0
	}
	return person
}

// ExecFor is Exec for what belongs to one person; see WriteFor.
func (s *DB) ExecFor(ctx context.Context, person int64, query string, args ...any) error {
	return s.WriteFor(ctx, person, func(ctx context.Context, tx *sql.Tx) error {
		return ExecTx(ctx, tx, query, args...)
	})
}

// After has something done after the commit of a transaction of WriteFor, and reports whether the context is of one.
func After(ctx context.Context, do func()) bool {
	p := personalOf(ctx)
	if p != nil {
		p.after = append(p.after, do)
	}
	return p != nil
}

// NextIDs reserves n consecutive IDs for rows of a table and returns the first. In WriteFor it fails for what everybody
// shares, also with n = 0: what follows may change that as well.
func NextIDs(ctx context.Context, tx *sql.Tx, table string, n int) (int64, error) {
	var in RowQuerier = tx
	if p := personalOf(ctx); p != nil {
		if !apart[table] {
			return 0, errEverybodys
		}
		in = p.db.ids
	}
	if n == 0 {
		return 0, nil
	}
	var last int64
	err := in.QueryRowContext(ctx, `INSERT INTO sequences (name, last) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET last = sequences.last + excluded.last RETURNING last`, table, n).Scan(&last)
	return last - int64(n) + 1, err
}

// peopleAtOnce is how many transactions of people a server has under way at most.
const peopleAtOnce = 4

// beside returns the pools of transactions of people, and of the ids in them.
func (p postgres) beside(how locking) (people, ids *sql.DB) {
	if !how.shared { // a server alone gains nothing by it
		return nil, nil
	}
	pool := func(n int, settings string) *sql.DB {
		made := p.pool(true, func(ctx context.Context, c *pgx.Conn) error {
			if _, err := c.Exec(ctx, settings); err != nil {
				return err
			}
			return under(ctx, c, how.lease)
		})
		made.SetMaxOpenConns(n)
		made.SetMaxIdleConns(n)
		return made
	}
	// Ids need not wait for the disk: the commit of the transaction that uses them writes them as well.
	return pool(peopleAtOnce, waitingLimits), pool(1, waitingLimits+"; SET synchronous_commit = off")
}
