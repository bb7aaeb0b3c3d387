// Package catalogue keeps the spellings of tracks, and the artists, albums and tracks that they mean. What means what
// is decided by package music.
package catalogue

import (
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db *db.DB

	known spellingCache
	ruled rulingsCache
}

// New returns the part of a database.
func New(d *db.DB) *Store {
	return &Store{db: d}
}
