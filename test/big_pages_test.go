package test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// bigLibrary is a server whose playlist keeps to every limit, in letters that a page writes with five bytes each.
func bigLibrary(t *testing.T) *httptest.Server {
	big := hostileAnswer{okay + `,"playlists":{"playlist":[{"id":"1","name":"Long","songCount":15000}]},` +
		`"playlist":{"id":"1","name":"Long","entry":[`, `{"id":"1","title":"` + strings.Repeat("'", 300) +
		`","artist":"` + strings.Repeat("'", 300) + `"},`, 15_000, `{"id":"2","title":"t","artist":"a"}]}}}`}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "laylist") {
			_, _ = io.WriteString(w, okay+"}}")
			return
		}
		big.write(w)
	}))
	t.Cleanup(s.Close)
	return s
}

// Promise: The page of the largest playlist there can be, opened many times at once, ends no small server.
func TestBigPagesKillNoSmallServer(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	const mib = 1 << 20
	c, err := newCage(t, 128*mib)
	if err != nil {
		t.Skip(err)
	}
	w := newWorld(t, demo.Options{})
	p := c.serve(t, worldEnv(w)...)
	v := p.newcomer()
	evil, friend := v.member(p, "Evil"), v.member(p, "Friend")
	evil.call("PUT", "/connections/navidrome", object{"url": bigLibrary(t).URL, "username": "x", "password": "evil"},
		200)
	id := ""
	evil.eventually("the playlist is stored", func() bool {
		all := evil.call("GET", "/playlists", nil, 200)["playlists"].([]any)
		if len(all) > 0 {
			id = fmt.Sprint(all[0].(object)["id"])
		}
		return id != ""
	})
	rows := strings.Builder{}
	_, _ = rows.WriteString("artist,album,track,date\n")
	for i := range 3000 {
		name := strings.Repeat("'", 490) + fmt.Sprint(i)
		_, _ = fmt.Fprintf(&rows, "%s,%s,%s,%d\n", name, name, name, 1_500_000_000+1000*i)
	}
	require.Equal(t, 201, evil.sendFile("provider=lastfm", strings.NewReader(rows.String())).StatusCode)
	evil.eventually("the file is read", func() bool { return evil.lastImport()["state"] == "done" })
	t.Logf("the group used %d MiB at the most before", c.peak()/mib)
	for _, path := range []string{"/playlists/" + id, "/api/v1/playlists/" + id,
		"/settings/account/export", "/playlists",
		"/api/v1/playlists", "/listens?limit=1000", "/api/v1/listens?limit=1000"} {
		var asking sync.WaitGroup
		began := time.Now()
		var mu sync.Mutex
		statuses := map[string]int{}
		var bytes int64
		for range 20 {
			asking.Go(func() {
				resp, err := evil.Get(p.url + path)
				s := ""
				if err == nil {
					n, e := io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					s = fmt.Sprint(resp.StatusCode, e)
					mu.Lock()
					bytes += n
					mu.Unlock()
				} else {
					s = "err"
				}
				mu.Lock()
				statuses[s]++
				mu.Unlock()
			})
		}
		var slowest time.Duration
		for range 20 {
			at := time.Now()
			resp, err := friend.Get(p.url + "/listens")
			if err != nil {
				break
			}
			resp.Body.Close()
			slowest = max(slowest, time.Since(at))
		}
		asking.Wait()
		t.Logf("%s: %v, %d MiB, took %v; a friend's slowest page %v; peak %d MiB, killed %d", path, statuses, bytes/mib,
			time.Since(began), slowest, c.peak()/mib, c.killed())
		if c.killed() > 0 {
			break
		}
	}
	require.Zero(t, c.killed())
}
