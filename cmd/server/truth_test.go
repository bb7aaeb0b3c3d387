package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/promtest"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// connections returns the number of connections to a provider in a state.
func connections(s promtest.Series, provider, state string) float64 {
	return s.Sum("connections", `provider="`+provider+`"`, `state="`+state+`"`)
}

// tells requires that a scrape agrees with the pages about every connection, and returns the scrape.
func (i *installation) tells(people int) promtest.Series {
	t := i.t
	t.Helper()
	counted := i.scrape(t)
	shown := promtest.Series{}
	for _, user := range i.users {
		all, err := i.connections.StatusOf(context.Background(), user, i.store)
		require.NoError(t, err)
		for _, s := range all {
			shown[`connections{provider="`+s.Provider.Name+`",state="`+string(s.Condition)+`"}`]++
		}
	}
	total := 0.0
	for key, n := range counted {
		if strings.HasPrefix(key, "connections{") {
			require.Equal(t, shown[key], n, key)
			total += n
		}
	}
	require.Equal(t, float64(5*people), total)
	return counted
}

// unix returns a time as metrics show it.
func unix(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

func TestMetricsTellTheTruthAboutConnections(t *testing.T) {
	inBubble(t, demo.Options{Plays: 60, RetryAfter: 90 * time.Minute}, func(t *testing.T, i *installation) {
		i.people(2)
		time.Sleep(20 * time.Minute)
		calm := i.tells(2)
		for _, name := range connectedInBubbles {
			p := i.registry.Get(name)
			require.Equal(t, 2.0, connections(calm, p.Name, "healthy"), p.Name)
			require.Positive(t, calm.Sum("sync_last_success_timestamp_seconds", `provider="`+p.Name+`"`))
			require.InDelta(t, unix(time.Now()), calm.Sum("sync_last_success_timestamp_seconds",
				`provider="`+p.Name+`"`), 16*60)
		}
		require.Zero(t, calm.Sum("hold_until_timestamp_seconds")+calm.Sum("backoff_next_attempt_timestamp_seconds")+
			calm.Sum("breaker_state"))
		require.Zero(t, calm.Sum("unclassified_errors_total"))
		require.Positive(t, calm.Sum("listens_stored_total"))
		require.Positive(t, calm.Sum("duplicates_total"), "what was read before, and what two services tell of")
		require.Zero(t, calm.Sum("authorization_expiry_timestamp_seconds"))

		require.NoError(t, i.world.Switch(demo.Spotify, demo.Revoked))
		require.NoError(t, i.world.Switch(demo.LastFM, demo.RateLimited))
		require.NoError(t, i.world.Switch(demo.ListenBrainz, demo.Unavailable))
		asked := time.Now()
		time.Sleep(15 * time.Minute)
		bad := i.tells(2)
		require.Equal(t, 2.0, connections(bad, "spotify", "needs_reconnect"))
		require.Equal(t, 2.0, connections(bad, "lastfm", "held"))
		require.Equal(t, 2.0, connections(bad, "listenbrainz", "waiting"))
		require.Equal(t, 2.0, connections(bad, "navidrome", "healthy"))
		hold := bad.Sum("hold_until_timestamp_seconds", `provider="lastfm"`)
		require.InDelta(t, unix(asked.Add(90*time.Minute)), hold, 6*60,
			"the end that Last.fm named in its first refusal")
		require.Greater(t, bad.Sum("backoff_next_attempt_timestamp_seconds", `provider="listenbrainz"`),
			unix(time.Now()))
		require.Zero(t, bad.Sum("backoff_next_attempt_timestamp_seconds", `provider="lastfm"`))
		require.Positive(t, bad.Sum("breaker_state", "listenbrainz.invalid"))
		require.Zero(t, bad.Sum("breaker_state")-bad.Sum("breaker_state", "listenbrainz.invalid"))
		require.Positive(t, bad.Sum("breaker_transitions_total", "listenbrainz.invalid", `from="closed"`, `to="open"`))
		require.Equal(t, 2.0, bad.Sum("sync_runs_total", `provider="spotify"`, `result="fatal"`))
		require.Positive(t, bad.Sum("sync_runs_total", `provider="listenbrainz"`, `result="retriable"`))
		require.Positive(t, bad.Sum("upstream_attempts_total", `provider="listenbrainz"`, `outcome="retriable"`))
		require.Equal(t, 2.0, bad.Sum("notifications_total", `severity="error"`, `channel="browser"`,
			`result="sent"`), "one for each person")

		for _, p := range []string{demo.LastFM, demo.ListenBrainz} {
			require.NoError(t, i.world.Switch(p, demo.Normal))
		}
		now := time.Now()
		ends := now.Add(5 * 24 * time.Hour)
		spotify := i.registry.Get("spotify")
		for n, user := range i.users {
			grant := oauth.Grant{Credentials: oauth.Credentials(i.world.Spotify.Authorize([]string{demo.Alice,
				demo.Bob}[n], spotify.OAuth.Scopes...)), AuthorizedAt: now,
				ExpiresAt: ends.Add(time.Duration(n) * time.Hour)}
			_, err := i.connections.ConnectOAuth(context.Background(), spotify, user, grant)
			require.NoError(t, err)
		}
		time.Sleep(2*time.Hour - 15*time.Minute)
		good := i.tells(2)
		for _, name := range connectedInBubbles {
			p := i.registry.Get(name)
			require.Equal(t, 2.0, connections(good, p.Name, "healthy"), p.Name)
		}
		require.Zero(t, good.Sum("hold_until_timestamp_seconds")+good.Sum("backoff_next_attempt_timestamp_seconds")+
			good.Sum("breaker_state"))
		require.Equal(t, unix(ends.Truncate(time.Millisecond)),
			good["authorization_expiry_timestamp_seconds{provider=\"spotify\"}"], "the soonest")
		require.Equal(t, bad.Sum("notifications_total", `severity="error"`),
			good.Sum("notifications_total", `severity="error"`))
		require.Zero(t, good.Sum("unclassified_errors_total"))

		require.NoError(t, i.connections.Pause(context.Background(), i.users[0], "youtube"))
		require.Equal(t, 1.0, connections(i.tells(2), "youtube", "paused"))
	})
}

func TestMetricsTellTheTruthAboutKeys(t *testing.T) {
	inBubble(t, demo.Options{Plays: 60, Live: 5 * time.Minute}, func(t *testing.T, i *installation) {
		i.people(1)
		keys := func(state string) float64 {
			return i.scrape(t).Sum("pool_keys", `provider="youtube"`, `state="`+state+`"`)
		}
		all := float64(len(i.world.YouTube.Keys))
		require.Greater(t, all, 1.0)
		require.Equal(t, all, keys("ready"))
		require.NoError(t, i.world.Switch(demo.YouTube, demo.KeySpent))
		time.Sleep(2 * time.Hour) // until it is the first key's turn
		require.Equal(t, 1.0, keys("cooling"))
		require.Equal(t, all-1, keys("ready"))
		require.Equal(t, 1.0, i.scrape(t).Sum("pool_rotations_total", `provider="youtube"`, `reason="quota"`))
		require.NoError(t, i.world.Switch(demo.YouTube, demo.KeysSpent))
		time.Sleep(time.Hour)
		require.Equal(t, all, keys("cooling"))
		spent := i.scrape(t)
		require.Zero(t, spent.Sum("hold_until_timestamp_seconds", `provider="youtube"`),
			"people's own permissions go on")
		require.Equal(t, all-1, spent.Sum("pool_rotations_total", `provider="youtube"`, `reason="quota"`),
			"after the last key there is none to go on with")
		require.Equal(t, all, spent.Sum("upstream_attempts_total", `provider="youtube"`, `outcome="quota"`))
	})
}

func TestMetricsTellTheTruthAboutDeliveries(t *testing.T) {
	inBubble(t, demo.Options{Plays: 60, Live: 5 * time.Minute}, func(t *testing.T, i *installation) {
		i.people(1)
		i.deliver()
		_, err := i.deliveries.Forward(context.Background(), i.users[0], "lastfm", false)
		require.NoError(t, err)
		state := func(state string) float64 { return i.scrape(t)[`deliveries{state="`+state+`"}`] }
		result := func(result string) float64 {
			return i.scrape(t).Sum("delivery_attempts_total", `kind="scrobble"`, `result="`+result+`"`)
		}
		time.Sleep(time.Hour)
		done := state("done")
		require.Positive(t, done)
		require.Equal(t, done, result("done"), "each was attempted once")
		require.Zero(t, i.scrape(t)["delivery_oldest_age_seconds"])

		require.NoError(t, i.world.Switch(demo.LastFM, demo.Unavailable))
		time.Sleep(time.Hour)
		require.Positive(t, state("retrying")+state("scheduled"))
		require.Positive(t, result("retrying")+result("postponed"))
		require.InDelta(t, 3600, i.scrape(t)["delivery_oldest_age_seconds"], 11*60,
			"one was written down soon after the start of the outage")
		require.Zero(t, state("dead")+i.scrape(t).Sum("dead_letters_total"))

		require.NoError(t, i.world.Switch(demo.LastFM, demo.Revoked))
		time.Sleep(time.Hour)
		require.Positive(t, state("parked"))
		require.Zero(t, state("retrying")+state("scheduled"))
		require.Zero(t, i.scrape(t)["delivery_oldest_age_seconds"], "what is parked waits for a person, not by itself")
		require.Positive(t, result("parked"))

		_, err = i.deliveries.Redrive(context.Background(), delivery.Filter{User: i.users[0]}, false)
		require.NoError(t, err)
		require.Equal(t, 1.0, i.scrape(t)[`redrives_total{result="nothing"}`])
	})
}

func TestAFailureThatNobodyKnowsIsCounted(t *testing.T) {
	t.Parallel()
	a := wired(t)
	crowd(t, a, 1)
	odd := func(context.Context, resilience.Call, providers.Adapter) error { panic("an adapter's mistake") }
	c, err := a.store.Connection(context.Background(), 1, "listenbrainz")
	require.NoError(t, err)
	require.Error(t, a.guard.Do(context.Background(), providers.OfConnection(c, library.Listens), odd))
	all := a.scrape(t)
	require.Equal(t, 1.0, all[`unclassified_errors_total{provider="listenbrainz"}`])
	require.Equal(t, 1.0, all.Sum("unclassified_errors_total"))
}

func TestRefusedSignInsAreCountedWhereTheyWereMade(t *testing.T) {
	t.Parallel()
	a := wired(t)
	crowd(t, a, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond) // no time for a second try
	defer cancel()
	_, err := a.connections.Connect(ctx, a.registry.Get("listenbrainz"), library.Connection{User: 1,
		ID: "listenbrainz", Credentials: library.Credentials{"token": "new"}})
	require.Error(t, err)
	require.Equal(t, 1.0, a.scrape(t).Sum("upstream_attempts_total", `provider="listenbrainz"`,
		`outcome="retriable"`, "validate-token"))
	require.Zero(t, a.scrape(t).Sum("upstream_attempts_total", `"other"`, `outcome="retriable"`))
}
