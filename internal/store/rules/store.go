// Package rules keeps what administrators decide about music: merges, splits, names and pictures.
package rules

import (
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/enrichment"
	"reprise/internal/store/statistics"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db         *db.DB
	catalogue  *catalogue.Store
	enrichment *enrichment.Store
	statistics *statistics.Store
}

// New returns the part of a database.
func New(d *db.DB, catalogue *catalogue.Store, enrichment *enrichment.Store, statistics *statistics.Store) *Store {
	return &Store{db: d, catalogue: catalogue, enrichment: enrichment, statistics: statistics}
}
