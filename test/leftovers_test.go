package test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/demo"
	"reprise/internal/postgrestest"
)

// mark is the environment variable that TestNothingOutlivesTheTests finds processes by.
const mark = "MARK_OF_A_TEST"

// TestNothingOutlivesTheTests runs tests that start what others start, and end in all the ways in which tests end.
func TestNothingOutlivesTheTests(t *testing.T) {
	takesLong(t)
	t.Parallel()
	for _, end := range []string{"well", "with a panic", "by a signal"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			tmp, err := os.MkdirTemp("", "e-")
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(tmp) })
			require.NoError(t, os.Chmod(tmp, 0o755)) // Postgres runs as another user
			marked := mark + "=" + rand.Text()
			tests := exec.Command(os.Args[0], "-test.run=^TestStartsAll$", "-test.v")
			tests.Env = append(os.Environ(), marked, "TMPDIR="+tmp, "GOTMPDIR="+tmp, "END="+end)
			out, err := tests.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, childtest.Tie(tests, syscall.SIGKILL).Start())
			lines := bufio.NewScanner(out)
			for lines.Scan() && !strings.Contains(lines.Text(), "all is there") {
				t.Log(lines.Text())
			}
			require.NotEmpty(t, having(t, marked), "the browser and its children")
			if end == "by a signal" {
				require.NoError(t, tests.Process.Kill())
			}
			for lines.Scan() {
			}
			if err = tests.Wait(); end == "well" {
				require.NoError(t, err)
				left, err := os.ReadDir(tmp)
				require.NoError(t, err)
				require.Empty(t, left)
			}
			until(t, func() bool { return len(having(t, marked)) == 0 }, "the end of all that the tests started")
		})
	}
}

// having returns the command lines of the processes with a mark in their environment.
func having(t *testing.T, marked string) (all []string) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range found {
		b, _ := os.ReadFile(file) // it may have ended by now
		if bytes.Contains(b, []byte(marked)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

// TestStartsAll is what TestNothingOutlivesTheTests runs.
func TestStartsAll(t *testing.T) {
	end := os.Getenv("END")
	if end == "" {
		t.Skip("TestNothingOutlivesTheTests runs it")
	}
	postgrestest.Start(t)
	startWith(t, []string{"-demo", "-listen", "127.0.0.1:0"})
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	for _, tab := range []context.Context{browser(t), wholeChromium.Tab(t)} {
		do(t, tab, chromedp.Navigate(p.url+"/"), sees("main", "Open the link"))
	}
	kept, err := filepath.Glob(os.TempDir() + "/*/*/reprise-demo-*")
	require.NoError(t, err)
	require.Len(t, kept, 1)
	_, err = os.Stdout.WriteString("all is there\n")
	require.NoError(t, err)
	if end == "well" {
		return
	}
	if end == "with a panic" {
		panic("as if by mistake")
	}
	select {} // until it is killed
}

// What tests leave behind is told, ended and removed, and makes the run fail.
func TestARunTellsWhatItLeavesBehind(t *testing.T) {
	t.Parallel()
	run := func(script string) (string, error) {
		out, err := exec.Command("../.ci/in-memory", "sh", "-c", script).CombinedOutput()
		return string(out), err
	}
	said, err := run(`echo "$TMPDIR"; sleep 0.2 & touch "$TMPDIR/file"; rm "$TMPDIR/file"`)
	require.NoError(t, err, "%s", said)
	require.NoDirExists(t, strings.TrimSpace(said))

	said, err = run(`touch "$TMPDIR/file"; setsid sleep 1234 & echo $!; exit 0`)
	require.ErrorContains(t, err, "exit status 1")
	require.Contains(t, said, "left behind, running: sleep 1234")
	require.Regexp(t, `left behind, in \S+: file\n`, said)
	require.NoDirExists(t, "/proc/"+strings.Fields(said)[0])

	_, err = run("exit 3")
	require.ErrorContains(t, err, "exit status 3")
}
