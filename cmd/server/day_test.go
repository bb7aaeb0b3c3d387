package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/resilience/transport"
	"reprise/internal/soak"
)

// Five people use all services for a day. One API key is refused in the morning, the quota of another is spent at noon,
// and Last.fm is down for three hours. No attempt breaks a rule.
func TestADayOfAGoodGuest(t *testing.T) {
	inBubble(t, demo.Options{Plays: 60, Live: 5 * time.Minute}, func(t *testing.T, i *installation) {
		// On a Monday there is a week for a digest. At YouTube it is 16:00 the day before.
		began := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(began))
		i.people(soak.Count(t, 5, 2))
		require.NoError(t, i.digests.Switch(context.Background(), i.users[0], true))
		at := func(hour, minute int) time.Time {
			return began.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
		}
		until := func(hour int) { time.Sleep(time.Until(at(hour, 0))) }
		keys := i.world.YouTube.Keys
		first, last := lastFour(keys[0]), lastFour(keys[len(keys)-1])

		until(6) // the morning: the last key is refused, and not used again
		require.NoError(t, i.world.Switch(demo.YouTube, demo.KeyInvalid))
		until(9)
		require.NoError(t, i.world.Switch(demo.YouTube, demo.Normal))
		until(12) // noon: the first key's quota of the day is spent
		require.NoError(t, i.world.Switch(demo.YouTube, demo.KeySpent))
		until(15) // Last.fm goes down for three hours
		require.NoError(t, i.world.Switch(demo.LastFM, demo.Unavailable))
		until(18)
		require.NoError(t, i.world.Switch(demo.LastFM, demo.Normal))
		until(24)
		end := time.Now()
		i.log.hours(t, began)

		by := func(key, outcome string) func(attempt) bool {
			return func(a attempt) bool {
				return a.Provider == demo.YouTube && a.Key == key && (outcome == "" || a.Outcome == outcome)
			}
		}
		refused := i.log.of(at(6, 0), end, by(last, ""))
		require.Equal(t, "fatal", refused[0].Outcome)
		require.Len(t, refused, 1, "a key that was refused is not used again")
		spent := i.log.of(at(12, 0), end, by(first, ""))
		require.Equal(t, "quota", spent[0].Outcome)
		require.Len(t, spent, 1, "and one that is spent not before midnight Pacific, which is after this day")
		require.NotEmpty(t, i.log.of(at(12, 0), end, func(a attempt) bool {
			return a.Provider == demo.YouTube && a.Key != "" && a.Outcome == "success"
		}), "what it was asked for is asked with another")

		lastfm := func(a attempt) bool { return a.Provider == demo.LastFM && a.sent() }
		failed := i.log.of(at(15, 0), at(18, 0), lastfm)
		require.LessOrEqual(t, len(failed), 60, "five people, three hours")
		of := map[string][]attempt{}
		for _, a := range failed {
			of[a.Endpoint] = append(of[a.Endpoint], a)
		}
		for endpoint, all := range of { // the breaker is open from the fifth on, and one probe goes out at a time
			for n := 5; n+1 < len(all); n++ {
				require.GreaterOrEqual(t, all[n+1].At.Sub(all[n].At), time.Minute, "%s, attempt %d", endpoint, n)
			}
		}
		require.NotEmpty(t, i.log.of(at(18, 0), at(18, 40), func(a attempt) bool {
			return lastfm(a) && a.Outcome == "success"
		}))
		for _, b := range i.server.Breakers.Status() {
			require.Equal(t, transport.BreakerClosed, b.State, b.Endpoint)
		}

		to := func(provider string) []attempt {
			return i.log.of(began, end, func(a attempt) bool { return a.Provider == provider })
		}
		apart(t, to(demo.ListenBrainz))
		apart(t, to(demo.MusicBrainz))
		require.NotEmpty(t, to(demo.FanartTV))
		require.Len(t, to(demo.OpenAI), 1, "one person, one week")
		counted := i.scrape(t)
		for key, n := range counted {
			require.False(t, n > 0 && strings.Contains(key, `"other"`),
				"%s is %v: an endpoint is missing in its adapter's list", key, n)
		}
		all := func(attempt) bool { return true }
		require.Equal(t, float64(len(i.log.of(time.Time{}, end, all))), counted.Sum("upstream_attempts_total"),
			"every attempt is counted once")
		for _, user := range i.users[1:] {
			require.Empty(t, i.open(user), "nobody but the administrator had to know anything")
		}
		for n, user := range i.users {
			listens, err := i.store.CountListens(context.Background(), user)
			require.NoError(t, err)
			require.Greater(t, listens, 0, "person %d", n)
		}
	})
}

// apart requires at least a second between two attempts.
func apart(t *testing.T, all []attempt) {
	t.Helper()
	require.Greater(t, len(all), 100)
	for n := 1; n < len(all); n++ {
		require.GreaterOrEqual(t, all[n].At.Sub(all[n-1].At), time.Second-time.Millisecond, "attempts %d and %d",
			n-1, n)
	}
}

func lastFour(key string) string { return key[len(key)-4:] }
