// Package outbox keeps the deliveries, what they are about, and what became of it.
package outbox

import (
	"context"
	"sync/atomic"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/queue"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db          *db.DB
	connections *connections.Store
	listens     *listens.Store

	Jobs *queue.Queue
	opt  atomic.Pointer[Options]
}

// Options are the settings of new deliveries. Zero values mean the defaults.
type Options struct {
	Attempts     int           // how often one may be attempted; default delivery.Schedule's
	ArchiveEvery time.Duration // how long a month of the archive waits for more listens; default not at all
}

// New returns the part of a database.
func New(d *db.DB, connections *connections.Store, listens *listens.Store) *Store {
	return &Store{db: d, connections: connections, listens: listens}
}

// OpenQueue opens the queue in the database; see [queue.Options].
func (s *Store) OpenQueue(ctx context.Context, server string, follow bool) (err error) {
	s.Jobs, err = queue.Open(ctx, s.db.Driver(s.db.Writer), s.db.Write, queue.Options{Server: server, Follow: follow})
	return db.Explain(err)
}

// Configure changes the settings, for deliveries from now on.
func (s *Store) Configure(opt Options) {
	if opt.Attempts == 0 {
		opt.Attempts = delivery.Schedule{}.WithDefaults().Attempts()
	}
	s.opt.Store(&opt)
}

// Options returns the settings that hold now.
func (s *Store) Options() Options { return *s.opt.Load() }
