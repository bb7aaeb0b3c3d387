// Package deletions keeps which deleted listens are to be deleted at the services, too.
package deletions

import (
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db      *db.DB
	listens *listens.Store
	outbox  *outbox.Store
}

// New returns the part of a database.
func New(d *db.DB, listens *listens.Store, outbox *outbox.Store) *Store {
	return &Store{db: d, listens: listens, outbox: outbox}
}
