package test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/soak"
	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
)

// backlog fills the database of a stopped server with deliveries of one listen each, for its first person's connection
// to ListenBrainz.
func backlog(t testing.TB, dir string, n int) {
	t.Helper()
	ctx := context.Background()
	secret, err := os.ReadFile(dir + "/secret.key")
	require.NoError(t, err)
	key, err := db.NewKey(string(secret))
	require.NoError(t, err)
	db, err := store.Open(ctx, db.Place{Dir: dir}, key, store.Options{Sending: outbox.Options{Attempts: 300}})
	require.NoError(t, err)
	defer db.Close()
	const atOnce = 10_000
	for from := 0; from < n; from += atOnce {
		page := make([]library.Listen, min(atOnce, n-from))
		for i := range page {
			title := fmt.Sprintf("Song %06d", from+i)
			page[i] = library.Listen{Track: library.Track{Title: title, Artist: "Sigur Rós"}, SourceID: title,
				PlayedAt: time.Now().Add(-time.Duration(n-from-i) * 4 * time.Minute)}
		}
		_, err := db.SaveListens(ctx, library.Intake{User: 1, Connection: "spotify", Listens: page})
		require.NoError(t, err)
	}
	owed, err := db.StartForwarding(ctx, delivery.Rule{User: 1, Connection: "listenbrainz",
		Kind:  delivery.SubmitListens,
		Batch: 1}, true)
	require.NoError(t, err)
	require.GreaterOrEqual(t, owed, n)
}

// resident returns a process's memory in MiB, as the kernel counts it.
func (p *process) resident(t testing.TB) float64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 64)
			require.NoError(t, err)
			return kib / 1024
		}
	}
	require.FailNow(t, "the kernel tells no memory of the process")
	return 0
}

// backlogged returns a server with n deliveries that wait because ListenBrainz is down.
func backlogged(t testing.TB, n int) (*process, *person) {
	t.Helper()
	w := newWorld(t, demo.Options{Plays: 60})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	require.NoError(t, p.stop(syscall.SIGTERM))
	backlog(t, dir, n)
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Unavailable))
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), worldEnv(w)...)
	v = p.returning()
	v.becomes("listenbrainz", "waiting")
	return p, v
}

// Promise: Ten thousand waiting deliveries go out, each once.
func TestTenThousandWaitingDeliveries(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	p, v := backlogged(t, 10_000)
	counts := v.call("GET", "/deliveries", nil, 200)["counts"].(object)
	require.InDelta(t, 10_000, counts["scheduled"].(float64)+counts["running"].(float64)+
		counts["retrying"].(float64), 0.5)
	for _, ask := range []struct {
		method, path string
		body         object
	}{
		{"PUT", "/connections/listenbrainz/forwarding", object{"earlier": true}},
		{"POST", "/deliveries/redrive", object{"filter": object{"state": "dead"}, "dry_run": false}},
	} {
		resp, _ := v.send(ask.method, ask.path, ask.body)
		require.Equal(t, 429, resp.StatusCode, ask.path)
		require.NotEmpty(t, resp.Header.Get("Retry-After"))
	}
	warned := func() int { return strings.Count(p.log.String(), "many deliveries wait") }
	v.eventually("a warning in the log", func() bool { return warned() > 0 })
	require.Equal(t, 1, warned(), "the log says so once")
	if !raceEnabled {
		require.Less(t, p.resident(t), 100.0)
	}
}

// BenchmarkBacklog measures the memory of a server with 100,000 waiting deliveries while somebody views them.
func BenchmarkBacklog(b *testing.B) {
	p, v := backlogged(b, 100_000)
	most := 0.0
	for b.Loop() {
		v.page("/deliveries", 200)
		v.page("/", 200)
		most = max(most, p.resident(b))
	}
	b.ReportMetric(most, "MiB")
}
