package test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
)

// thirdOfACore is what one of the servers of a benchmark may use, as microseconds in each tenth of a second.
const thirdOfACore = 33_333

// throttled starts a server that may use a third of a core. Its control group ends with the benchmark.
func throttled(b *testing.B, env []string) *process {
	b.Helper()
	parent, file, value := filepath.Join(cgroups, "cpu"), "cpu.cfs_quota_us", fmt.Sprint(thirdOfACore)
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil { // version 2
		parent, file, value = cgroups, "cpu.max", fmt.Sprint(thirdOfACore, " 100000")
	}
	group, err := os.MkdirTemp(parent, "reprise-bench-")
	if err == nil {
		b.Cleanup((&cage{dir: group}).remove)
		err = os.WriteFile(filepath.Join(group, file), []byte(value), 0o600)
	}
	if err != nil {
		b.Skip("only root can make control groups: ", err)
	}
	args := []string{"-data-dir", b.TempDir(), "-listen", "127.0.0.1:0"}
	return launch(b, (&cage{dir: group}).command(built, args...), env...)
}

// visited are the pages and calls of the benchmark.
var visited = []string{"/", "/listening", "/listens", "/playlists", "/notifications", "/api/v1/listens?limit=20",
	"/api/v1/connections", "/search?q=a"}

// fleet is a number of servers behind a load balancer.
type fleet struct {
	*person
	servers []*process
	secrets []string // of players
	client  *http.Client
}

// newFleet starts servers that share a database with one person who has heard something.
func newFleet(b *testing.B, n int) *fleet {
	b.Helper()
	w := newWorld(b, demo.Options{Plays: 2000})
	env := append(clusterOf(postgrestest.Start(b).Database("reprise"), w), "REPRISE_ALLOWED_HOSTS=*")
	f := &fleet{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	var at []string
	for range n {
		p := throttled(b, env)
		f.servers, at = append(f.servers, p), append(at, strings.TrimPrefix(p.url, "http://"))
	}
	f.person = f.servers[0].newcomer()
	f.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	f.becomes("listenbrainz", "healthy")
	f.eventually("the history", func() bool { return f.total() >= 2000 })
	for i := range 16 {
		made := f.call("POST", "/players", object{"name": fmt.Sprint("Room ", i), "kind": "listenbrainz"}, 201)
		f.secrets = append(f.secrets, made["secret"].(string))
	}
	until(b, func() bool {
		answering := func(p *process) bool {
			return p.timesLeading() > 0 || strings.Contains(p.log.String(), "this server follows the leader")
		}
		return !slices.ContainsFunc(f.servers, func(p *process) bool { return !answering(p) })
	}, "every server to answer")
	f.base = balance(b, at...)
	return f
}

// rate has many do something over and over for a while, and returns how often a second they did, and which part of the
// processor time the busiest server has used.
func (f *fleet) rate(b *testing.B, do func(who int) bool) (perSecond, busiest float64) {
	b.Helper()
	const clients, lasts = 16, 6 * time.Second
	var before []time.Duration
	for _, p := range f.servers {
		before = append(before, p.cpu())
	}
	var done atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(lasts)
	for who := range clients {
		all.Go(func() {
			for time.Now().Before(end) {
				if do(who) {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	var sum, most time.Duration
	for i, p := range f.servers {
		used := p.cpu() - before[i]
		sum, most = sum+used, max(most, used)
	}
	return float64(done.Load()) / lasts.Seconds(), float64(most) / float64(sum)
}

// seen returns within which time an open page at one server shows nearly all plays that another one has taken, in
// milliseconds.
func (f *fleet) seen(b *testing.B) int64 {
	b.Helper()
	last := f.servers[len(f.servers)-1]
	page, _ := f.at(last).open()
	var took []time.Duration
	for n := range 100 {
		began := time.Now()
		require.True(b, devices["listenbrainz"](f.servers[0].url, f.secrets[0], fmt.Sprint("Seen ", n),
			began.Add(-time.Duration(n)*time.Minute)))
		page.next("listens", func(object) bool { return true })
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[98].Milliseconds()
}

// BenchmarkServers measures how much more several servers do than one. Each has a third of a core; Postgres and the
// load balancer have what they need.
func BenchmarkServers(b *testing.B) {
	if _, err := exec.LookPath("/usr/sbin/haproxy"); err != nil {
		b.Skip("it needs the Debian package haproxy")
	}
	alone := map[string]float64{}
	for _, n := range []int{1, 2, 3} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFleet(b, n)
			for b.Loop() {
				cookies := f.cookies()
				pages, busiest := f.rate(b, func(int) bool {
					r, err := http.NewRequest(http.MethodGet, f.base+visited[rand.IntN(len(visited))], nil)
					require.NoError(b, err)
					r.Header = cookies
					resp, err := f.client.Do(r)
					if err != nil {
						return false
					}
					defer resp.Body.Close()
					_, err = io.Copy(io.Discard, resp.Body)
					return err == nil && resp.StatusCode == http.StatusOK
				})
				b.ReportMetric(pages, "pages/s")
				b.ReportMetric(100*busiest, "busiest-%")
				var sent atomic.Int64
				began := time.Now().Add(-24 * time.Hour)
				plays, _ := f.rate(b, func(who int) bool {
					n := sent.Add(1)
					return devices["listenbrainz"](f.base, f.secrets[who], fmt.Sprint("Song ", n),
						began.Add(time.Duration(n)*time.Second))
				})
				b.ReportMetric(plays, "plays/s")
				if n == 1 {
					alone["pages"], alone["plays"] = pages, plays
				}
				b.ReportMetric(float64(f.seen(b)), "seen-p99-ms")
				b.ReportMetric(pages/alone["pages"], "pages-of-one")
				b.ReportMetric(plays/alone["plays"], "plays-of-one")
			}
		})
	}
}
