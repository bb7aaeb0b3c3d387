package test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// hook is a receiver of webhooks that records the calls.
type hook struct {
	*httptest.Server
	check *standardwebhooks.Webhook
	mu    sync.Mutex
	down  bool
	heard map[string][]string // ids of the calls, by type and title
	wrong []error
}

const hookSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

func newHook(t *testing.T) *hook {
	t.Helper()
	check, err := standardwebhooks.NewWebhook(hookSecret)
	require.NoError(t, err)
	h := &hook{check: check, heard: map[string][]string{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if err := h.check.Verify(body, r.Header); err != nil {
		h.wrong = append(h.wrong, err)
	}
	var v struct {
		Type string
		Data struct{ Track string }
	}
	if err := json.Unmarshal(body, &v); err != nil {
		h.wrong = append(h.wrong, err)
	}
	h.heard[v.Type+" "+v.Data.Track] = append(h.heard[v.Type+" "+v.Data.Track], r.Header.Get("Webhook-Id"))
}

func (h *hook) fails(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

// told returns the ids of the calls of a type about a track.
func (h *hook) told(about string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard[about]
}

// Promise: A program of somebody's own gets each play by a webhook, also after it was away and Reprise was killed.
func TestAProgramGetsEachPlay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 20})
	h := newHook(t)
	dir := t.TempDir()
	env := append(worldEnv(w), "REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_DELIVERY_MAX_DELAY=1s")
	p := start(t, dir, env...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	v.call("PUT", "/connections/hook", object{"url": h.URL + "/hook?of=alice", "secret": hookSecret}, 200)
	require.Len(t, h.told("test "), 1)
	v.becomes("hook", "healthy")
	require.True(t, v.call("GET", "/connections/hook/forwarding", nil, 200)["enabled"].(bool), "from the start")

	secret := v.call("POST", "/players", object{"name": "Radio", "kind": "listenbrainz"}, 201)["secret"].(string)
	require.True(t, devices["listenbrainz"](p.url, secret, "Hunter", time.Now()))
	v.eventually("a play of a player", func() bool { return len(h.told("play Hunter")) == 1 })
	code, _ := answers(p.url, "/1/submit-listens", secret, "application/json", `{"listen_type":"playing_now",
		"payload":[{"track_metadata":{"artist_name":"Björk","track_name":"Jóga"}}]}`)
	require.Equal(t, http.StatusOK, code)
	v.eventually("what is playing", func() bool { return len(h.told("now_playing Jóga")) == 1 })

	h.fails(true)
	require.True(t, devices["listenbrainz"](p.url, secret, "Bachelorette", time.Now()))
	v.eventually("an attempt", func() bool {
		return v.call("GET", "/deliveries", nil, 200)["counts"].(object)["retrying"].(float64) > 0
	})
	require.Error(t, p.stop(syscall.SIGKILL))
	h.fails(false)
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), env...)
	v = p.returning()
	v.eventually("what waited", func() bool { return len(h.told("play Bachelorette")) == 1 })
	require.Len(t, h.told("play Hunter"), 1)
	require.Empty(t, h.wrong)
	require.NotContains(t, p.log.String(), "of=alice", "an address may be a secret")
	require.NotContains(t, v.page("/connections/hook", 200), "of=alice")

	v.call("DELETE", "/connections/hook/forwarding", nil, 204)
	v.call("PUT", "/connections/hook", object{"url": h.URL + "/moved", "secret": hookSecret}, 200)
	require.False(t, v.call("GET", "/connections/hook/forwarding", nil, 200)["enabled"].(bool), "it stays off")
}
