package db

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// A new database is checked while it is made, on a slow machine at the same moment.
func TestANewFileIsNotInItsOwnWay(t *testing.T) {
	for range 50 {
		f := newSQLite(t.TempDir())
		writer, reader, err := f.connect(t.Context(), locking{})
		require.NoError(t, err)
		var both errgroup.Group
		for _, pool := range []*sql.DB{writer, reader} {
			both.Go(func() error { return pool.PingContext(t.Context()) })
		}
		require.NoError(t, both.Wait())
		require.NoError(t, writer.Close())
		require.NoError(t, reader.Close())
	}
}
