package store

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"reprise/internal/store/db"
)

// A large database is checked while the server serves already; what the check finds is told when it ends.
func TestDamageIsFoundBesideTheServer(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", "admin")
	save(t, s, user, "spotify", repeat(3000, 5)...)
	require.NoError(t, s.Close())
	path := filepath.Join(dir, db.FileName)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := len(b) / 2; i < len(b)-4096; i++ { // what an opening does not read
		b[i] = byte(i * 7)
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	s, err = Open(t.Context(), in(t, dir), testKey(t, testSecret), Options{Options: db.Options{CheckBeside: true}})
	if err == nil { // the check took longer than Open waits for it
		err = s.Sound(t.Context())
		require.NoError(t, s.Close())
	}
	require.ErrorContains(t, err, "is damaged. Put back a copy of it")
}

func TestClosingEndsTheCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), in(t, t.TempDir()), testKey(t, testSecret),
			Options{Options: db.Options{CheckBeside: true}})
		require.NoError(t, err)
		require.NoError(t, s.Sound(t.Context()), "a new one is sound")
		require.NoError(t, s.Close(), "a goroutine that is left would fail this test")
	})
}
