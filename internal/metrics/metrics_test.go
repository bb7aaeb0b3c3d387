package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/metrics"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

var catalogue = metrics.Catalogue{
	Providers: []metrics.Provider{
		{
			Name:      "radio",
			Connects:  true,
			Streams:   []string{"listens"},
			Pool:      true,
			Endpoints: []metrics.Endpoint{{Host: "api.example.org", Name: "GET /plays"}},
		},
		{
			Name:      "home",
			Connects:  true,
			Streams:   []string{"listens"},
			Endpoints: []metrics.Endpoint{{Name: "GET /rest/ping"}},
		},
	},
	Conditions: []string{
		"healthy",
		"waiting",
	}, DeliveryStates: []string{"scheduled", "dead"}, DeliveryKinds: []string{"scrobble"},
}

// scrape returns the values of our series.
func scrape(t *testing.T, m *metrics.Metrics) map[string]string {
	t.Helper()
	return scrapeWith(t, m, nil)
}

// states returns the present state for a scrape.
type states = func(context.Context) (metrics.States, error)

func scrapeWith(t *testing.T, m *metrics.Metrics, of states) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(of, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	values := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(line, "reprise_") {
			values[strings.TrimPrefix(name, "reprise_")+"}"] = value
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok &&
			strings.HasPrefix(line, "reprise_") {
			values[strings.TrimPrefix(name, "reprise_")] = value
		}
	}
	require.NotEmpty(t, values)
	return values
}

func TestPeoplesOwnServersShareOneEndpoint(t *testing.T) {
	t.Parallel()
	m := metrics.New(catalogue)
	before := len(scrape(t, m))
	for n := range 100 {
		host := fmt.Sprintf("music-%d.example.org", n)
		m.Attempt(transport.Attempt{
			Provider: "home",
			Host:     host,
			Endpoint: "GET /rest/ping",
			Start:    time.Now(),
			Outcome:  transport.Success,
		})
		m.Breaker(transport.BreakerChange{
			Provider: "home",
			Host:     host,
			Route:    "GET /rest/ping",
			From:     transport.BreakerClosed,
			To:       transport.BreakerOpen,
		})
	}
	after := scrape(t, m)
	require.Len(t, after, before)
	require.Equal(t, "100",
		after[`upstream_attempts_total{endpoint="GET home/rest/ping",outcome="success",provider="home"}`])
	require.Equal(t, "100", after[`breaker_transitions_total{endpoint="GET home/rest/ping",from="closed",to="open"}`])
}

func TestUnlistedEndpointsAreCountedAsOther(t *testing.T) {
	t.Parallel()
	m := metrics.New(catalogue)
	before := len(scrape(t, m))
	for _, a := range []transport.Attempt{
		{Provider: "radio", Host: "api.example.org", Endpoint: "GET /new"},
		{Provider: "radio", Host: "elsewhere.example.org", Endpoint: "GET /plays"},
		{Provider: "unheard-of", Host: "api.example.org", Endpoint: "GET /plays"},
	} {
		a.Outcome = transport.WasFatal
		m.Attempt(a)
		m.Breaker(transport.BreakerChange{
			Provider: a.Provider,
			Host:     a.Host,
			Route:    a.Endpoint,
			From:     transport.BreakerClosed,
			To:       transport.BreakerOpen,
		})
	}
	after := scrape(t, m)
	require.Len(t, after, before)
	require.Equal(t, "2", after[`upstream_attempts_total{endpoint="other",outcome="fatal",provider="radio"}`])
	require.Equal(t, "1", after[`upstream_attempts_total{endpoint="other",outcome="fatal",provider="other"}`])
	require.Equal(t, "3", after[`breaker_transitions_total{endpoint="other",from="closed",to="open"}`])
}

func TestOnlyCallsThatWereMadeHaveADuration(t *testing.T) {
	t.Parallel()
	m := metrics.New(catalogue)
	a := transport.Attempt{
		Provider: "radio",
		Host:     "api.example.org",
		Endpoint: "GET /plays",
		Outcome:  transport.BreakerStood,
	}
	m.Attempt(a)
	a.Start, a.Outcome = time.Now(), transport.WasCanceled
	m.Attempt(a)
	a.Outcome, a.Took = transport.WasRetriable, 300*time.Millisecond
	m.Attempt(a)
	all := scrape(t, m)
	require.Equal(t, "1", all[`upstream_duration_seconds_count{endpoint="GET api.example.org/plays",provider="radio"}`])
	require.Equal(t, "0",
		all[`upstream_duration_seconds_bucket{endpoint="GET api.example.org/plays",provider="radio",le="0.25"}`])
	require.Equal(t, "1",
		all[`upstream_duration_seconds_bucket{endpoint="GET api.example.org/plays",provider="radio",le="0.5"}`])
	require.Equal(t, "1",
		all[`upstream_attempts_total{endpoint="GET api.example.org/plays",outcome="circuit_open",provider="radio"}`])
}

