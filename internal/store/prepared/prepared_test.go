package prepared

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"
)

func TestKeptStatementsAreBounded(t *testing.T) {
	t.Parallel()
	connector, err := sqlite.NewConnector("file:" + filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, err)
	reader := sql.OpenDB(preparing{connector})
	defer reader.Close()
	reader.SetMaxOpenConns(1)
	for n := range 2 * keptStatements {
		var got int
		require.NoError(t, reader.QueryRow(fmt.Sprintf("SELECT %d", n)).Scan(&got))
		require.Equal(t, n, got)
	}
	c, err := reader.Conn(t.Context())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Raw(func(driver any) error {
		require.LessOrEqual(t, len(driver.(*preparedConn).idle), keptStatements)
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
