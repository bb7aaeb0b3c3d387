package test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"reprise/internal/promtest"

	"github.com/stretchr/testify/require"
)

// promised lists the documented metrics with the names of their labels.
var promised = map[string]string{
	"sync_runs_total":                        "provider,result,stream",
	"sync_duration_seconds":                  "provider,stream",
	"sync_last_success_timestamp_seconds":    "provider",
	"upstream_attempts_total":                "endpoint,outcome,provider",
	"upstream_duration_seconds":              "endpoint,provider",
	"connections":                            "provider,state",
	"backoff_next_attempt_timestamp_seconds": "provider",
	"history_months":                         "state",
	"hold_until_timestamp_seconds":           "provider",
	"breaker_state":                          "endpoint",
	"breaker_transitions_total":              "endpoint,from,to",
	"pool_keys":                              "provider,state",
	"pool_rotations_total":                   "provider,reason",
	"authorization_expiry_timestamp_seconds": "provider",
	"deliveries":                             "state",
	"delivery_attempts_total":                "kind,result",
	"delivery_oldest_age_seconds":            "",
	"dead_letters_total":                     "category",
	"redrives_total":                         "result",
	"notifications_total":                    "channel,result,severity",
	"events_dropped_total":                   "reason",
	"websocket_clients":                      "",
	"servers":                                "state",
	"unclassified_errors_total":              "provider",
	"listens_stored_total":                   "provider",
	"listens_refused_total":                  "provider",
	"duplicates_total":                       "provider",
	"skipped_items_total":                    "category,provider",
	"player_plays_total":                     "result",
}

// Promise: Every metric is there from the start.
func TestEveryMetricIsThereOnAFreshStart(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	text := p.scrapeText()
	all := promtest.Parse(t, text)
	require.Equal(t, promised, all.Labels(), "the contract's metrics, and no other")
	for key, value := range all {
		require.Zero(t, value, key)
	}
	for name := range promised {
		require.Contains(t, text, "# HELP reprise_"+name+" ", "it says what it means")
	}
	for _, want := range []string{`connections{provider="spotify",state="needs_reconnect"}`,
		`sync_runs_total{provider="navidrome",result="fatal",stream="playlists"}`,
		`upstream_attempts_total{endpoint="GET api.spotify.com/v1/me",outcome="circuit_open",provider="spotify"}`,
		`deliveries{state="parked"}`,
		`pool_keys{provider="youtube",state="cooling"}`, `breaker_state{endpoint="GET navidrome/rest/ping"}`,
		`notifications_total{channel="browser",result="sent",severity="error"}`} {
		require.Contains(t, all, want)
	}
	require.Empty(t, promtest.Promtool(t, text, "check", "metrics"))
	require.Contains(t, text, "go_goroutines ")
}

// scrapeText returns the text of the server's /metrics.
func (p *process) scrapeText() string {
	p.t.Helper()
	resp, err := http.Get(p.url + "/metrics")
	require.NoError(p.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, resp.StatusCode, "%s", b)
	return string(b)
}

func TestPlaysOfPlayersAreCounted(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	made := v.call(http.MethodPost, "/players", object{"name": "Kitchen", "kind": "listenbrainz"}, 201)
	send := devices["listenbrainz"]
	now := time.Now()
	for _, sent := range []struct {
		secret string
		at     time.Time
		taken  bool
	}{{made["secret"].(string), now, true}, {made["secret"].(string), now, true}, {"wrong", now, false},
		{made["secret"].(string), time.Unix(1, 0), false}} {
		require.Equal(t, sent.taken, send(p.url, sent.secret, "Jóga", sent.at))
	}
	all := promtest.Parse(t, p.scrapeText())
	for result, n := range map[string]float64{"stored": 1, "known": 1, "wrong_token": 1, "refused": 1, "failed": 0,
		"too_fast": 0} {
		require.InDelta(t, n, all[`player_plays_total{result="`+result+`"}`], 0, result)
	}
}

func TestImportedListensAreCounted(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	file := export(t, 300)
	for range 2 {
		resp := v.sendFile("provider=spotify&name=history.zip", strings.NewReader(string(file)))
		require.Equal(t, http.StatusCreated, resp.StatusCode)
		v.eventually("the import's end", func() bool { return v.lastImport()["state"] == "done" })
	}
	all := promtest.Parse(t, p.scrapeText())
	require.Equal(t, all[`listens_stored_total{provider="spotify"}`], all[`duplicates_total{provider="spotify"}`],
		"the second time, all were there")
	require.Positive(t, all[`listens_stored_total{provider="spotify"}`])
}
