//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
)

// failure is a way in which a server fails, and how to end it.
type failure func(b *testing.B, s *seat) (mend func())

var failures = map[string]failure{
	"killed": func(b *testing.B, s *seat) func() {
		require.Error(b, s.stop(syscall.SIGKILL))
		return func() {}
	},
	"stopped": func(b *testing.B, s *seat) func() {
		require.NoError(b, s.cmd.Process.Signal(syscall.SIGSTOP))
		return func() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }
	},
	"cut off": func(_ *testing.B, s *seat) func() { return s.relay.swallow() },
}

// slowest collects how long something took.
type slowest struct {
	mu   sync.Mutex
	took []time.Duration
}

func (s *slowest) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, d)
}

// at returns how long a share of them took at most, in milliseconds.
func (s *slowest) at(share float64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.took) == 0 {
		return 0
	}
	slices.Sort(s.took)
	return float64(s.took[min(len(s.took)-1, int(share*float64(len(s.took))))].Milliseconds())
}

// BenchmarkServersFail measures what people notice when one of three servers behind a load balancer fails, the one that
// calls the service: how long pages of the others take, 99 of 100; the longest that anybody waits for a page, if it
// comes or not; the longest that an open page is without its websocket; and when the service is called again.
func BenchmarkServersFail(b *testing.B) {
	if _, err := exec.LookPath(haproxy); err != nil {
		b.Skip("it needs the Debian package haproxy")
	}
	for _, way := range []string{"killed", "stopped", "cut off"} {
		b.Run(way, func(b *testing.B) {
			for b.Loop() {
				fail(b, failures[way])
			}
		})
	}
}

func fail(b *testing.B, do failure) {
	w := newWorld(b, demo.Options{Plays: 300})
	database := postgrestest.Start(b).Database("reprise")
	var seats []*seat
	var at []string
	for range 3 {
		s := &seat{}
		var through string
		s.relay, through = newRelay(b, database)
		s.process = startWith(b, []string{"-data-dir", b.TempDir(), "-listen", "127.0.0.1:0"},
			append(clusterOf(through, w), "REPRISE_ALLOWED_HOSTS=*", "REPRISE_SYNC_LISTENS_EVERY=1s")...)
		seats, at = append(seats, s), append(at, strings.TrimPrefix(s.url, "http://"))
	}
	v := seats[0].newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.becomes("listenbrainz", "healthy")
	before := make([]int, len(seats))
	for i := range seats {
		before[i] = len(seats[i].calls(b))
	}
	broken := -1
	until(b, func() bool {
		broken = slices.IndexFunc(seats, func(s *seat) bool {
			return len(s.calls(b)) > before[slices.Index(seats, s)]+2
		})
		return broken >= 0
	}, "a server to call the service")
	base, cookies := balance(b, at...), v.cookies()
	get := func(client *http.Client, base string) {
		r, err := http.NewRequest(http.MethodGet, base+"/listens", nil)
		assert.NoError(b, err)
		r.Header = cookies
		if resp, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // how long it takes counts, not whether it comes
			_ = resp.Body.Close()
		}
	}
	var others, anybody, live slowest
	var failed atomic.Pointer[time.Time]
	ctx, end := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	repeat := func(base string, took *slowest) {
		client := &http.Client{Transport: &http.Transport{}}
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(50 * time.Millisecond):
				}
				began := time.Now()
				get(client, base)
				took.add(time.Since(began))
			}
		})
	}
	for range 9 { // open pages
		all.Go(func() {
			var lost time.Time // when its server failed or ended it
			for {
				c, resp, err := websocket.Dial(ctx, strings.Replace(base, "http", "ws", 1)+"/api/v1/events",
					&websocket.DialOptions{HTTPHeader: http.Header{"Cookie": cookies["Cookie"], "Origin": {base}}})
				if err == nil {
					_, _, err = c.Read(ctx) // the first message
				}
				if err == nil && !lost.IsZero() {
					live.add(time.Since(lost))
				}
				served := err == nil
				for err == nil {
					_, _, err = c.Read(ctx)
				}
				if c != nil {
					_ = c.CloseNow()
				}
				if began := failed.Load(); served {
					lost = time.Now()
					if began != nil && resp.Header.Get("Served-By") == fmt.Sprint("s", broken) {
						lost = *began
					}
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(500 * time.Millisecond): // as the page waits
				}
			}
		})
	}
	time.Sleep(3 * time.Second) // all are at it
	began := time.Now()
	failed.Store(&began)
	mend := do(b, seats[broken])
	for i := range seats {
		if i != broken {
			repeat(seats[i].url, &others)
			repeat(seats[i].url, &others)
		}
	}
	for range 12 {
		repeat(base, &anybody)
	}
	var again time.Duration
	until(b, func() bool {
		for i, s := range seats {
			for _, one := range s.calls(b) {
				if i != broken && one.After(began) {
					again = one.Sub(began)
					return true
				}
			}
		}
		return false
	}, "another server to call the service")
	time.Sleep(5 * time.Second)
	b.ReportMetric(others.at(0.99), "others-p99-ms")
	b.ReportMetric(anybody.at(1), "longest-ms")
	b.ReportMetric(live.at(1), "socket-ms")
	b.ReportMetric(float64(again.Milliseconds()), "calls-again-ms")
	mend()
}
