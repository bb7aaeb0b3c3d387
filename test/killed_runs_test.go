package test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// Promise: A stream whose answers end the process three times is set aside; everything else goes on, and a button
// takes it up again.
func TestTheThirdKillSetsTheStreamAside(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	var calm atomic.Bool
	var asked atomic.Int64
	deep := make(chan struct{})                     // the server is in the middle of the answer
	begin := playlists + strings.Repeat(" ", 9<<20) // more than what is on its way in sockets
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "AlbumList"):
			_, _ = io.WriteString(w, okay+`,"albumList2":{}}}`)
		case strings.Contains(r.URL.Path, "Starred"):
			_, _ = io.WriteString(w, okay+`,"starred2":{}}}`)
		case strings.Contains(r.URL.Path, "search3"):
			_, _ = io.WriteString(w, okay+`,"searchResult3":{}}}`)
		case !strings.Contains(r.URL.Path, "laylist"):
			_, _ = io.WriteString(w, okay+"}}")
		case calm.Load():
			asked.Add(1)
			_, _ = io.WriteString(w, begin+"]}}}")
		default:
			asked.Add(1)
			_, _ = io.WriteString(w, begin)
			w.(http.Flusher).Flush()
			select {
			case deep <- struct{}{}:
			case <-r.Context().Done():
			}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(evil.Close)
	w, dir := newWorld(t, demo.Options{}), t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/navidrome-2", navidromeOf(w, demo.Alice), 200)
	v.call("PUT", "/connections/navidrome", object{"url": evil.URL, "username": "a", "password": "b"}, 200)
	for range 3 {
		<-deep
		require.Error(t, p.stop(syscall.SIGKILL))
		p = start(t, dir, worldEnv(w)...)
	}
	before := asked.Load()
	v = p.returning()
	v.becomes("navidrome", "needs_admin")
	v.becomes("navidrome-2", "healthy")
	require.Contains(t, v.call("GET", "/connections/navidrome", nil, 200)["detail"],
		"set aside: the server itself ended 3 times in a row while it read this")
	require.Equal(t, "navidrome", v.alerted()["connection"])
	require.Equal(t, before, asked.Load(), "it is not asked any more")

	calm.Store(true)
	v.call("POST", "/connections/navidrome/retry", nil, 202)
	v.becomes("navidrome", "healthy")
	require.NoError(t, p.stop(syscall.SIGTERM))
	p = start(t, dir, worldEnv(w)...)
	p.returning().becomes("navidrome", "healthy")
}
