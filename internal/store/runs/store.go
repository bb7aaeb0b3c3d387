// Package runs keeps how far each stream has been read, what came of each run, its gaps and the items it skipped.
package runs

import (
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db *db.DB
}

// New returns the part of a database.
func New(d *db.DB) *Store {
	return &Store{db: d}
}
