package core

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
)

func TestScopeThatACallNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		want         accounts.Scope
	}{
		{http.MethodGet, "/api/v1/listens", accounts.Read},
		{http.MethodPost, "/api/v1/imports", accounts.Operate},
		{http.MethodDelete, "/api/v1/tokens/:id", accounts.Operate},
		{http.MethodGet, "/api/v1/admin/users", accounts.Full},
		{http.MethodPost, "/api/v1/tokens", bySession},
		{http.MethodGet, "/api/v1/tokens", accounts.Operate},
		{http.MethodDelete, "/api/v1/session", bySession},
		{http.MethodDelete, "/api/v1/sessions", bySession},
		{http.MethodDelete, "/api/v1/sessions/:id", bySession},
	} {
		require.Equal(t, c.want, needOf(c.method, c.path), "%s %s", c.method, c.path)
	}
}
