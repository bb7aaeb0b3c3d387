//go:build reprisetest

package queue

import (
	"database/sql"

	"github.com/riverqueue/river"
)

// Bare returns a River client as it comes, on the same connection to the database. Benchmarks compare with it.
func (q *Queue) Bare(c river.Config) (*river.Client[*sql.Tx], error) {
	return river.NewClient(q.driver, &c)
}
