// Package players keeps the programs that send plays, what they are playing and what was refused of them.
package players

import (
	"sync"

	"reprise/internal/store/db"
	"reprise/internal/store/intake"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	intake *intake.Store

	mu      sync.Mutex
	waiting map[int64][]*sent // for the next transaction, by whose it is; see db.DB.Turns
}

// New returns the part of a database.
func New(d *db.DB, intake *intake.Store) *Store {
	return &Store{db: d, intake: intake, waiting: map[int64][]*sent{}}
}
