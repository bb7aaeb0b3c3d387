package navidrome_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	syncer "reprise/internal/sync"
)

// household is an engine that reads a simulated Navidrome, in fake time.
type household struct {
	*enginetest.Engine
	t    *testing.T
	s    *server
	user int64

	mu   sync.Mutex
	asks map[string]int // requests by path
	bare bool           // answers have no counts
}

// asked returns how many requests went to a path.
func (h *household) asked(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asks[path]
}

func live(t *testing.T, older bool, story func(*household)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, handler := newSimulation()
		s.older = older
		h := &household{t: t, s: s, asks: map[string]int{}}
		up := enginetest.NewUpstreams()
		up.Fail("music.example.org", func(req *http.Request) (*http.Response, error) {
			h.mu.Lock()
			h.asks[req.URL.Path]++
			bare := h.bare
			h.mu.Unlock()
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req)
			answer := w.Result()
			if bare {
				answer.Header.Del("X-Total-Count")
			}
			return answer, nil
		})
		h.Engine = enginetest.Start(t, dir, up, syncer.Options{}, nil)
		p := providertest.New(navidrome.Describe())
		h.Registry.Replace(p)
		h.user = h.AddUser("Geoff", accounts.Admin)
		s.fill(40, 40, time.Now().Add(-time.Hour))
		_, err := h.Connections.Connect(t.Context(), p, library.Connection{User: h.user, ID: "navidrome",
			Credentials: library.Credentials{"url": "https://music.example.org", "username": "geoff",
				"password": s.password}})
		require.NoError(t, err)
		enginetest.Settle()
		require.Equal(t, 40, h.Listens(h.user))
		story(h)
	})
}

// play adds plays of new songs, an hour apart and ending at last, as a client submits them now.
func (h *household) play(what string, n int, last time.Time) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	for i := range n {
		id, at := fmt.Sprintf("%s%d", what, i), last.Add(-time.Duration(i)*time.Hour)
		h.s.songs[id] = map[string]any{"id": id, "title": id, "artist": "Artist", "duration": 200.0,
			"playDate": at.UTC().Format(time.RFC3339Nano), "playCount": 1}
		h.s.plays = append(h.s.plays, play{len(h.s.plays) + 1, id, at.Unix()})
	}
}

// TestAPhoneOfflineForAWeekend submits ten plays on Monday, from Friday and Saturday.
func TestAPhoneOfflineForAWeekend(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	live(t, false, func(h *household) {
		time.Sleep(72 * time.Hour)
		h.play("desktop", 1, time.Now())
		time.Sleep(10 * time.Minute)
		require.Equal(t, 41, h.Listens(h.user))
		h.play("phone", 10, time.Now().Add(-50*time.Hour))
		time.Sleep(10 * time.Minute)
		require.Equal(t, 51, h.Listens(h.user), "with the next run, not a day later")
		h.play("holiday", 5, time.Now().Add(-200*24*time.Hour))
		time.Sleep(10 * time.Minute)
		require.Equal(t, 56, h.Listens(h.user), "however old they are")

		before := h.asked("/api/scrobble")
		time.Sleep(10 * time.Hour)
		runs := 10 * 60 / 5
		require.InDelta(t, 2*runs, h.asked("/api/scrobble")-before, 20, "one small request more for each run")
		require.True(t, h.Status(h.user, "navidrome").Streams[0].LateAtOnce)
	})
}

// TestAWeekendAtAnOlderNavidrome has only the last play of each song. The second look once a day finds it.
func TestAWeekendAtAnOlderNavidrome(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	live(t, true, func(h *household) {
		time.Sleep(72 * time.Hour)
		h.play("desktop", 1, time.Now())
		time.Sleep(10 * time.Minute)
		h.play("phone", 10, time.Now().Add(-50*time.Hour))
		h.play("holiday", 5, time.Now().Add(-40*24*time.Hour))
		time.Sleep(25 * time.Hour)
		require.Equal(t, 51, h.Listens(h.user), "ten of ten, and nothing of more than a month ago")
		require.False(t, h.Status(h.user, "navidrome").Streams[0].LateAtOnce)
		before := h.asked("/api/song")
		time.Sleep(3 * 24 * time.Hour)
		runs := 3 * 24 * 60 / 5
		require.InDelta(t, runs, h.asked("/api/song")-before, float64(runs)/10, "one look a day costs next to nothing")
	})
}

// TestAServerWithoutCounts answers without X-Total-Count, which a proxy may take off: the daily look is left.
func TestAServerWithoutCounts(t *testing.T) {
	live(t, false, func(h *household) {
		h.mu.Lock()
		h.bare = true
		h.mu.Unlock()
		time.Sleep(72 * time.Hour)
		h.play("desktop", 1, time.Now())
		h.play("phone", 10, time.Now().Add(-50*time.Hour))
		time.Sleep(25 * time.Hour)
		listens := h.Status(h.user, "navidrome").Streams[0]
		require.Equal(t, syncer.Healthy, listens.Condition)
		require.False(t, listens.LateAtOnce)
		require.Equal(t, 51, h.Listens(h.user))
	})
}
