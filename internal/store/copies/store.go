// Package copies keeps the copies of playlists and loved songs at other services, and the songs that nobody could
// match.
package copies

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
