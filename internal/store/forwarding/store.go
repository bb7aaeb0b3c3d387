// Package forwarding keeps where the listens of people are forwarded, and what became of each.
package forwarding

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
