// Package lookup finds music, listens and playlists by words.
package lookup

import (
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/statistics"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db         *db.DB
	catalogue  *catalogue.Store
	listens    *listens.Store
	statistics *statistics.Store

	words wordCache
}

// New returns the part of a database.
func New(d *db.DB, catalogue *catalogue.Store, listens *listens.Store, statistics *statistics.Store) *Store {
	return &Store{db: d, catalogue: catalogue, listens: listens, statistics: statistics}
}
