package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMapNamesEveryPackage(t *testing.T) {
	t.Parallel()
	page := read(t, "architecture.md")
	dirs, err := os.ReadDir("../internal")
	require.NoError(t, err)
	for _, d := range dirs {
		name := d.Name()
		helps := strings.HasSuffix(name, "test") || name == "testdb" || name == "soak" || name == "bench"
		if d.IsDir() && !helps {
			require.Contains(t, page, "`"+name+"`", "architecture.md has no place for internal/%s", name)
		}
	}
}
