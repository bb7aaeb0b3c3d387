package test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// from returns a client whose connections come from an address of this machine.
func from(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: 40 * time.Second}
}

// dripping is a body that comes a byte at a time until its context ends.
type dripping struct{ context.Context }

func (d dripping) Read(p []byte) (int, error) {
	select {
	case <-d.Done():
		return 0, io.ErrUnexpectedEOF
	case <-time.After(100 * time.Millisecond):
		p[0] = ' '
		return 1, nil
	}
}

// nonsense are bodies that are meant to exhaust memory.
var nonsense = map[string]string{
	"deep": strings.Repeat(`{"payload":[`, 40_000),
	"wide": `{"payload":[` + strings.Repeat("{},", 150_000) + `{}]}`,
	"keys": `{"a":1` + strings.Repeat(`,"b":1`, 80_000) + `}`,
	"text": `{"listen_type":"` + strings.Repeat("x", 500_000) + `"}`,
	"history": `{"listen_type":"import","payload":[` +
		strings.Repeat(`{"track_metadata":{"additional_info":{"x":[[]]}}},`, 180_000) + `{}]}`,
	"form":  strings.Repeat("a%5B0%5D=&", 50_000),
	"parts": "--b\r\n" + strings.Repeat("X: y\r\n", 60_000),
}

// Promise: Floods of wrong secrets, slow bodies and nonsense from many addresses keep no player out, on a server with
// 128 MiB.
func TestHostilePlayersStopNobody(t *testing.T) {
	takesLong(t)
	t.Parallel()
	s := startSmall(t, built, append(worldEnv(newWorld(t, demo.Options{Plays: 1})), "REPRISE_LOG_LEVEL=warn")...)
	v := s.newcomer()
	kitchen := v.call(http.MethodPost, "/players", object{"name": "Kitchen", "kind": "any"}, 201)
	mallory := v.call(http.MethodPost, "/players", object{"name": "Mallory", "kind": "any"}, 201)
	s.report("before")

	ctx, stop := context.WithCancel(t.Context())
	var attacks sync.WaitGroup
	var struck atomic.Int64
	attack := func(address, path, secret, kind string, size int64, body func() io.Reader) {
		client := from(address)
		attacks.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, body())
				if err != nil {
					return
				}
				req.ContentLength = size
				req.Header.Set("Content-Type", kind)
				if secret == "" {
					secret = rand.Text() + rand.Text()
				}
				req.Header.Set("Authorization", "Token "+secret)
				if resp, err := client.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					struck.Add(1)
				}
			}
		})
	}
	slow := func() io.Reader { return dripping{ctx} }
	own, ways := mallory["secret"].(string), []string{"/1/submit-listens", "/2.0/", "/nowplaying_1.2", "/json"}
	for n := range soak.Count(t, 24, 8) { // wrong secrets, and large and small bodies without an end
		for i, way := range ways {
			attack(fmt.Sprint("127.0.1.", 1+n%3), way, "", "application/json", 2, func() io.Reader {
				return strings.NewReader("{}")
			})
			attack(fmt.Sprint("127.0.2.", 1+i), way, "", "application/json", 10_000_000, slow)
			attack(fmt.Sprint("127.0.3.", 1+i), way, own, "application/json", 10_000_000, slow)
			attack(fmt.Sprint("127.0.4.", 1+i), way, own, "application/json", 1000, slow)
			attack(fmt.Sprint("127.0.5.", 1+i), way, own, "application/json", -1, slow)
		}
	}
	for name, body := range nonsense {
		kind := map[string]string{"form": "application/x-www-form-urlencoded",
			"parts": "multipart/form-data; boundary=b"}[name]
		for i, way := range append(ways, "/p/"+own+"/plex", "/p/"+own+"/jellyfin") {
			attack(fmt.Sprint("127.0.6.", 1+i), way, own, kind, int64(len(body)), func() io.Reader {
				return strings.NewReader(body)
			})
		}
	}

	radio, began := from("127.0.0.1"), time.Now()
	var slowest time.Duration
	plays := soak.Count(t, 300, 40)
	for n := range plays {
		at := time.Now()
		body := fmt.Sprintf(`{"listen_type":"single","payload":[{"listened_at":%d,"track_metadata":{
			"artist_name":"Björk","track_name":"Song %d"}}]}`, began.Unix()-int64(n)*300, n)
		require.Eventually(t, func() bool {
			s.requireAlive()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/1/submit-listens",
				strings.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Token "+kitchen["secret"].(string))
			resp, err := radio.Do(req)
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			said, _ := io.ReadAll(resp.Body)
			require.NotContains(t, string(said), "busy", "others take its room")
			return resp.StatusCode == http.StatusOK
		}, patience, 100*time.Millisecond, "a play is not taken")
		slowest = max(slowest, time.Since(at))
	}
	require.Positive(t, struck.Load())
	stop()
	attacks.Wait()
	s.requireAlive()
	t.Logf("%d hostile requests were answered; the slowest play took %v", struck.Load(), slowest)
	s.report("after everything")
	require.Len(t, v.call(http.MethodGet, "/listens?limit=500&source="+kitchen["id"].(string), nil, 200)["listens"],
		plays, "each play that was taken is there, once")
}
