package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/cli"
)

// guest is somebody who looks at the demo.
type guest struct {
	t    *testing.T
	base string
	http.Client
}

// newDemo starts the demo and returns somebody who opens its link.
func newDemo(t *testing.T) *guest {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var out, log buffer
	ended := make(chan error, 1)
	t.Setenv("TMPDIR", inMemory(t))
	go func() {
		console := cli.Console{In: strings.NewReader(""), Out: &out, Err: &log}
		ended <- run(ctx, []string{"-demo", "-listen", "127.0.0.1:0"}, nil, console)
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		for line := range strings.Lines(log.String()) { // what a visitor has revoked may be met before the reset
			require.Contains(t, line, "invalid_grant", "a healthy demo warns of nothing else")
		}
	})
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	g := &guest{t: t, Client: http.Client{Jar: jar, Timeout: patience}}
	require.Eventually(t, func() bool {
		if m := link.FindStringSubmatch(out.String()); m != nil {
			g.base = m[1]
		}
		return g.base != ""
	}, patience, 20*time.Millisecond, "the demo prints its link")
	return g
}

func (g *guest) read(resp *http.Response, err error) string {
	g.t.Helper()
	require.NoError(g.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(g.t, err)
	require.Equal(g.t, http.StatusOK, resp.StatusCode, "%s: %.500s", resp.Request.URL, b)
	return string(b)
}

func (g *guest) page(path string) string {
	g.t.Helper()
	return g.read(g.Get(g.base + path))
}

// answer reads a JSON answer.
func (g *guest) answer(path string, v any) {
	g.t.Helper()
	require.NoError(g.t, json.Unmarshal([]byte(g.page(path)), v))
}

func (g *guest) press(path string, form url.Values) string {
	g.t.Helper()
	req, err := http.NewRequest(http.MethodPost, g.base+path, strings.NewReader(form.Encode()))
	require.NoError(g.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", g.base)
	return g.read(g.Do(req))
}

// spotify returns the mode of the simulated Spotify.
func (g *guest) spotify() string {
	g.t.Helper()
	var all map[string]json.RawMessage
	g.answer("/demo/state", &all)
	var one struct{ Mode string }
	require.NoError(g.t, json.Unmarshal(all["spotify"], &one))
	return one.Mode
}

// answered waits until the demo that follows a reset answers. The one before may cut off a request that is under way.
func (g *guest) answered() {
	g.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		resp, err := g.Get(g.base + "/demo/state")
		if err == nil {
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK && !strings.Contains(string(b), `"revoked"`) {
				return
			}
		}
		require.True(g.t, time.Now().Before(end), "the demo does not come back: %v", err)
	}
}

// The demo shows two weeks from its first minute on. A visitor breaks a service and has everything reset: the same
// process, at the same address and with the visitor's page still open, is as it was in its first minute.
func TestADemoHasAPastAndBeginsAgain(t *testing.T) {
	takesLong(t)
	g := newDemo(t)
	for range 2 {
		var health struct {
			Quarters []struct{ Provider string }
		}
		g.answer("/api/v1/health/quarters?since="+
			url.QueryEscape(time.Now().Add(-10*24*time.Hour).UTC().Format(time.RFC3339)), &health)
		require.Greater(t, len(health.Quarters), 500, "calls of ten days ago")
		var runs struct {
			Runs []struct {
				Rows   int
				Result string
			}
		}
		g.answer("/api/v1/connections/spotify/runs?limit=200", &runs)
		brought := 0
		for _, r := range runs.Runs {
			brought += r.Rows
		}
		require.Positive(t, brought, "runs of the last hours brought listens")
		require.Less(t, brought, 200, "and none a whole history at once")
		require.Contains(t, g.page("/activity"), "ListenBrainz works again")
		require.Contains(t, g.page("/notifications"), "ListenBrainz")
		var sent struct {
			Deliveries []struct{ State string }
		}
		g.answer("/api/v1/deliveries?limit=100", &sent)
		states := map[string]int{}
		for _, d := range sent.Deliveries {
			states[d.State]++
		}
		require.Greater(t, states["done"], 10)
		require.Zero(t, states["dead"], "all is good at first")

		require.Equal(t, "normal", g.spotify())
		g.press("/demo/switch", url.Values{"provider": {"spotify"}, "mode": {"revoked"}})
		require.Equal(t, "revoked", g.spotify())
		require.Contains(t, g.press("/demo/reset", nil), "Resetting everything")
		g.answered()
		require.Equal(t, "normal", g.spotify())
	}
}

// Everybody who reaches the demo is signed in as an administrator.
func TestTheDemoListensToThisMachineOnly(t *testing.T) {
	t.Parallel()
	for _, at := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "music.example.org:0"} {
		err := run(t.Context(), []string{"-demo", "-listen", at}, nil, cli.Console{Out: io.Discard, Err: io.Discard})
		require.ErrorContains(t, err, "the demo signs in everybody who reaches it, and others can reach "+at)
		require.ErrorContains(t, err, "-open-demo")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var out buffer
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-demo", "-open-demo", "-listen", ":0", "-data-dir", t.TempDir()}, nil,
			cli.Console{Out: &out, Err: io.Discard})
	}()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "This is the demo.") }, patience,
		20*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

// A visitor types addresses of real servers into the demo: none of them is called, nor looked up, and each refusal says
// why. What the simulated services have goes on.
func TestTheDemoCallsNothingOutside(t *testing.T) {
	g := newDemo(t)
	called := make(chan string, 10)
	outside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called <- r.URL.Path
	}))
	t.Cleanup(outside.Close)
	at := strings.TrimPrefix(outside.URL, "http://")
	for _, address := range []string{outside.URL + "/hook", "ntfy://" + at + "/topic?scheme=http", "smtp://" + at +
		"?from=a@example.org&to=b@example.org", "https://nowhere.example.org/hook"} {
		status, said := g.send("POST", "/api/v1/channels", `{"name":"outside","url":"`+address+`"}`)
		require.Equal(t, http.StatusUnprocessableEntity, status, address)
		require.Contains(t, said, "This is the demo: it calls nothing but its simulated services.", address)
	}
	status, said := g.send("PUT", "/api/v1/connections/navidrome", `{"url":"`+outside.URL+
		`","username":"x","password":"y"}`)
	require.GreaterOrEqual(t, status, 400)
	require.Contains(t, said, "This is the demo: it calls nothing but its simulated services.")
	require.Empty(t, called)
}

// send makes an API call, and returns its status and what the answer says.
func (g *guest) send(method, path, body string) (status int, said string) {
	g.t.Helper()
	req, err := http.NewRequest(method, g.base+path, strings.NewReader(body))
	require.NoError(g.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", g.base)
	resp, err := g.Do(req)
	require.NoError(g.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(g.t, err)
	return resp.StatusCode, string(b)
}
