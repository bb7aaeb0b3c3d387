package household

import (
	"strings"
	"time"

	"reprise/internal/metrics"
)

// rates are how often endpoints are called in a quarter of an hour, by a part of their route. The first that fits
// counts. An endpoint without one is called when somebody connects, and hardly ever otherwise.
var rates = []struct {
	part  string
	calls float64
	awake bool // only while somebody hears music
}{
	{"recently-played", 3, false}, {"getRecentTracks", 3, false}, {"/listens", 3, false}, {"/api/scrobble", 3, false},
	{"/v1/me/playlists", 1, false}, {"/user/{name}/playlists", 1, false}, {"getPlaylists", 1, false},
	{"playlistItems", 1, false}, {"youtube/v3/playlists", 1, false}, {"GET /playlists", 1, false},
	{"/items", 0.15, false}, {"getPlaylist", 0.15, false}, {"/1/playlist/{mbid}", 0.15, false},
	{"track.scrobble", 0.8, true}, {"/ws/2/recording", 0.5, true}, {"/ws/2/artist", 0.1, true},
	{"/ws/2/release-group", 0.1, true}, {"/v3/music", 0.1, true}, {"{picture}", 0.1, true},
	{"chat/completions", 1.0 / (7 * 96), true},
}

// oneIn is how many calls to a service that is well there are for each that fails.
const oneIn = 700

// quarters tells the calls of an endpoint.
func (t *teller) quarters(e Endpoint) {
	calls, awake := 0.0, false
	for _, r := range rates {
		if strings.Contains(e.Route, r.part) {
			calls, awake = r.calls, r.awake
			break
		}
	}
	if calls == 0 {
		return
	}
	people := t.connected(e.Provider)
	if people == 0 && !awake {
		return
	}
	now := t.Now.Truncate(metrics.QuarterLength)
	for at := now.Add(-Length + metrics.QuarterLength); at.Before(now); at = at.Add(metrics.QuarterLength) {
		rate := calls * float64(max(people, 1))
		if hour := at.In(t.Now.Location()).Hour(); awake && (hour < 7 || hour > 22) {
			continue
		}
		q := metrics.Quarter{Start: at.UTC(), Provider: e.Provider, Endpoint: e.Label}
		q.Attempts = int(rate + t.rnd.Float64())
		in := t.during(e.Provider, at.Add(metrics.QuarterLength/2))
		t.tally(&q, in, in != nil && at.Sub(in.from) < time.Hour)
		if q.Attempts+q.Refused > 0 || q.Open > 0 {
			t.past.Quarters = append(t.past.Quarters, q)
		}
	}
}

// tally says what came of the calls in a quarter of an hour. An incident that has just begun shows in calls that fail;
// later, nobody makes them any more.
func (t *teller) tally(q *metrics.Quarter, in *incident, begins bool) {
	took := t.Usual(q.Provider)
	if in != nil {
		switch in.kind {
		case down: // the breaker lets a call through now and then
			q.Refused, q.Attempts = q.Attempts, 1
			q.Failures, q.Open = 1, 14*time.Minute
			took = 9 * time.Second
		case slow:
			q.Failures = (q.Attempts + t.rnd.IntN(3)) / 3
			took *= 7
		case held:
			q.Failures = q.Attempts
		case stopped: // the other person's calls go on
			q.Attempts = max(q.Attempts/2, 1)
			if begins {
				q.Failures = (q.Attempts + 1) / 2
			}
		}
	}
	for range q.Attempts {
		if in == nil && t.rnd.IntN(oneIn) == 0 {
			q.Failures++
		}
		q.Took += t.around(took)
	}
}

// connected returns how many connections to a provider there are.
func (t *teller) connected(provider string) (n int) {
	for _, p := range t.People {
		for _, c := range p.Connections {
			if c.Provider() == provider {
				n++
			}
		}
	}
	return n
}
