//go:build unix

package datadir

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rotating is the environment variable that makes the test's own program change the key of a directory.
const rotating = "REPRISE_TEST_ROTATE"

func TestMain(m *testing.M) {
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
	began := time.Now()
	out, err := rotate().CombinedOutput()
	require.NoError(t, err, string(out))
	whole, killed := time.Since(began), 0
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
