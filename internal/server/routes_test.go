package server_test

import (
	"flag"
	"os"
	"path/filepath"
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

// A folder with calls looks after each of them, see servertest.Main.
func TestEveryFolderWatchesItsCalls(t *testing.T) {
	t.Parallel()
	folders := map[string]bool{}
	for _, handler := range newServer(t).Handlers() {
		if folder, ours := strings.CutPrefix(handler, "reprise/internal/server/"); ours {
			folder, _, _ = strings.Cut(folder, ".")
			folders[folder] = true
		}
	}
	require.Greater(t, len(folders), 20)
	delete(folders, "feed") // its calls are streams, and have tests of their own
	for folder := range folders {
		main, err := os.ReadFile(filepath.Join(folder, "main_test.go"))
		require.NoError(t, err, "%s has calls", folder)
		require.Contains(t, string(main), "servertest.Main(m)", folder)
	}
}
