package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneStatementCanRunTwiceAtOnce(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s := fresh(t)
	tx, err := s.writer.BeginTx(t.Context(), nil) // one connection for all queries
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
	require.NoError(t, s.exec(t.Context(), insert, "a", "1"))
	require.Error(t, s.exec(t.Context(), insert, "a", "2"), "the name is taken")
	require.NoError(t, s.exec(t.Context(), insert, "b", "3"))
	require.Equal(t, 2, number(t, s, "SELECT count(*) FROM facts WHERE name IN ('a', 'b')"))
}

func TestAStatementSeesAChangedSchema(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s := fresh(t)
	columns := func() int {
		rows, err := s.writer.Query("SELECT * FROM growing")
		require.NoError(t, err)
		defer rows.Close()
		names, err := rows.Columns()
		require.NoError(t, err)
		return len(names)
	}
	require.NoError(t, s.exec(t.Context(), "CREATE TABLE growing (a INTEGER)"))
	require.NoError(t, s.exec(t.Context(), "INSERT INTO growing VALUES (1)"))
	require.Equal(t, 1, columns())
	require.NoError(t, s.exec(t.Context(), "ALTER TABLE growing ADD COLUMN b INTEGER"))
	require.Equal(t, 2, columns())
	require.NoError(t, s.exec(t.Context(), "DROP TABLE growing"), "no kept statement locks it")
}

func TestKeptStatementsAreBounded(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s := fresh(t)
	for n := range 2 * keptStatements {
		require.Equal(t, n, number(t, s, fmt.Sprintf("SELECT %d", n)))
	}
	c, err := s.reader.Conn(t.Context())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Raw(func(driver any) error {
		require.LessOrEqual(t, len(driver.(*countedConn).fullConn.(*preparedConn).idle), keptStatements)
		return nil
	}))
}

func TestParametersInOrderNeedNoNumbers(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1": "SELECT 1",
		"SELECT a FROM t WHERE b = $1 AND c IN ($2,$3)":             "SELECT a FROM t WHERE b = ? AND c IN (?,?)",
		"INSERT INTO t VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)": "INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?,?,?)",
		"SELECT '$1?', \"$2\", 'it''s $9' WHERE a = $1":             "SELECT '$1?', \"$2\", 'it''s $9' WHERE a = ?",
	} {
		require.Equal(t, want, unnumbered(query))
	}
	for _, query := range []string{
		"SELECT $2, $1", "SELECT $1, $1", "SELECT $1, $3", "SELECT $10", "SELECT $1, $12", "SELECT $", "SELECT $a",
		"SELECT ?1", "SELECT $1, ?", "SELECT $1 -- $2", "SELECT $1 /* $2 */", "SELECT '$1", "SELECT @a, $1",
		"SELECT :a", "SELECT `$1`", "SELECT [$1]",
	} {
		require.Equal(t, query, unnumbered(query))
	}
}
