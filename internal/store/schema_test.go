package store

import (
	"database/sql"
	flags "flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flags.Bool("update", false, "rewrite schema.sql")

// A new database has what all steps make of an empty one: a household that began with the first version and one that
// begins today have the same tables. Run it with -update after adding a step, or with a newer River.
func TestANewDatabaseIsWhatTheStepsMake(t *testing.T) {
	stepped, made := t.TempDir(), t.TempDir()
	for _, files := range []int{newest(t) - 1, newest(t)} {
		s, err := openWith(t.Context(), Place{Dir: stepped}, testKey(t, testSecret), Options{},
			before(t, files))
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	want := fmt.Sprintf("-- Step %d: what a new database has. schema_test.go writes this file.\n\n%s", newest(t),
		described(t, stepped))
	if *update {
		require.NoError(t, os.WriteFile("schema.sql", []byte(want), 0o600))
		return
	}
	require.Equal(t, want, sqliteSchema, "run go test ./internal/store -run Steps -update")
	s, err := Open(t.Context(), Place{Dir: made}, testKey(t, testSecret), Options{})
	require.NoError(t, err)
	require.Equal(t, newest(t), version(t, s))
	require.NoError(t, s.Close())
	require.Equal(t, described(t, stepped), described(t, made))
}

// described returns the statements that make the tables of a database and the rows that belong to them.
func described(t testing.TB, dir string) string {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, FileName))
	require.NoError(t, err)
	defer db.Close()
	var all strings.Builder
	// goose has made its table before, and SQLite makes what belongs to a table for searching.
	statements := `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
		AND name <> 'goose_db_version' AND name NOT LIKE 'search_texts\__%' ESCAPE '\' ORDER BY rowid`
	for _, statement := range cells(t, db, statements) {
		all.WriteString(statement + ";\n")
	}
	tables := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
		AND name NOT IN ('goose_db_version', 'facts') AND name NOT LIKE 'search_texts%' ORDER BY rowid`
	for _, table := range cells(t, db, tables) {
		columns := cells(t, db, `SELECT name FROM pragma_table_info('`+table+`')
			WHERE name <> 'created_at' ORDER BY cid`)
		quoted := "quote(" + strings.Join(columns, ") || ', ' || quote(") + ")"
		for _, row := range cells(t, db, "SELECT "+quoted+" FROM "+table) {
			fmt.Fprintf(&all, "INSERT INTO %s (%s) VALUES (%s);\n", table, strings.Join(columns, ", "), row)
		}
	}
	return all.String()
}

func cells(t testing.TB, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.Query(query)
	require.NoError(t, err, query)
	defer rows.Close()
	for rows.Next() {
		var value string
		require.NoError(t, rows.Scan(&value))
		all = append(all, value)
	}
	require.NoError(t, rows.Err())
	return all
}
