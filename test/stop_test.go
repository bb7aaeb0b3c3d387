package test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// dawdle begins a request that never ends, so that stopping takes as long as the settings allow. It returns when the
// server handles the request.
func (p *process) dawdle() {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprint(conn, "POST /api/v1/session HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(p.t, err)
	_, err = conn.Read(make([]byte, 1)) // the server asks for the rest
	require.NoError(p.t, err)
}

// refusing waits until a stopping server accepts no more connections.
func (p *process) refusing() {
	p.t.Helper()
	p.visitor().eventually("no more connections", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "REPRISE_SHUTDOWN_TIMEOUT=1h")
	p.newcomer()
	p.dawdle()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.refusing()
	require.Empty(t, p.exited, "the request under way may end")
	err := p.stop(syscall.SIGINT)
	exit, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, ok)
	require.Equal(t, 128+int(syscall.SIGINT), exit.ExitCode())
	start(t, dir).returning()
}

func TestTwoSignalsInARowStopAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "REPRISE_SHUTDOWN_TIMEOUT=1h")
	p.dawdle()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	exit, ok := errors.AsType[*exec.ExitError](p.stop(syscall.SIGINT))
	require.True(t, ok, "it does not wait for the request under way")
	// The system may deliver signals that are pending together in any order.
	require.Contains(t, []int{128 + int(syscall.SIGINT), 128 + int(syscall.SIGTERM)}, exit.ExitCode())
}

func TestStoppingCutsAnEndlessRequestOff(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "REPRISE_SHUTDOWN_TIMEOUT=1s")
	p.dawdle()
	began := time.Now()
	require.NoError(t, p.stop(syscall.SIGINT), "exit code 0")
	require.Greater(t, time.Since(began), time.Second)
	require.Less(t, time.Since(began), patience)
}

// Promise: A supervisor must not restart the server because a service is down.
func TestAnOutageLeavesTheServerReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Unavailable))
	v.becomes("listenbrainz", "waiting")
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		resp, err := http.Get(p.url + path)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, 200, resp.StatusCode, path)
	}
}
