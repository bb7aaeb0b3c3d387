package server_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the golden files hold again")

// The list of routes changes only on purpose: programs and bookmarks depend on it.
func TestListOfRoutes(t *testing.T) {
	t.Parallel()
	var routes []string
	for _, r := range newServer(t).Router().Routes() {
		if r.Method != echo.RouteNotFound {
			routes = append(routes, r.Method+" "+r.Path)
		}
	}
	slices.Sort(routes)
	list := strings.Join(routes, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile("testdata/routes.txt", []byte(list), 0o600))
	}
	want, err := os.ReadFile("testdata/routes.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), list)
}
