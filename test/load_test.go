//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// The load that a server bears (the show of issue 12).
const (
	crowdPeople  = 50
	crowdTabs    = 20 // of each person: 1,000 in all
	loadRequests = 50 // a second
	loadPage     = 100 * time.Millisecond
)

// crowd is people with many tabs, and what went wrong with these.
type crowd struct {
	people   []*person
	messages atomic.Int64
	lost     chan error // tabs that were closed
	stop     func()
}

// gather signs people in and opens their tabs. The first of them is the one given.
func gather(t *testing.T, p *process, first *person, people, tabs int) *crowd {
	t.Helper()
	c := &crowd{people: []*person{first}, lost: make(chan error, people*tabs)}
	for n := 1; n < people; n++ {
		c.people = append(c.people, first.memberFrom(p, n, fmt.Sprintf("Person %d", n)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	c.stop = func() { cancel(); reading.Wait() }
	t.Cleanup(c.stop)
	for range tabs {
		for _, v := range c.people {
			socket, _, err := websocket.Dial(ctx, strings.Replace(v.base, "http", "ws", 1)+"/api/v1/events",
				&websocket.DialOptions{HTTPHeader: v.cookies(), HTTPClient: &http.Client{Transport: v.Transport}})
			require.NoError(t, err)
			socket.SetReadLimit(1 << 20)
			reading.Go(func() {
				for {
					if _, _, err := socket.Read(ctx); err != nil {
						if ctx.Err() == nil {
							c.lost <- err
						}
						return
					}
					c.messages.Add(1)
				}
			})
		}
	}
	return c
}

// load is what a crowd's requests came to.
type load struct {
	mu     sync.Mutex
	took   []time.Duration // from the moment a request was due
	late   []time.Duration // from then until this program got to it: what the machine itself adds
	failed []string
}

// request fetches a path and checks its status.
func (l *load) request(v *person, path string, due time.Time) {
	late := time.Since(due)
	resp, err := v.Get(v.base + path)
	problem := ""
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			problem = resp.Status
		}
	}
	took := time.Since(due)
	if err != nil {
		problem = err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took, l.late = append(l.took, took), append(l.late, late)
	if problem != "" {
		l.failed = append(l.failed, path+": "+problem)
	}
}

// percentile returns the value below which so many of a thousand are.
func percentile(of []time.Duration, thousandth int) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(len(sorted)*thousandth/1000, len(sorted)-1)]
}

// browse sends loadRequests a second to a crowd's pages until ctx ends.
func (c *crowd) browse(ctx context.Context) *load {
	paths := []string{"/", "/listens", "/api/v1/listens?limit=50", "/playlists", "/", "/activity",
		"/api/v1/connections", "/api/v1/notifications", "/settings", "/deliveries"}
	l := &load{}
	var asking sync.WaitGroup
	defer asking.Wait()
	each := time.Second / loadRequests
	for due, n := time.Now(), 0; ; due, n = due.Add(each), n+1 {
		select {
		case <-ctx.Done():
			return l
		case <-time.After(time.Until(due)):
		}
		v := c.people[0] // whose pages have something on them
		if n%2 == 1 {
			v = c.people[(n/2)%len(c.people)]
		}
		asking.Go(func() { l.request(v, paths[n%len(paths)], due) })
	}
}

// runnable returns how many tasks of the machine run or want to.
func runnable(t *testing.T) int {
	b, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	tasks, _, _ := strings.Cut(strings.Fields(string(b))[3], "/")
	n, err := strconv.Atoi(tasks)
	require.NoError(t, err)
	return n
}

// median returns the middle of some numbers.
func median(of []int) int { return slices.Sorted(slices.Values(of))[len(of)/2] }

// TestAThousandTabsAndBusyPages holds 1,000 websockets and asks for 50 pages a second while plays arrive and are sent
// on: nothing fails, no tab is lost, memory stays flat, and a page takes less than a tenth of a second.
func TestAThousandTabsAndBusyPages(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	long, seconds, tabs := soak.All(), 600, crowdTabs
	if !long {
		t.Parallel()
		seconds, tabs = 5, 4
	}
	w := newWorld(t, demo.Options{Plays: 2000, Live: time.Second})
	env := append(lastfmEnv(w), "REPRISE_DELIVERY_FIRST_DELAY=100ms")
	p := start(t, t.TempDir(), env...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Alice, "password": w.Navidrome.Password(demo.Alice)}, 200)
	v.consentAtLastFM(w, agree(), 200)
	names := []string{"spotify", "listenbrainz", "navidrome", "lastfm"}
	for _, name := range names {
		v.becomes(name, "healthy")
	}
	v.call("PUT", "/connections/lastfm/forwarding", object{"earlier": false}, 200)
	sent := len(w.LastFM.Scrobbles())
	c := gather(t, p, v, crowdPeople, tabs)

	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	var used, waiting []int
	var watching sync.WaitGroup
	watching.Go(func() {
		for every := time.NewTicker(time.Second); ctx.Err() == nil; <-every.C {
			used, waiting = append(used, p.memory("VmRSS")), append(waiting, runnable(t))
		}
	})
	cpu := p.cpu()
	l := c.browse(ctx)
	watching.Wait()
	cpu = p.cpu() - cpu
	last := w.Play()
	v.eventually("the last play to be sent on", func() bool {
		return count(w.LastFM.Scrobbles())[idOf(last)] == 1
	})
	page, late := percentile(l.took, 990), percentile(l.late, 990)
	early, end := median(used[len(used)/4:len(used)/2]), median(used[len(used)*3/4:])
	t.Logf("%d requests in %d s with %d tabs: p50 %v, p99 %v, slowest %v; this program was late by p99 %v",
		len(l.took), seconds, crowdPeople*tabs, percentile(l.took, 500), page, percentile(l.took, 1000), late)
	t.Logf("processor %.1f %%; memory %d MiB, then %d MiB, peak %d MiB; %d messages; %d plays sent on",
		100*cpu.Seconds()/float64(seconds), early>>20, end>>20, p.memory("VmHWM")>>20, c.messages.Load(),
		len(w.LastFM.Scrobbles())-sent)
	require.Empty(t, l.failed)
	require.Empty(t, c.lost, "every tab is still open")
	for _, name := range names {
		v.becomes(name, "healthy", "syncing")
	}
	require.Empty(t, p.errors())
	if !long {
		return
	}
	require.Less(t, end, early+early/5, "memory is flat")
	if busy := median(waiting); busy > 2*runtime.NumCPU() {
		t.Logf("others use this machine, so times say nothing: %d tasks on %d processors", busy, runtime.NumCPU())
		return
	}
	require.Less(t, page, loadPage)
}
