package test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// large is just below the 10 MiB of an answer that are read at all.
const large = 10<<20 - 64<<10

// hostile is a server that speaks Subsonic and ListenBrainz truthfully until it is armed. From then on each list that
// it is asked for is an attack.
type hostile struct {
	url    string
	armed  atomic.Bool
	struck atomic.Int64 // answers that were attacks
}

// shape returns what an answer to a path has before and after the elements of its list; ok is false where there is no
// list in it.
func shape(path string) (before, after string, ok bool) {
	switch {
	case strings.Contains(path, "/rest/getPlaylists"):
		return `{"subsonic-response":{"status":"ok","version":"1.16.1","playlists":{"playlist":[`, `]}}}`, true
	case strings.Contains(path, "/rest/getPlaylist"):
		return `{"subsonic-response":{"status":"ok","playlist":{"id":"1","name":"x","entry":[`, `]}}}`, true
	case strings.Contains(path, "/rest/getAlbumList2"):
		return `{"subsonic-response":{"status":"ok","albumList2":{"album":[`, `]}}}`, true
	case strings.HasPrefix(path, "/api/"):
		return `[`, `]`, true
	case strings.HasSuffix(path, "/listens"):
		return `{"payload":{"count":100,"listens":[`, `]}}`, true
	case strings.Contains(path, "/playlists"):
		return `{"playlist_count":1,"playlists":[`, `]}`, true
	}
	return "", "", false
}

// attack writes the elements of a list.
type attack func(w *bufio.Writer)

// repeated writes an element as often as it has room in an answer.
func repeated(element string) attack {
	return func(w *bufio.Writer) {
		for n := len(element); n < large; n += len(element) + 1 {
			_, _ = w.WriteString(element + ",")
		}
		_, _ = w.WriteString(element)
	}
}

// numbered is repeated with a number in each element.
func numbered(format string) attack {
	return func(w *bufio.Writer) {
		for n, i := 0, 0; n < large; i++ {
			m, err := fmt.Fprintf(w, format+",", i)
			if err != nil {
				return
			}
			n += m
		}
		_, _ = fmt.Fprintf(w, format, -1)
	}
}

// entry is an element that every list takes for its own, with a name and an id.
func entry(id, name string) string {
	return `{"id":"` + id + `","name":"` + name + `","title":"` + name + `","artist":"` + name + `","playlist":` +
		`{"identifier":"https://listenbrainz.org/playlist/` + id + `","title":"` + name + `"},` +
		`"listened_at":1700000000,"recording_msid":"` + id + `",` +
		`"track_metadata":{"artist_name":"` + name + `","track_name":"` + name + `"}}`
}

// attacks are the lists by name.
var attacks = map[string]attack{
	"empty objects": repeated("{}"),
	"zeros":         repeated("0"),
	"empty texts":   repeated(`""`),
	"tiny lists":    repeated("[[]]"),
	"long name":     func(w *bufio.Writer) { _, _ = w.WriteString(entry("1", strings.Repeat("A", 3<<20))) },
	"escaped name":  func(w *bufio.Writer) { _, _ = w.WriteString(entry("1", strings.Repeat(`\u0001`, 1<<19))) },
	"many":          numbered(entry("%[1]d", "n%[1]d")),
	"deep": func(w *bufio.Writer) {
		_, _ = w.WriteString(strings.Repeat("[", large/2) + strings.Repeat("]", large/2))
	},
	"deep objects": func(w *bufio.Writer) {
		_, _ = w.WriteString(strings.Repeat(`{"a":`, large/6) + "0" + strings.Repeat("}", large/6))
	},
	"many keys": func(w *bufio.Writer) {
		_, _ = w.WriteString("{")
		numbered(`"k%d":0`)(w)
		_, _ = w.WriteString("}")
	},
	"endless": func(w *bufio.Writer) {
		for {
			if _, err := w.WriteString(entry("1", "x") + ","); err != nil {
				return
			}
		}
	},
}

// strikes are the answers that are more than a list, by name.
var strikes = map[string]http.HandlerFunc{
	"drip": func(w http.ResponseWriter, r *http.Request) {
		before, _, _ := shape(r.URL.Path)
		_, _ = io.WriteString(w, before)
		for r.Context().Err() == nil {
			_, err := io.WriteString(w, " ")
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	},
	"zip bomb": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		before, _, _ := shape(r.URL.Path)
		_, _ = io.WriteString(z, before)
		zeros := strings.Repeat("0,", 1<<16)
		for range 4 << 10 { // half a GiB
			if _, err := io.WriteString(z, zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	},
	"utf-16": func(w http.ResponseWriter, r *http.Request) {
		before, after, _ := shape(r.URL.Path)
		text := before + entry("1", strings.Repeat("A", 1<<20)) + after
		wide := make([]byte, 0, 2*len(text)+2)
		wide = append(wide, 0xff, 0xfe)
		for i := range len(text) {
			wide = append(wide, text[i], 0)
		}
		_, _ = w.Write(wide)
	},
	"headers": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 9 {
			w.Header().Set("X-Long-"+strconv.Itoa(i), strings.Repeat("x", 1<<20))
		}
		w.Header().Set("Retry-After", strings.Repeat("9", 100<<10))
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"refusal": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		out := bufio.NewWriter(w)
		_, _ = out.WriteString(`{"subsonic-response":{"status":"failed","error":[`)
		repeated("{}")(out)
		_, _ = out.WriteString(`]}}`)
		_ = out.Flush()
	},
}

// gate lets the first attacks of all servers go at the same moment, so that their answers are decoded side by side.
type gate struct {
	mu      sync.Mutex
	waiting int
	open    chan struct{}
}

// pass waits until so many wait, or two seconds.
func (g *gate) pass(together int) {
	g.mu.Lock()
	open := g.open
	if g.waiting++; g.waiting >= together {
		g.waiting, g.open = 0, make(chan struct{})
		close(open)
	}
	g.mu.Unlock()
	select {
	case <-open:
	case <-time.After(2 * time.Second):
	}
}

// newHostile starts a server. Until it is armed, the simulated services answer.
func newHostile(t *testing.T, w *demo.World, g *gate, name string) *hostile {
	t.Helper()
	subsonic, err := url.Parse(w.Navidrome.URL)
	require.NoError(t, err)
	brainz, err := url.Parse(w.ListenBrainz.URL)
	require.NoError(t, err)
	h := &hostile{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		to := subsonic
		if strings.HasPrefix(r.In.URL.Path, "/1/") {
			to = brainz
		}
		r.SetURL(to)
	}}
	strike := strikes[name]
	if strike == nil {
		list := attacks[name]
		require.NotNil(t, list, name)
		strike = func(w http.ResponseWriter, r *http.Request) {
			before, after, _ := shape(r.URL.Path)
			w.Header().Set("Content-Type", "application/json")
			out := bufio.NewWriterSize(w, 64<<10)
			_, _ = out.WriteString(before)
			list(out)
			_, _ = out.WriteString(after)
			_ = out.Flush()
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, list := shape(r.URL.Path); !list || !h.armed.Load() {
			forward.ServeHTTP(w, r)
			return
		}
		h.struck.Add(1)
		g.pass(8)
		strike(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	h.url = s.URL
	return h
}
