//go:build unix

package datadir

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/store/db"
)

// rotating is the environment variable that makes the test's own program change the key of a directory.
const rotating = "REPRISE_TEST_ROTATE"

// copying is the environment variable that makes it copy the database of a directory again and again.
const copying = "REPRISE_TEST_COPY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(copying); dir != "" {
		for n := 0; ; n++ {
			err := (Dir{Path: dir}).Backup(context.Background(), fmt.Sprintf("%s/copy-%d", dir, n), io.Discard)
			if err != nil {
				panic(err)
			}
		}
	}
	if dir := os.Getenv(rotating); dir != "" {
		if err := (Dir{Path: dir}).RotateKey(context.Background(), io.Discard); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A real process is killed at moments that are spread over the whole of its work.
func TestAKilledKeyChangeLosesNothing(t *testing.T) {
	t.Parallel()
	const people, kills = 3, 24
	d := household(t, people)
	rotate := func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), rotating+"="+d.Path)
		return c
	}
	whole, killed := time.Hour, 0
	for range 3 { // a busy machine takes ten times as long now and then
		began := time.Now()
		out, err := rotate().CombinedOutput()
		require.NoError(t, err, string(out))
		whole = min(whole, time.Since(began))
	}
	for i := range kills {
		c := rotate()
		require.NoError(t, c.Start())
		end := time.AfterFunc(whole*time.Duration(i)/kills, func() { _ = c.Process.Kill() })
		if c.Wait() != nil {
			killed++
		}
		end.Stop()
		requireCredentials(t, d, people)
		requireNothingHalf(t, d)
		require.NoFileExists(t, d.Path+"/"+NextKeyFile)
	}
	t.Logf("%d of %d were killed at work; a whole change takes %s", killed, kills, whole)
	require.NotZero(t, killed)
}

// parts returns the unfinished copies in a folder.
func parts(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(dir + "/*.part*")
	require.NoError(t, err)
	return all
}

// A backup to the data directory is killed: what it has written is removed by the next start, and in another folder by
// the next backup there. While one is under way, nothing of it is.
func TestWhatAKilledBackupLeftIsRemoved(t *testing.T) {
	t.Parallel()
	d := household(t, 3)
	// The first and the last program that has a database open locks all others out for a moment. The backup, which is
	// frozen at any time, must be neither.
	open, err := sql.Open("sqlite", filepath.Join(d.Path, db.FileName))
	require.NoError(t, err)
	defer open.Close()
	require.NoError(t, open.QueryRowContext(t.Context(), "SELECT count(*) FROM users").Scan(new(int)))
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), copying+"="+d.Path)
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool {
		if len(parts(t, d.Path)) == 0 {
			return false
		}
		require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
		if len(parts(t, d.Path)) > 0 {
			return true
		}
		require.NoError(t, c.Process.Signal(syscall.SIGCONT)) // it was quicker
		return false
	}, time.Minute, time.Millisecond)
	requireCredentials(t, d, 3)
	require.NotEmpty(t, parts(t, d.Path), "the backup is under way")
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	left := parts(t, d.Path)[0]
	other := filepath.Join(t.TempDir(), filepath.Base(left))
	require.NoError(t, os.Rename(left, other))
	require.NoError(t, os.WriteFile(left+"-journal", nil, 0o600))
	download := filepath.Join(d.Path, "somebody's download.part")
	require.NoError(t, os.WriteFile(download, nil, 0o600))
	for _, made := range []string{".new-1", "reprise.db.part", "reprise.db.40.bak.part"} {
		require.NoError(t, os.WriteFile(filepath.Join(d.Path, made), nil, 0o600))
	}

	requireCredentials(t, d, 3)
	require.Equal(t, []string{download}, parts(t, d.Path))
	requireNothingHalf(t, d)
	require.NoError(t, d.Backup(t.Context(), filepath.Join(filepath.Dir(other), "today"), io.Discard))
	require.NoFileExists(t, other)
}
