// Package sendings keeps which plays were sent to servers that only count them.
package sendings

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
