package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/demo"
	"reprise/internal/metrics"
	"reprise/internal/observe"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// mostEndpoints limits the size of the roll-up: 150 endpoints in 14 days of quarters of an hour are 201,600 rows.
const mostEndpoints = 150

func TestTheRollUpKnowsABoundedNumberOfEndpoints(t *testing.T) {
	t.Parallel()
	c, err := config.Load("", nil, nil, registry.Descriptions())
	require.NoError(t, err)
	n := 0
	for _, p := range observe.Catalogue(c.Providers).Providers {
		n += len(p.Endpoints) + 1 // and what is not listed
	}
	require.LessOrEqual(t, n, mostEndpoints)
}

// healthOf returns the health of all endpoints of a provider together.
func (i *installation) healthOf(provider string) metrics.Health {
	i.t.Helper()
	all, _, err := i.server.Rollup.Health(context.Background())
	require.NoError(i.t, err)
	var of []metrics.Health
	for _, h := range all {
		if h.Provider == provider {
			of = append(of, h)
		}
	}
	return metrics.Sum(of)
}

// counted counts the attempts of a provider in the log.
func (i *installation) counted(provider string, from time.Time) (t metrics.Tally) {
	for _, a := range i.log.of(from, time.Now().Add(time.Second), func(a attempt) bool {
		return a.Provider == provider && a.Outcome != "canceled"
	}) {
		switch {
		case !a.sent():
			t.Refused++
			continue
		case a.Outcome != "success":
			t.Failures++
		}
		t.Attempts++
	}
	return t
}

// The page agrees with the log of attempts, through an outage of 40 minutes with a restart in the middle.
func TestADayWithAnOutageOnTheHealthPage(t *testing.T) {
	inBubble(t, demo.Options{Plays: 60}, func(t *testing.T, i *installation) {
		began := time.Now().Add(-time.Minute)
		i.people(1)
		time.Sleep(6 * time.Hour)
		calm := i.healthOf("listenbrainz")
		require.Zero(t, calm.Day.Failures)
		require.Zero(t, calm.Day.Open)

		require.NoError(t, i.world.Switch(demo.ListenBrainz, demo.Unavailable))
		time.Sleep(20 * time.Minute)
		i.stop()
		i.start(i.dir)
		time.Sleep(20 * time.Minute)
		all, _, err := i.server.Rollup.Health(t.Context())
		require.NoError(t, err)
		worst := metrics.Steady
		for _, h := range all {
			if h.Provider != "listenbrainz" {
				require.Equal(t, metrics.Steady, h.Trend, "%s %s", h.Provider, h.Endpoint)
			}
			worst = max(worst, h.Trend)
		}
		require.Equal(t, metrics.Failing, worst, "it is named while it lasts")
		require.NoError(t, i.world.Switch(demo.ListenBrainz, demo.Normal))
		time.Sleep(3 * time.Hour)

		h, said := i.healthOf("listenbrainz"), i.counted("listenbrainz", began)
		require.Equal(t, said, metrics.Tally{Attempts: h.Day.Attempts, Failures: h.Day.Failures,
			Refused: h.Day.Refused})
		require.Greater(t, said.Failures, 5)
		// The breaker opens after five failures in a row, some minutes in, and a restart closes it. The next probe
		// that finds the service working comes ten minutes later at most, plus a quarter for the spread, and is made
		// at a tick.
		require.Greater(t, h.Day.Open, 5*time.Minute)
		require.Less(t, h.Day.Open, 58*time.Minute)
		require.Zero(t, h.Hour.Failures, "it is over")
		runs, err := i.store.RunQuarters(t.Context(), i.users[0], "listenbrainz", began)
		require.NoError(t, err)
		failed, ok := 0, 0
		for _, q := range runs {
			failed, ok = failed+q.Retriable, ok+q.Runs-q.Retriable
			require.Zero(t, q.Fatal, "an outage needs nobody")
		}
		require.Greater(t, failed, 2)
		require.Greater(t, ok, 6*12)
		runsOf, _, err := i.store.Runs(t.Context(), i.users[0], "listenbrainz", began, "", 1000)
		require.NoError(t, err)
		for _, r := range runsOf {
			require.Equal(t, r.Result != "ok", !r.Words.IsZero(), "what was wrong is said, and only then: %+v", r)
			require.Equal(t, r.Result != "ok", r.Category == resilience.Upstream.String() ||
				r.Category == resilience.CircuitOpen.String(), "%+v", r)
		}
	})
}
