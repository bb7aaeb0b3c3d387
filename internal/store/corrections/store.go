// Package corrections keeps what people change about their listens, so that each change can be undone.
package corrections

import (
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/deletions"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
	"reprise/internal/store/playrules"
	"reprise/internal/store/statistics"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db         *db.DB
	catalogue  *catalogue.Store
	deletions  *deletions.Store
	intake     *intake.Store
	listens    *listens.Store
	outbox     *outbox.Store
	rules      *playrules.Store
	statistics *statistics.Store
}

// New returns the part of a database.
func New(d *db.DB, catalogue *catalogue.Store, deletions *deletions.Store, intake *intake.Store,
	listens *listens.Store, outbox *outbox.Store, rules *playrules.Store, statistics *statistics.Store) *Store {
	return &Store{
		db:        d,
		catalogue: catalogue, deletions: deletions, intake: intake, listens: listens, outbox: outbox,
		rules:      rules,
		statistics: statistics,
	}
}
