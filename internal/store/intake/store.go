// Package intake stores the plays that a service reports, each once. Which reports are of one play is decided by
// package music.
package intake

import (
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db        *db.DB
	catalogue *catalogue.Store
	outbox    *outbox.Store
}

// New returns the part of a database.
func New(d *db.DB, catalogue *catalogue.Store, outbox *outbox.Store) *Store {
	return &Store{db: d, catalogue: catalogue, outbox: outbox}
}
