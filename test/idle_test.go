package test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/library"
)

// idleFor is how long an idle server is watched, after restsIn: what its start has changed is looked at a minute later,
// and again a minute after that.
const idleFor, restsIn = 2 * time.Minute, 4 * time.Minute

// TestIdleFigures prints what the server in the file $IDLE costs while nothing happens; `make idle` runs it.
func TestIdleFigures(t *testing.T) {
	program := os.Getenv("IDLE")
	if program == "" {
		t.Skip("make idle runs it")
	}
	info, err := os.Stat(program)
	require.NoError(t, err)
	fmt.Printf("binary: %.1f MB (limit: 53)\n", float64(info.Size())/1e6)
	w := newWorld(t, demo.Options{Plays: 50})
	empty, full := t.TempDir(), t.TempDir()
	run := func(dir string, env ...string) (*process, time.Duration) {
		cmd := exec.Command(program, "-data-dir", dir, "-listen", "127.0.0.1:0")
		began := time.Now()
		p := launch(t, cmd, append(env, "REPRISE_LOG_LEVEL=debug")...)
		resp, err := http.Get(p.url + "/livez")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return p, time.Since(began)
	}
	large := largeDatabase(t, run)
	var times []time.Duration
	for range 5 {
		p, took := run(large)
		require.NoError(t, p.stop(syscall.SIGTERM))
		times = append(times, took)
	}
	slices.Sort(times)
	fmt.Printf("500,000 listens:\n  start to first answer %d ms (limit: 150)\n", times[2].Milliseconds())
	p, _ := run(full, musicEnv(w)...)
	first := p.newcomer()
	for n := range 50 { // two connections each
		v := first
		if n > 0 {
			v = first.memberFrom(p, n, fmt.Sprintf("Person %d", n))
		}
		v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
		v.call("PUT", "/connections/navidrome", object{"url": w.Navidrome.URL + "/", "username": demo.Alice,
			"password": w.Navidrome.Password(demo.Alice)}, 200)
	}
	time.Sleep(time.Minute)
	require.NoError(t, p.stop(syscall.SIGTERM))

	// Nothing is due while it is watched.
	seldom := append(musicEnv(w), "REPRISE_SYNC_LISTENS_EVERY=24h", "REPRISE_SYNC_PLAYLISTS_EVERY=24h",
		"REPRISE_SYNC_ENRICH_EVERY=1h")
	for _, c := range []struct {
		name, dir string
		env       []string
	}{{"the first start", empty, nil}, {"an empty database", empty, nil}, {"100 connections", full, seldom}} {
		p, took := run(c.dir, c.env...)
		time.Sleep(restsIn)
		before := usageOf(t, p)
		time.Sleep(idleFor)
		after := usageOf(t, p)
		require.NoError(t, p.stop(syscall.SIGTERM))
		rate := func(a, b int64) float64 { return float64(b-a) / idleFor.Minutes() }
		fmt.Printf("%s:\n  start to first answer %d ms (limit: 60, not at the first start)\n"+
			"  resident %.1f MB (limit: 40)\n  processor %.3f s a minute (limit: 0.06)\n"+
			"  statements %.1f, transactions %.1f a minute (limit: 0)\n  written %.0f bytes a minute (limit: 0)\n",
			c.name, took.Milliseconds(), float64(after.resident)/1e6, rate(before.processor, after.processor)/100,
			rate(before.statements, after.statements), rate(before.transactions, after.transactions),
			rate(before.written, after.written))
	}
}

// largeDatabase returns the data directory of a person with 500,000 listens, whose server has run.
func largeDatabase(t *testing.T, run func(dir string, env ...string) (*process, time.Duration)) string {
	t.Helper()
	dir := t.TempDir()
	p, _ := run(dir)
	p.newcomer()
	require.NoError(t, p.stop(syscall.SIGTERM))
	secret, err := os.ReadFile(dir + "/secret.key")
	require.NoError(t, err)
	db := opened(t, dir, string(secret))
	const plays, atOnce = 500_000, 10_000
	for from := 0; from < plays; from += atOnce {
		page := make([]library.Listen, atOnce)
		for i := range page {
			n := from + i
			track := n * n % 29_989
			page[i] = library.Listen{SourceID: fmt.Sprint(n),
				PlayedAt: time.Now().Add(-time.Duration(n) * 10 * time.Minute),
				Track: library.Track{Title: fmt.Sprint("Song ", track), Artist: fmt.Sprint("Artist ", track/6),
					Album: fmt.Sprint("Album ", track/10), Duration: 200 * time.Second}}
		}
		_, err := db.SaveListens(t.Context(), library.Intake{User: 1, Connection: "listenbrainz", Listens: page})
		require.NoError(t, err)
	}
	require.NoError(t, db.Index(t.Context()))
	require.NoError(t, db.BuildColumns(t.Context()))
	require.NoError(t, db.Close())
	return dir
}

// usage is what a server has used since its start. The processor is in hundredths of a second, the others in bytes.
type usage struct{ resident, processor, written, statements, transactions int64 }

var (
	resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)
	written  = regexp.MustCompile(`\nwrite_bytes: (\d+)`)
	asked    = regexp.MustCompile(`"statements":(\d+),"transactions":(\d+)`)
)

func usageOf(t *testing.T, p *process) (u usage) {
	t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, name))
		require.NoError(t, err)
		return string(b)
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	u.resident = 1024 * number(resident.FindStringSubmatch(read("status"))[1])
	u.written = number(written.FindStringSubmatch(read("io"))[1])
	_, fields, _ := strings.Cut(read("stat"), ") ")
	times := strings.Fields(fields)
	u.processor = number(times[11]) + number(times[12])
	lines := asked.FindAllStringSubmatch(p.log.String(), -1) // one a minute
	require.NotEmpty(t, lines)
	last := lines[len(lines)-1]
	u.statements, u.transactions = number(last[1]), number(last[2])
	return u
}
