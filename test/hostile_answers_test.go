package test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// hostileAnswer is what a Subsonic server answers when it is asked for its lists: text without an end but the last.
type hostileAnswer struct {
	begin, unit string
	n           int
	end         string
}

func (a hostileAnswer) write(w io.Writer) {
	_, _ = io.WriteString(w, a.begin)
	block := strings.Repeat(a.unit, 1000)
	for range a.n / 1000 {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, a.end)
}

const (
	okay      = `{"subsonic-response":{"status":"ok","type":"evil","openSubsonic":false`
	playlists = okay + `,"playlists":{"playlist":[`
)

// hostileAnswers are what those servers send, by the name of the account that asks. The last two keep to every limit,
// and cost as much as that allows.
var hostileAnswers = map[string]hostileAnswer{
	"empty":  {playlists, `{},`, 3_400_000, `{}]}}}`},
	"lists":  {playlists + `{"id":`, `[[],[]],`, 1_200_000, `[]}]}}}`},
	"deep":   {playlists, `[`, 10_000_000, `]}}}`},
	"fields": {playlists + `{`, `"a":{},`, 1_400_000, `"a":{}}]}}}`},
	"title":  {playlists + `{"id":"1","name":"`, "x", 9_000_000, `"}]}}}`},
	"bomb":   {playlists, `{"id":"1"},`, 300_000_000, `{}]}}}`},
	"names": {playlists, `{"id":"1","name":"` + strings.Repeat("n", 450) + `","songCount":1},`, 19_000,
		`{"id":"2","name":"The last","songCount":1}]}}}`},
	"songs": {okay + `,"playlists":{"playlist":[{"id":"1","name":"Long","songCount":15000}]},"playlist":{"id":"1",` +
		`"name":"Long","entry":[`, `{"id":"1","title":"` + strings.Repeat("t", 300) + `","artist":"` +
		strings.Repeat("a", 270) + `","isrc":["1","2","3"]},`, 15_000, `{"id":"2","title":"t","artist":"a"}]}}}`},
}

// evilSubsonic is a server that signs everybody in, and drips at "slow".
func evilSubsonic(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		account := r.Form.Get("u")
		switch {
		case !strings.Contains(r.URL.Path, "laylist") && !strings.Contains(r.URL.Path, "AlbumList"):
			_, _ = io.WriteString(w, okay+"}}")
		case account == "slow":
			_, _ = io.WriteString(w, playlists+strings.Repeat(" ", 2<<20))
			for r.Context().Err() == nil {
				time.Sleep(50 * time.Millisecond)
				_, _ = io.WriteString(w, " ")
				w.(http.Flusher).Flush()
			}
		case account == "bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			hostileAnswers[account].write(z)
			_ = z.Close()
		default:
			hostileAnswers[account].write(w)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Promise: Hostile answers of nine servers at once end no small server, and others are served all the while.
func TestHostileAnswersKillNoSmallServer(t *testing.T) {
	takesLong(t)
	t.Parallel()
	if !soak.All() {
		t.Skip("the soak runs it; TestHostileServersAndFilesStopNobody is its short form")
	}
	const mib = 1 << 20
	first, second := []string{"songs", "empty", "deep", "bomb"}, []string{"names", "lists", "fields", "title"}
	c, err := newCage(t, 128*mib)
	if err != nil {
		t.Skip(err)
	}
	w := newWorld(t, demo.Options{})
	p := c.serve(t, worldEnv(w)...)
	v := p.newcomer()
	other, friend := v.member(p, "Other"), v.member(p, "Friend")
	evil := evilSubsonic(t)
	connect := func(one *person, n int, account string) string {
		id := "navidrome"
		if n > 1 {
			id = fmt.Sprintf("navidrome-%d", n)
		}
		one.call("PUT", "/connections/"+id, object{"url": evil.URL, "username": account, "password": "evil"}, 200)
		return id
	}
	friend.call("PUT", "/connections/navidrome", navidromeOf(w, demo.Alice), 200)
	friend.becomes("navidrome", "healthy")
	before := friend.lastSuccess("navidrome")
	connect(v.member(p, "Slow"), 1, "slow")
	hostile := map[*person][]string{v: first, other: second}
	for one, accounts := range hostile {
		for n, account := range accounts {
			connect(one, n+1, account)
		}
	}
	for one, accounts := range hostile {
		for _, id := range []string{"navidrome", "navidrome-2", "navidrome-3", "navidrome-4"}[:len(accounts)] {
			one.becomes(id, "needs_admin")
		}
	}
	friend.eventually("the friend is read", func() bool { return friend.lastSuccess("navidrome") != before })
	require.Equal(t, "healthy", friend.state("navidrome"))
	require.Contains(t, fmt.Sprint(v.call("GET", "/connections/navidrome-2", nil, 200)),
		"a list of more than 20,000 elements")
	require.Zero(t, c.killed())
	require.NoError(t, p.stop(syscall.SIGTERM))
	t.Logf("the group used %d MiB at the most", c.peak()/mib)
}
