// Package statistics keeps each person's listens as columns, and counts them.
package statistics

import (
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/people"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db        *db.DB
	catalogue *catalogue.Store
	people    *people.Store

	heard   playsCache
	counted countCache
	music   musicCache
}

// New returns the part of a database.
func New(d *db.DB, catalogue *catalogue.Store, people *people.Store) *Store {
	return &Store{db: d, catalogue: catalogue, people: people}
}
