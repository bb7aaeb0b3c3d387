// Package imports keeps files that people import, and stores the listens in them.
package imports

import (
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/outbox"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db        *db.DB
	catalogue *catalogue.Store
	intake    *intake.Store
	outbox    *outbox.Store
}

// New returns the part of a database.
func New(d *db.DB, catalogue *catalogue.Store, intake *intake.Store, outbox *outbox.Store) *Store {
	return &Store{db: d, catalogue: catalogue, intake: intake, outbox: outbox}
}