func TestASharedBreakerShowsTheWorstState(t *testing.T) {
	t.Parallel()
	m := metrics.New(catalogue)
	at := func(host string, s transport.BreakerState) transport.BreakerStatus {
		return transport.BreakerStatus{Provider: "home", Host: host, Route: "GET /rest/ping", State: s}
	}
	var all []transport.BreakerStatus
	of := func(context.Context) (metrics.States, error) { return metrics.States{Breakers: all}, nil }
	const closed, open, half = transport.BreakerClosed, transport.BreakerOpen, transport.BreakerHalfOpen
	for _, c := range []struct {
		states []transport.BreakerStatus
		want   string
	}{
		{nil, "0"},
		{[]transport.BreakerStatus{at("a", closed), at("b", half)}, "2"},
		{[]transport.BreakerStatus{at("a", open), at("b", half), at("c", closed)}, "1"},
		{[]transport.BreakerStatus{at("a", half), at("b", open)}, "1"},
	} {
		all = c.states
		require.Equal(t, c.want, scrapeWith(t, m, of)[`breaker_state{endpoint="GET home/rest/ping"}`])
	}
}

// A database that does not answer hides nothing else.
func TestAScrapeWithoutADatabase(t *testing.T) {
	t.Parallel()
	m := metrics.New(catalogue)
	all := scrapeWith(t, m, func(context.Context) (metrics.States, error) {
		return metrics.States{
				Clients: 3,
				Breakers: []transport.BreakerStatus{
					{Provider: "radio", Host: "api.example.org", Route: "GET /plays", State: transport.BreakerOpen},
				},
			},
			errors.New("disk I/O error")
	})
	require.Equal(t, "3", all["websocket_clients"])
	require.Equal(t, "1", all[`breaker_state{endpoint="GET api.example.org/plays"}`])
	require.Equal(t, "0", all[`sync_runs_total{provider="radio",result="ok",stream="listens"}`])
	require.NotContains(t, all, `connections{provider="radio",state="healthy"}`,
		"what is not known is not told as none")
}

func TestNoMetricsCountNothing(t *testing.T) {
	t.Parallel()
	var m *metrics.Metrics
	m.Attempt(transport.Attempt{Outcome: transport.Success})
	m.Breaker(transport.BreakerChange{})
	m.Run("radio", "listens", "ok", time.Second)
	m.Listens("radio", 1, 1)
	m.Rotation("radio", resilience.Quota)
	m.Delivery("scrobble", "done")
	m.DeadLetter(resilience.Item)
	m.Redriven("due", 1)
	m.Told("info", "browser", "sent")
	m.Unclassified("radio")
}

func TestAMovedProviderIsCountedAtBothHosts(t *testing.T) {
	t.Parallel()
	m := metrics.New(catalogue)
	now := metrics.Provider{Name: "radio", Endpoints: []metrics.Endpoint{{Host: "new.example.org", Name: "GET /plays"}}}
	var calls sync.WaitGroup
	calls.Go(func() { m.Follow(now) })
	for range 10 { // of a run under way
		calls.Go(func() {
			m.Attempt(transport.Attempt{Provider: "radio", Host: "api.example.org", Endpoint: "GET /plays",
				Outcome: transport.Success})
		})
	}
	calls.Wait()
	m.Follow(now)
	at := func(host string) string {
		return `upstream_attempts_total{endpoint="GET ` + host + `/plays",outcome="success",provider="radio"}`
	}
	require.Equal(t, "10", scrape(t, m)[at("api.example.org")])
	require.Equal(t, "0", scrape(t, m)[at("new.example.org")])
	m.Attempt(transport.Attempt{Provider: "radio", Host: "new.example.org", Endpoint: "GET /plays",
		Outcome: transport.Success})
	require.Equal(t, "1", scrape(t, m)[at("new.example.org")])
}
