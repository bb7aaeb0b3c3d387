package providertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
)

// Rows checks that a golden answer covers every row of a provider's tables. met holds the statuses and codes of these
// answers, as read by the adapter.
func Rows(t testing.TB, tables providers.Tables, met []providers.Row) {
	t.Helper()
	for _, n := range tables.Of {
		for i, row := range n.Table {
			found := false
			for _, m := range met {
				found = found || first(n.Table, m) == i
			}
			require.True(t, found, "%s, %s: no golden answer meets the row %d %q", tables.Provider, n.Calls,
				row.Status, row.Code)
		}
	}
}

// first returns the index of the row that applies to an answer, or -1.
func first(t providers.Table, answer providers.Row) int {
	for i, r := range t {
		if (r.Status == 0 || r.Status == answer.Status) && (r.Code == "" || r.Code == answer.Code) {
			return i
		}
	}
	return -1
}
