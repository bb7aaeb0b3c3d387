package household

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A directory that has a database is left as it is, and the demo says what to do.
func TestADirectoryOfAnEarlierDemoIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := filepath.Join(dir, "reprise.db")
	require.NoError(t, os.WriteFile(kept, []byte("listens"), 0o600))
	err := Rounds{DataDir: dir}.Run(t.Context())
	require.ErrorContains(t, err, "needs an empty data directory")
	require.ErrorContains(t, err, "or delete "+dir)
	require.FileExists(t, kept)
}
