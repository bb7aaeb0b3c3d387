package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneStatementCanRunTwiceAtOnce(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s := fresh(t)
	tx, err := s.Writer.BeginTx(t.Context(), nil) // one connection for all queries
	require.NoError(t, err)
	defer tx.Rollback()
	const query = "SELECT value FROM (SELECT 1 AS value UNION SELECT 2) WHERE value < $1 ORDER BY value"
	read := func(below int) (found []int) {
		rows, err := tx.Query(query, below)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var n int
			require.NoError(t, rows.Scan(&n))
			found = append(found, n)
		}
		require.NoError(t, rows.Err())
		return found
	}
	rows, err := tx.Query(query, 3)
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.Equal(t, []int{1}, read(2), "while the first one is open")
	var n int
	require.True(t, rows.Next())
	require.NoError(t, rows.Scan(&n))
	require.Equal(t, 2, n)
	require.False(t, rows.Next())
	require.NoError(t, rows.Close())
	require.Equal(t, []int{1, 2}, read(3), "and afterwards")
	require.Equal(t, []int{1}, read(2))
}

func TestAStatementRunsAgainAfterItFailed(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s := fresh(t)
	const insert = "INSERT INTO facts (name, value) VALUES ($1, $2)"
	require.NoError(t, s.Exec(t.Context(), insert, "a", "1"))
	require.Error(t, s.Exec(t.Context(), insert, "a", "2"), "the name is taken")
	require.NoError(t, s.Exec(t.Context(), insert, "b", "3"))
	require.Equal(t, 2, number(t, s, "SELECT count(*) FROM facts WHERE name IN ('a', 'b')"))
}

func TestAStatementSeesAChangedSchema(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s := fresh(t)
	columns := func() int {
		rows, err := s.Writer.Query("SELECT * FROM growing")
		require.NoError(t, err)
		defer rows.Close()
		names, err := rows.Columns()
		require.NoError(t, err)
		return len(names)
	}
	require.NoError(t, s.Exec(t.Context(), "CREATE TABLE growing (a INTEGER)"))
	require.NoError(t, s.Exec(t.Context(), "INSERT INTO growing VALUES (1)"))
	require.Equal(t, 1, columns())
	require.NoError(t, s.Exec(t.Context(), "ALTER TABLE growing ADD COLUMN b INTEGER"))
	require.Equal(t, 2, columns())
	require.NoError(t, s.Exec(t.Context(), "DROP TABLE growing"), "no kept statement locks it")
}
