// Package connections keeps people's connections with their sealed credentials, the apps' keys that wait, and consents
// under way.
package connections

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
