package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/cli"
	"reprise/internal/config"
	"reprise/internal/demo"
	"reprise/internal/demo/household"
	"reprise/internal/library"
	"reprise/internal/promtest"
	"reprise/internal/providers/registry"
	"reprise/internal/soak"
)

// evening is the demo's household, sixty times as fast as usual, with a real Prometheus that scrapes it.
type evening struct {
	*app
	t      *testing.T
	world  *demo.World
	alice  int64
	url    string // of the server
	prom   string // of Prometheus
	client http.Client
	began  time.Time // the trouble
}

// eveningPace has the intervals of lifelike, sixty times as fast.
var eveningPace = map[string]string{"listen": "127.0.0.1:0", "sync.listens_every": "5s",
	"sync.playlists_every": "15s", "sync.enrich_every": "60s",
	"backoff.base": "500ms", "backoff.max": "30s", "breaker.failures": "5", "breaker.cooldown": "1s",
	"admin_token": "the-token-of-the-operator"}

func newEvening(t *testing.T) *evening {
	t.Helper()
	promtest.Tool(t, "prometheus")
	world, err := demo.Start(demo.Options{Seed: 1, Plays: 60, Live: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(world.Close)
	e := &evening{t: t, world: world, client: http.Client{Timeout: patience}}
	settings := household.Settings(world)
	maps.Copy(settings, eveningPace)
	settings["data_dir"] = t.TempDir()
	layers := config.Read("", nil, settings, registry.Descriptions())
	ctx, cancel := context.WithCancel(context.Background())
	var out, log buffer
	ended := make(chan error, 1)
	go func() {
		furnish := func(ctx context.Context, a *app) (int64, error) {
			alice, err := a.program(world).AddAlice(ctx)
			e.app, e.alice = a, alice.ID
			return alice.ID, err
		}
		from := start{layers: layers, world: world, furnish: furnish}
		ended <- serve(ctx, from, cli.Console{In: strings.NewReader(""), Out: &out, Err: &log})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool {
		if m := link.FindStringSubmatch(out.String()); m != nil {
			e.url = m[1]
		}
		return e.url != ""
	}, patience, 20*time.Millisecond, "the server prints its link")
	e.watch()
	return e
}

// scaled returns the alerting rules of configs, with a second for every minute.
func scaled(t *testing.T) string {
	t.Helper()
	rules := promtest.ReadConfig(t, "prometheus", "alerts.yaml")
	rules = regexp.MustCompile(`(for: |\[)(\d+)m`).ReplaceAllString(rules, "${1}${2}s")
	rules = regexp.MustCompile(`(for: |\[)1h`).ReplaceAllString(rules, "${1}60s")
	rules = regexp.MustCompile(`\b3600\b`).ReplaceAllString(rules, "60")
	rules = regexp.MustCompile(`\b86400\b`).ReplaceAllString(rules, "1440")
	require.NotRegexp(t, `for: \d+[mhd]|\[\d+[mhd]\]|3600|86400`, rules)
	return rules
}

// watch starts Prometheus with the configuration of configs, sixty times as fast.
func (e *evening) watch() {
	t := e.t
	t.Helper()
	dir := t.TempDir()
	server, err := url.Parse(e.url)
	require.NoError(t, err)
	token := filepath.Join(dir, "reprise.token")
	c := promtest.ReadConfig(t, "prometheus", "prometheus.yml")
	for from, to := range map[string]string{"interval: 15s": "interval: 1s", "127.0.0.1:8420": server.Host,
		"    # authorization:\n":                                  "    authorization:\n",
		"    #   credentials_file: /etc/prometheus/reprise.token": "      credentials_file: " + token} {
		require.Contains(t, c, from)
		c = strings.ReplaceAll(c, from, to)
	}
	for name, text := range map[string]string{token: eveningPace["admin_token"] + "\n",
		filepath.Join(dir, "prometheus.yml"): c, filepath.Join(dir, "alerts.yaml"): scaled(t)} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	address := childtest.Address(t)
	e.prom = "http://" + address
	require.True(t, e.started(dir, address), "Prometheus does not start")
}

// started starts Prometheus and reports whether it became ready.
func (e *evening) started(dir, address string) bool {
	e.t.Helper()
	cmd := exec.Command(promtest.Tool(e.t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	childtest.Tie(cmd, syscall.SIGKILL)
	require.NoError(e.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it ends by our signal
	}()
	end := func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	deadline := time.After(patience)
	for {
		if resp, err := e.client.Get(e.prom + "/-/ready"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				e.t.Cleanup(end)
				return true
			}
		}
		select {
		case <-ended:
			e.t.Log(log.String())
			return false
		case <-deadline:
			end()
			e.t.Log(log.String())
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ask calls Prometheus' API.
func (e *evening) ask(path string, query url.Values, data any) {
	e.t.Helper()
	resp, err := e.client.Get(e.prom + "/api/v1/" + path + "?" + query.Encode())
	require.NoError(e.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(e.t, err)
	require.Equal(e.t, http.StatusOK, resp.StatusCode, "%s %s: %s", path, query, b)
	require.NoError(e.t, json.Unmarshal(b, &struct{ Data any }{data}))
}

// firing returns the alerts that fire, as "name provider".
func (e *evening) firing() []string {
	e.t.Helper()
	var all struct {
		Alerts []struct {
			State               string
			Labels, Annotations map[string]string
		}
	}
	e.ask("alerts", nil, &all)
	var names []string
	for _, a := range all.Alerts {
		require.NotContains(e.t, a.Annotations["description"], "{{")
		if a.State == "firing" {
			names = append(names, strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["provider"]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// query returns how many series an expression has now.
func (e *evening) query(expr string) int {
	e.t.Helper()
	var found struct{ Result []json.RawMessage }
	e.ask("query", url.Values{"query": {expr}}, &found)
	return len(found.Result)
}

func (e *evening) until(what string, check func() bool) {
	e.t.Helper()
	began := time.Now()
	for !check() {
		require.Less(e.t, time.Since(began), patience, "%s; firing: %v", what, e.firing())
		time.Sleep(100 * time.Millisecond)
	}
	e.t.Logf("%s after %.1f s", what, time.Since(began).Seconds())
}

// Spotify answers with 503, one of YouTube's keys is spent, and ListenBrainz' token is revoked. The alerts about
// lasting problems fire, the others do not, and all resolve in the end. Every channel tells Alice once what she has to
// do, and once that it is over.
func TestAnEveningOfTrouble(t *testing.T) {
	if !soak.All() {
		t.Skip("an evening takes over a minute, in which nothing else may keep the machine busy; `make soak` has it")
	}
	t.Parallel()
	e := newEvening(t)
	e.until("everything in order, and seen", func() bool {
		return e.query(`sum(reprise_connections{state=~"healthy|syncing"}) == 5 and on () up{job="reprise"} == 1`) == 1
	})
	// Prometheus looks for its targets five seconds after its start.
	e.until("calm", func() bool { return len(e.firing()) == 0 })

	e.trouble()
	began := time.Now()
	e.messages("Reconnect ListenBrainz", 1)
	seen := map[string]bool{}
	expected := []string{"RepriseBreakerOpen", "RepriseNeedsReconnect listenbrainz", "RepriseProviderFails spotify"}
	e.until("all alerts of the evening, and forty minutes", func() bool {
		for _, name := range e.firing() {
			seen[name] = true
		}
		return len(seen) >= len(expected) && time.Since(began) >= 40*time.Second
	})
	require.Equal(t, 1, e.query(`reprise_pool_keys{provider="youtube",state="cooling"} == 1`),
		"the spent key is seen, and worth no alert: the others carry on")
	e.panels()

	e.relief()
	e.until("everything resolved", func() bool {
		now := e.firing()
		for _, name := range now {
			seen[name] = true
		}
		return len(now) == 0 && e.query(`sum(reprise_connections{state=~"healthy|syncing"}) == 5`) == 1
	})
	require.Equal(t, expected, slices.Sorted(maps.Keys(seen)), "these, and nothing else")
	e.messages("ListenBrainz works again", 1)
	for _, by := range []string{"ntfy", "mail", "webhook"} {
		require.Equal(t, []string{"Reconnect ListenBrainz", "ListenBrainz works again"}, e.told(by),
			"by %s: once each, in order, and nothing of what passes by itself", by)
	}
}

// told returns the titles of the messages that Alice got by a channel since the trouble began, the oldest first.
func (e *evening) told(by string) (titles []string) {
	for _, m := range slices.Backward(e.world.Mailbox.Messages()) {
		if m.By == by && !m.At.Before(e.began) {
			titles = append(titles, m.Title)
		}
	}
	return titles
}

// messages waits until every channel has got a message that often.
func (e *evening) messages(title string, times int) {
	e.t.Helper()
	e.until("told outside the browser: "+title, func() bool {
		for _, by := range []string{"ntfy", "mail", "webhook"} {
			n := 0
			for _, told := range e.told(by) {
				if told == title {
					n++
				}
			}
			if n != times {
				return false
			}
		}
		return true
	})
}

// trouble starts the failures.
func (e *evening) trouble() {
	t := e.t
	t.Helper()
	e.began = time.Now()
	require.NoError(t, e.world.Switch(demo.YouTube, demo.KeySpent))
	require.NoError(t, e.world.Switch(demo.ListenBrainz, demo.Revoked))
	require.NoError(t, e.world.Switch(demo.Spotify, demo.Unavailable))
	e.until("a spent key", func() bool {
		e.world.Like()
		return e.scrape(t)[`pool_keys{provider="youtube",state="cooling"}`] > 0
	})
}

// relief ends the failures: the service is back, and the person does what the status page asks for.
func (e *evening) relief() {
	t := e.t
	t.Helper()
	ctx := context.Background()
	require.NoError(t, e.world.Switch(demo.YouTube, demo.Normal))
	require.NoError(t, e.world.Switch(demo.Spotify, demo.Normal))
	alice := e.alice
	_, err := e.connections.Connect(ctx, e.registry.Get("listenbrainz"), library.Connection{User: alice,
		ID: "listenbrainz", Credentials: library.Credentials{"token": e.world.ListenBrainz.Token(demo.Alice)}})
	require.NoError(t, err)
	require.NoError(t, e.connections.Retry(ctx, alice, "spotify"))
}

// panels sends the queries of every panel of the dashboard to Prometheus.
func (e *evening) panels() {
	t := e.t
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(promtest.ReadConfig(t, "grafana", "reprise.json")), &board))
	filled := strings.NewReplacer("$provider", ".*", "$__rate_interval", "30s", "$__range", "60s")
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			if found := e.query(filled.Replace(target.Expr)); !slices.Contains(quietPanels, p.Title) {
				require.Positive(t, found, "%s shows nothing: %s", p.Title, target.Expr)
			}
		}
	}
}

// quietPanels may be empty: what they show did not happen this evening, or not just then.
var quietPanels = []string{"On hold until", "Next attempt", "Given up", "Sent again", "Failures that nobody knows",
	"Notifications", "Browsers that watch", "Not given by a service",
	"Changes of breakers and keys"}
