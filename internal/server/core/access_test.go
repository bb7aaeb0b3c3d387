package core

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
)

// Calls that need another scope say so where they are added.
func TestScopeThatACallNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		want         accounts.Scope
	}{
		{http.MethodGet, "/listens", accounts.Read},
		{http.MethodPost, "/imports", accounts.Operate},
		{http.MethodDelete, "/tokens/{id}", accounts.Operate},
		{http.MethodGet, "/admin/users", accounts.Full},
	} {
		require.Equal(t, c.want, needOf(c.method, c.path), "%s %s", c.method, c.path)
	}
}
