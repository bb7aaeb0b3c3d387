// Package settings keeps what administrators have set, the answers of repeated requests, and the list of servers.
package settings

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
