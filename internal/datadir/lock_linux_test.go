package datadir

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A child process has all files of its parent open until it executes its program.
func TestALockEndsAlsoWhileAProcessStarts(t *testing.T) {
	d := Dir{Path: t.TempDir()}
	unlock, err := d.Lock()
	require.NoError(t, err)
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	shared := false
	for _, f := range files {
		to, err := os.Readlink("/proc/self/fd/" + f.Name())
		if err != nil || to != filepath.Join(d.Path, lockFile) {
			continue
		}
		fd, err := strconv.Atoi(f.Name())
		require.NoError(t, err)
		inChild, err := syscall.Dup(fd)
		require.NoError(t, err)
		defer syscall.Close(inChild)
		shared = true
		break
	}
	require.True(t, shared)
	require.True(t, d.InUse())
	unlock()
	require.False(t, d.InUse())
	unlock, err = d.Lock()
	require.NoError(t, err)
	unlock()
}
