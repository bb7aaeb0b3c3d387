//go:build unix

package datadir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/store/db"
)

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

// A data directory that was made by hand, or by an installer, is often open to everybody on the machine.
func TestAnOpenDataDirectoryIsClosed(t *testing.T) {
	t.Parallel()
	d := household(t, 1)
	require.NoError(t, os.Chmod(d.Path, 0o755))
	open := []string{KeyFile, db.FileName, db.FileName + ".7.bak", oldKeyFile + "0123", "lock"}
	for _, name := range open {
		path := filepath.Join(d.Path, name)
		f, err := os.OpenFile(path, os.O_CREATE, 0o600)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, os.Chmod(path, 0o664))
	}
	theirs := filepath.Join(d.Path, "notes.txt")
	require.NoError(t, os.WriteFile(theirs, nil, 0o600))
	require.NoError(t, os.Chmod(theirs, 0o644))
	require.NoError(t, d.Protect())
	require.Equal(t, os.FileMode(0o700), modeOf(t, d.Path))
	for _, name := range open {
		require.Equal(t, os.FileMode(0o600), modeOf(t, filepath.Join(d.Path, name)), name)
	}
	require.Equal(t, os.FileMode(0o644), modeOf(t, theirs), "a file that isn't ours")
}

func TestASharedDirectoryStaysOpen(t *testing.T) {
	t.Parallel()
	sticky := filepath.Join(t.TempDir(), "like tmp")
	require.NoError(t, os.Mkdir(sticky, 0o700))
	require.NoError(t, os.Chmod(sticky, 0o777|os.ModeSticky))
	require.ErrorContains(t, Dir{Path: sticky}.Protect(), "other users")
	require.Equal(t, os.FileMode(0o777), modeOf(t, sticky))
	for _, dir := range []string{"/", "/usr", "/var/lib", "/etc/../home"} {
		require.True(t, isShared(dir), dir)
	}
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	require.True(t, isShared(home))
	require.False(t, isShared(filepath.Join(home, "reprise")))
	before := modeOf(t, "/usr")
	require.ErrorContains(t, Dir{Path: "/usr"}.Protect(), "other users")
	require.Equal(t, before, modeOf(t, "/usr"))
}

// Another user's directory is left as it is: the owner may have shared it on purpose.
func TestAnothersDirectoryIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chown(dir, 12345, 12345))
	require.ErrorContains(t, Dir{Path: dir}.Protect(), "belongs to another user")
	require.Equal(t, os.FileMode(0o755), modeOf(t, dir))
}
