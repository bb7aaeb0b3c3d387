package household

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/providers"
)

var friday = time.Date(2026, 11, 20, 21, 4, 0, 0, time.UTC)

// house returns a household that heard a song every half an hour of its evenings, known from Spotify and ListenBrainz.
func house() House {
	h := House{Seed: 1, Now: friday, Usual: func(string) time.Duration { return 80 * time.Millisecond },
		Provider: func(name string) *providers.Provider {
			return &providers.Provider{Description: providers.Description{Name: name, DisplayName: name,
				Streams: []string{library.Listens, library.Playlists}}}
		},
		Endpoints: []Endpoint{{"spotify", "GET /v1/me/player/recently-played", "recent"},
			{"spotify", "GET /v1/me", "me"}, {"lastfm", "POST user.getRecentTracks", "tracks"}}}
	p := Person{ID: 1, Name: "Alice"}
	for _, id := range []library.ConnectionID{"spotify", "lastfm", "listenbrainz", "navidrome"} {
		p.Connections = append(p.Connections, library.Connection{User: 1, ID: id, Generation: 2, Account: "alice"})
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 14 * 8 {
		late := time.Duration(i%8)*30*time.Minute + time.Duration(rnd.IntN(600))*time.Second
		at := friday.AddDate(0, 0, -i/8).Add(-late)
		p.Listens = append(p.Listens, library.StoredListen{ID: int64(i + 1), Listen: library.Listen{PlayedAt: at,
			Track: library.Track{Title: fmt.Sprint(i), Duration: 3 * time.Minute}},
			Sources: []library.Source{{Connection: "listenbrainz"}, {Connection: "spotify"}}})
	}
	h.People = []Person{p}
	return h
}

func TestThePastIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	require.Equal(t, Tell(house()), Tell(house()))
}

func TestRunsBringWhatWasHeard(t *testing.T) {
	t.Parallel()
	h := house()
	told := Tell(h)
	rows, last, failed := map[string]int{}, map[string]time.Time{}, 0
	for _, r := range told.Runs {
		if r.Stream == library.Listens {
			rows[string(r.Connection)] += r.Rows
		}
		key := string(r.Connection) + r.Stream
		require.True(t, r.Started.After(last[key]), "one after the other")
		require.True(t, r.Started.Before(friday))
		last[key] = r.Started
		if r.Result != "ok" {
			failed++
			require.NotEmpty(t, r.Words)
			require.Equal(t, "spotify", string(r.Connection), "the one with an incident in these two days")
		}
	}
	heard := 0
	for _, l := range h.People[0].Listens {
		if l.PlayedAt.After(friday.Add(-runsKept)) && l.PlayedAt.Before(friday.Add(-listensEvery)) {
			heard++
		}
	}
	require.InDelta(t, heard, rows["spotify"], 2)
	require.Zero(t, rows["listenbrainz"], "Spotify had told of them before")
	require.Positive(t, failed)
	for key, at := range last {
		require.Less(t, friday.Sub(at), playlistsEvery+2*time.Minute, "%s goes on until now", key)
	}
}

func TestCallsOfTwoWeeksShowTheOutages(t *testing.T) {
	t.Parallel()
	var spotify, lastfm metrics.Tally
	first := friday
	for _, q := range Tell(house()).Quarters {
		require.Equal(t, q.Start, q.Start.Truncate(metrics.QuarterLength))
		require.NotEqual(t, "me", q.Endpoint, "is called when somebody connects")
		require.LessOrEqual(t, q.Failures, q.Attempts)
		if q.Start.Before(first) {
			first = q.Start
		}
		if q.Provider == "spotify" {
			spotify.Add(q.Tally)
		} else {
			lastfm.Add(q.Tally)
		}
	}
	require.InDelta(t, Length.Hours(), friday.Sub(first).Hours(), 1)
	require.Greater(t, spotify.Open, 30*time.Minute)
	require.Less(t, spotify.FailureRate(), 0.01)
	require.Zero(t, lastfm.Open)
	require.Greater(t, lastfm.FailureRate(), spotify.FailureRate())
}

func TestEveryStopOfThePastWasMended(t *testing.T) {
	t.Parallel()
	told := Tell(house())
	require.Len(t, told.Notifications, 1)
	n := told.Notifications[0]
	require.Equal(t, "listenbrainz", string(n.Connection))
	require.True(t, n.CreatedAt.Before(n.AcknowledgedAt) && n.AcknowledgedAt.Before(n.ResolvedAt))
	require.Equal(t, "/connect/listenbrainz", n.Action.URL)
	var about []activity.Action
	for i, e := range told.Activity {
		require.False(t, i > 0 && e.At.Before(told.Activity[i-1].At), "the oldest first")
		if e.Connection == "listenbrainz" {
			about = append(about, e.Action)
		}
	}
	require.Equal(t, []activity.Action{activity.Stopped, activity.Reconnected, activity.Recovered}, about)
	var gaps []string
	for _, g := range told.Gaps {
		gaps = append(gaps, string(g.Connection))
	}
	require.ElementsMatch(t, []string{"listenbrainz", "navidrome"}, gaps)
	for _, d := range told.Deliveries {
		require.False(t, d.Ended.Before(d.Created))
	}
}

// What the log of activity tells of, the charts of the health page show on the same day.
func TestEachIncidentShowsInTheCalls(t *testing.T) {
	t.Parallel()
	h := house()
	seen := map[string]bool{}
	for _, e := range h.Endpoints {
		seen[e.Provider] = true
	}
	quarters, shown := Tell(h).Quarters, 0
	for _, in := range incidents(h.Now) {
		if !seen[in.provider] {
			continue
		}
		var all metrics.Tally
		hour := in.from.Truncate(time.Hour)
		for _, q := range quarters {
			if q.Provider == in.provider && !q.Start.Before(hour) && q.Start.Before(hour.Add(2*time.Hour)) {
				all.Add(q.Tally)
			}
		}
		require.True(t, all.Open > 0 || all.Failures > 1, "%s at %v", in.provider, in.from)
		shown++
	}
	require.GreaterOrEqual(t, shown, 3)
	for k, want := range map[kind]int{stopped: 2, held: 4} {
		q := metrics.Quarter{Tally: metrics.Tally{Attempts: 4}, Provider: "spotify"}
		(&teller{House: h, rnd: rand.New(rand.NewPCG(1, 1))}).tally(&q, &incident{kind: k}, true)
		require.GreaterOrEqual(t, q.Failures*2, q.Attempts)
		require.LessOrEqual(t, q.Failures, want)
	}
}
