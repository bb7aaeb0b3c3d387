package test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/soak"
)

// startWithFiles runs the server with a limit on its open files.
func startWithFiles(t *testing.T, limit string, env ...string) *process {
	t.Helper()
	return launch(t, exec.Command("sh", "-c", `ulimit -n "$0" && exec "$@"`, limit, built, "-data-dir",
		t.TempDir(), "-listen", "127.0.0.1:0"), env...)
}

// deafReader connects from an address, sends requests without end and reads no answer. It calls stuck when the server
// takes no more from it, or has cut it off. It comes back when it is cut off, until ctx ends.
func deafReader(ctx context.Context, from, to string, stuck func()) {
	requests := bytes.Repeat([]byte("GET /static/app.css HTTP/1.1\r\nHost: "+to+"\r\n\r\n"), 1000)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Second}
	for ctx.Err() == nil {
		c, err := dialer.DialContext(ctx, "tcp", to)
		if err != nil {
			continue
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		for err == nil && ctx.Err() == nil {
			_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
			if _, err = c.Write(requests); errors.Is(err, os.ErrDeadlineExceeded) {
				err = nil
				stuck()
			}
		}
		stuck()
		_ = c.Close()
	}
}

// visits returns the longest that one of many visits of a page took. Each visit is a connection of its own.
func (p *process) visits(t *testing.T, n int) (longest time.Duration) {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range n {
		began := time.Now()
		resp, err := client.Get(p.url + "/livez")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		longest = max(longest, time.Since(began))
	}
	return longest
}

// Promise: A hundred strangers who ask for files and never read them keep nobody else waiting.
func TestDeafReadersStopNobodyElse(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	limits, visits := []string{"64"}, 15
	if soak.All() {
		limits, visits = append(limits, "1024"), 50
	}
	for _, files := range limits {
		t.Run(files, func(t *testing.T) {
			p := startWithFiles(t, files, "REPRISE_LOG_LEVEL=info")
			calm := p.visits(t, 20)
			ctx, stop := context.WithCancel(t.Context())
			var strangers, busy sync.WaitGroup
			for range 100 {
				busy.Add(1)
				strangers.Go(func() {
					deafReader(ctx, "127.0.0.66", strings.TrimPrefix(p.url, "http://"), sync.OnceFunc(busy.Done))
				})
			}
			busy.Wait()
			attacked := p.visits(t, visits)
			stop()
			strangers.Wait()
			t.Logf("the slowest page took %v in peace, and %v under attack", calm, attacked)
		})
	}
}
