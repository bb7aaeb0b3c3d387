// Package playlists keeps playlists and their tracks.
package playlists

import (
	"reprise/internal/store/copies"
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	copies *copies.Store
}

// New returns the part of a database.
func New(d *db.DB, copies *copies.Store) *Store {
	return &Store{db: d, copies: copies}
}
