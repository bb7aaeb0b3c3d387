// Package notices keeps notifications, the channels that they go out by, messages under way, and what members ask for.
package notices

import (
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	outbox *outbox.Store
}

// New returns the part of a database.
func New(d *db.DB, outbox *outbox.Store) *Store {
	return &Store{db: d, outbox: outbox}
}
