// Package enrichment keeps what sources told about music, and what they are still to be asked.
package enrichment

import (
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/statistics"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db         *db.DB
	catalogue  *catalogue.Store
	statistics *statistics.Store
}

// New returns the part of a database.
func New(d *db.DB, catalogue *catalogue.Store, statistics *statistics.Store) *Store {
	return &Store{db: d, catalogue: catalogue, statistics: statistics}
}
