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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	secrets []string // of players, each of somebody else
	own     string   // of a player of the person
	client  *http.Client
}

// known is how many songs somebody has heard before a benchmark.
const known = 200

// song is what is played: one time in ten, music that nobody has heard.
func song(n int) string {
	if n%10 == 0 {
		return fmt.Sprint("New song ", n)
	}
	return fmt.Sprint("Song ", n%known)
}

// newFleet starts servers that share a database with one person who has heard something.
func newFleet(b *testing.B, n int, settings ...string) *fleet {
	b.Helper()
	w := newWorld(b, demo.Options{Plays: 2000})
	env := append(clusterOf(postgrestest.Start(b).Database("reprise"), w), "REPRISE_ALLOWED_HOSTS=*")
	if len(settings) > 0 {
		env = slices.DeleteFunc(env, func(s string) bool {
			return strings.HasPrefix(s, "REPRISE_SYNC_") && strings.Contains(s, "EVERY")
		})
	}
	env = append(env, settings...)
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
	f.own = f.call("POST", "/players", object{"name": "Room", "kind": "listenbrainz"}, 201)["secret"].(string)
	for i := range 16 {
		m := f.memberFrom(f.servers[0], i+2, fmt.Sprint("listener-", i))
		made := m.call("POST", "/players", object{"name": "Room", "kind": "listenbrainz"}, 201)
		f.secrets = append(f.secrets, made["secret"].(string))
	}
	for n := range known {
		require.True(b, devices["listenbrainz"](f.servers[0].url, f.secrets[0], fmt.Sprint("Song ", n),
			time.Now().Add(-time.Duration(n+1)*time.Hour)))
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
	before := f.used()
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
	return float64(done.Load()) / lasts.Seconds(), f.busiest(before)
}

// used returns the processor time that each server has used.
func (f *fleet) used() (all []time.Duration) {
	for _, p := range f.servers {
		all = append(all, p.cpu())
	}
	return all
}

// busiest returns which part of the processor time since then the busiest server has used.
func (f *fleet) busiest(since []time.Duration) float64 {
	var sum, most time.Duration
	for i, now := range f.used() {
		sum, most = sum+now-since[i], max(most, now-since[i])
	}
	return float64(most) / float64(sum)
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
		require.True(b, devices["listenbrainz"](f.servers[0].url, f.own, fmt.Sprint("Seen ", n),
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
	if _, err := exec.LookPath(haproxy); err != nil {
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
					n := int(sent.Add(1))
					return devices["listenbrainz"](f.base, f.secrets[who], song(n),
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

// counted returns the sum of a counter of a server.
func (p *process) counted(name string) (sum float64) {
	for line := range strings.Lines(p.scrapeText()) {
		if strings.HasPrefix(line, name+"{") {
			n, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
			sum += n
		}
	}
	return sum
}

// BenchmarkServersCall measures how much more several servers read and send than one: 300 connections to 30 servers at
// somebody's home.
func BenchmarkServersCall(b *testing.B) {
	if _, err := exec.LookPath(haproxy); err != nil {
		b.Skip("it needs the Debian package haproxy")
	}
	const homes, people, each, plays = 30, 20, 15, 100
	alone := map[string]float64{}
	for _, n := range []int{1, 2, 3} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFleet(b, n, "REPRISE_DELIVERY_WORKERS=32", "REPRISE_SYNC_WORKERS=32")
			var clubs []*club
			for range homes {
				clubs = append(clubs, newClub(b, people))
			}
			var secrets []string
			for i := range people {
				m := f.memberFrom(f.servers[0], i+2, nameOf(i))
				m.base = f.base
				secrets = append(secrets, m.call("POST", "/players", object{"name": "Room", "kind": "listenbrainz"},
					201)["secret"].(string))
				for k := range each {
					id := "listenbrainz"
					if k > 0 {
						id = fmt.Sprint(id, "-", k+1)
					}
					home := clubs[(i*each+k)%homes]
					m.call("PUT", "/connections/"+id,
						object{"token": "token-" + nameOf(i), "url": home.url + "/1/"}, 200)
					m.call("PUT", "/connections/"+id+"/forwarding", object{}, 200)
				}
			}
			arrived := func() (sum int) {
				for _, c := range clubs {
					sum += c.submissions()
				}
				return sum
			}
			runs := func() (sum float64) {
				for _, p := range f.servers {
					sum += p.counted("reprise_sync_runs_total")
				}
				return sum
			}
			time.Sleep(20 * time.Second) // what is heard before is not forwarded
			for b.Loop() {
				began, before, used := time.Now(), arrived(), f.used()
				var sending sync.WaitGroup
				for i, secret := range secrets { // each play goes to all connections of its person
					sending.Go(func() {
						for n := range plays / people {
							assert.True(b, devices["listenbrainz"](f.base, secret, song(i*plays/people+n),
								began.Add(-time.Duration(n)*time.Second)))
						}
					})
				}
				sending.Wait()
				const most = plays * each * 8 / 10 // connections made a moment ago don't take the oldest
				until(b, func() bool { return arrived()-before >= most }, "most to be sent")
				deliveries := most / time.Since(began).Seconds()
				b.ReportMetric(deliveries, "deliveries/s")
				b.ReportMetric(100*f.busiest(used), "busiest-sending-%")
				f.call("PATCH", "/admin/settings", object{"sync.listens_every": "1s", "sync.playlists_every": "1s"},
					http.StatusOK)
				time.Sleep(5 * time.Second) // the others begin again with that
				ran := runs()
				_, busiest := f.rate(b, func(int) bool {
					time.Sleep(100 * time.Millisecond)
					return true
				})
				perSecond := (runs() - ran) / 6
				b.ReportMetric(perSecond, "runs/s")
				b.ReportMetric(100*busiest, "busiest-%")
				if n == 1 {
					alone["runs"], alone["deliveries"] = perSecond, deliveries
				}
				b.ReportMetric(perSecond/alone["runs"], "runs-of-one")
				b.ReportMetric(deliveries/alone["deliveries"], "deliveries-of-one")
			}
		})
	}
}
