// Package people keeps accounts, their sessions, API tokens, links and what they did.
package people

import (
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	*Ways
	db *db.DB
}

// Ways are what people come in by beside a password.
type Ways struct{ db *db.DB }

// New returns the part of a database.
func New(d *db.DB) *Store {
	return &Store{Ways: &Ways{d}, db: d}
}
