package datadir_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/datadir"
)

// A process that is killed can't remove its data: the next one does, and leaves those alone that still run.
func TestDataOfKilledProcessesIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const prefix = "reprise-demo-"
	runs, err := os.MkdirTemp("", prefix)
	require.NoError(t, err)
	unlock, err := datadir.Dir{Path: runs}.Lock()
	require.NoError(t, err)
	defer unlock()
	killed, err := os.MkdirTemp("", prefix)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(killed+"/lock", nil, 0o600))
	made, remove, err := datadir.Temporary(prefix)
	require.NoError(t, err)
	require.DirExists(t, made)
	require.NoError(t, remove())
	require.NoDirExists(t, made)
	require.NoDirExists(t, killed)
	require.DirExists(t, runs)
}
