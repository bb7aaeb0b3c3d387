package health

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/cluster"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/connections"
	"reprise/internal/words"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// endpoint returns an endpoint of a service with calls in each quarter of a day.
func endpoint(provider, name string, calls metrics.Tally) metrics.Health {
	h := metrics.Health{Provider: provider, Endpoint: name, Quarters: make([]metrics.Tally, 96)}
	for i := range h.Quarters {
		h.Quarters[i] = calls
		h.Day.Add(calls)
		if i >= 92 {
			h.Hour.Add(calls)
		}
	}
	return h
}

func build(l *words.Language, all ...metrics.Health) *builder {
	return &builder{l: l, ctx: words.With(context.Background(), l), now: noon, counted: counted{endpoints: all,
		from: noon.Add(-24 * time.Hour), to: noon}, name: func(id library.ConnectionID) string { return string(id) }}
}

var fine = metrics.Tally{Attempts: 3, Took: 240 * time.Millisecond}

func TestAHealthyServiceIsOneCalmLine(t *testing.T) {
	t.Parallel()
	v := build(words.English, endpoint("spotify", "GET api.spotify.com/v1/me", fine)).page()
	require.Equal(t, []string{"All services are working", "healthy"}, []string{v.Title, v.Shape})
	s := v.Services[0]
	require.Equal(t, []string{"Working", "100%", "80 ms"}, []string{s.Mark.Word, s.Answered, s.Typical})
	require.False(t, s.Open)
	require.True(t, s.Trouble.IsZero())
	require.Len(t, s.Strip.Slots, 48)
	require.Equal(t, "11:30–12:00 UTC: 6 requests, 0 failed", s.Strip.Slots[47].Words)
	require.Equal(t, "GET /v1/me", s.Endpoints[0].Name)
}

// TestTriesPerSuccessAreSaid: retries that still succeed are the first sign of trouble.
func TestTriesPerSuccessAreSaid(t *testing.T) {
	t.Parallel()
	said := func(l *words.Language, calls ...metrics.Tally) string {
		h := endpoint("spotify", "GET api.spotify.com/v1/me", fine)
		copy(h.Quarters[len(h.Quarters)-len(calls):], calls)
		return build(l, h, endpoint("spotify", "GET api.spotify.com/v1/x", metrics.Tally{})).page().Services[0].Tries
	}
	require.Equal(t, "Tries per success since 11:30: 1.0", said(words.English))
	bad := metrics.Tally{Attempts: 5, Failures: 3}
	require.Equal(t, "Tries per success since 11:30: 2.5", said(words.English, bad, bad))
	require.Equal(t, "Versuche je Erfolg seit 11:30: 2,5", said(words.German, bad, bad))
	require.Equal(t, "Tries per success since 11:30: 1.0", said(words.English, bad, fine, metrics.Tally{}))
	none := metrics.Tally{Attempts: 4, Failures: 4}
	require.Equal(t, "Tries since 11:30: 8, none successful", said(words.English, none, none))
	require.Equal(t, "Versuche seit 11:30: 8, keiner erfolgreich", said(words.German, none, none))
	require.Empty(t, said(words.English, metrics.Tally{}, metrics.Tally{}), "nothing was tried")
}

// The worst comes first, and what a card says counts more than what the calls say.
func TestTheStateIsTheWorstThatIsKnown(t *testing.T) {
	t.Parallel()
	for card, want := range map[string]string{"needs_admin": "Needs the administrator", "held": "On hold",
		"needs_reconnect": "Needs you", "paused": "Paused", "healthy": "Working", "syncing": "Working",
		"new": "Working", "": "Working"} {
		b := build(words.English, endpoint("lastfm", "POST x", fine), endpoint("spotify", "GET y/z", fine))
		b.standings = map[string]standing{"spotify": {card, "Because.", true}}
		v := b.page()
		at := map[string]int{"Working": 1, "Paused": 1}[want]
		require.Equal(t, want, v.Services[at].Mark.Word, card)
		require.Equal(t, "spotify", v.Services[at].ID, card)
		require.Equal(t, at == 1, v.Shape == "healthy", card)
	}
	b := build(words.English, endpoint("spotify", "GET y/z", fine))
	b.open = map[endpointKey][]transport.BreakerStatus{{"spotify", "GET y/z"}: {{State: transport.BreakerOpen,
		Endpoint: "GET y/z", Until: noon.Add(time.Minute)}}}
	b.standings = map[string]standing{"spotify": {"waiting", "It isn't responding.", true}}
	s := b.page().Services[0]
	require.Equal(t, "Not responding", s.Mark.Word)
	require.True(t, s.Open, "somebody wants to know why")
	require.Empty(t, s.Remarks[0].Reset, "only administrators reset")
	b.mayReset = true
	require.Equal(t, []string{"GET y/z"}, b.page().Services[0].Remarks[0].Reset)
}

// People know listens and playlists; the requests stand beside the sentence.
func TestRemarksAreAboutWhatPeopleKnow(t *testing.T) {
	t.Parallel()
	bad := metrics.Tally{Attempts: 5, Failures: 2}
	failing := func(name string) metrics.Health {
		h := endpoint("listenbrainz", name, bad)
		h.Trend, h.Usual = metrics.Failing, metrics.Tally{Attempts: 100, Failures: 1}
		return h
	}
	listens, count, token := failing("GET 127.0.0.1:44333/1/user/{name}/listens"),
		failing("GET 127.0.0.1:44333/1/user/{name}/listen-count"), failing("GET 127.0.0.1:44333/1/validate-token")
	for _, row := range []struct {
		l    *words.Language
		want []string
	}{
		{words.English, []string{
			"Reading listens: 40% of 40 requests failed in the last hour. Usually it's 1%.",
			"listenbrainz: 40% of 20 requests failed in the last hour. Usually it's 1%.",
			"Reading playlists: failed several times in a row. Next try: "}},
		{words.German, []string{
			"Wiedergaben lesen: 40 % von 40 Anfragen sind in der letzten Stunde fehlgeschlagen, sonst 1 %.",
			"listenbrainz: 40 % von 20 Anfragen sind in der letzten Stunde fehlgeschlagen, sonst 1 %.",
			"Playlists lesen: mehrmals hintereinander fehlgeschlagen. Nächster Versuch: "}},
	} {
		lists, made := "GET x/1/user/{name}/playlists", "GET x/1/user/{name}/playlists/createdfor"
		b := build(row.l, listens, count, token, endpoint("listenbrainz", lists, fine),
			endpoint("listenbrainz", made, fine))
		b.mayReset, b.open = true, map[endpointKey][]transport.BreakerStatus{}
		for _, e := range []string{lists, made} {
			b.open[endpointKey{"listenbrainz", e}] = []transport.BreakerStatus{{State: transport.BreakerOpen,
				Endpoint: e, Until: noon.Add(time.Minute)}}
		}
		remarks := map[string]remarkView{}
		for _, r := range b.page().Services[0].Remarks {
			require.NotContains(t, r.Text, "127.0.0.1")
			require.NotContains(t, r.Text, "/")
			for _, want := range row.want {
				if strings.HasPrefix(r.Text, want) {
					remarks[want] = r
				}
			}
		}
		require.Len(t, remarks, 3, "both requests about listens are one sentence")
		require.Equal(t, "GET /1/user/{name}/listens\nGET /1/user/{name}/listen-count", remarks[row.want[0]].Requests)
		require.Equal(t, []string{lists, made}, remarks[row.want[2]].Reset)
	}
}

// What is paused also fails more often: people read the cause, once, and the requests of both stand beside it.
func TestOneRemarkForOneStream(t *testing.T) {
	t.Parallel()
	const paused, shaky, slow = "GET x/1/user/{name}/listens", "GET x/1/user/{name}/listen-count", "GET x/1/y"
	bad := endpoint("listenbrainz", shaky, metrics.Tally{Attempts: 5, Failures: 2})
	bad.Trend = metrics.Failing
	slower := endpoint("listenbrainz", slow, fine)
	slower.Trend, slower.Usual = metrics.Slower, metrics.Tally{Attempts: 9}
	b := build(words.English, bad, endpoint("listenbrainz", paused, fine), slower)
	b.mayReset, b.open = true, map[endpointKey][]transport.BreakerStatus{
		{"listenbrainz", paused}: {{State: transport.BreakerOpen, Endpoint: paused, Until: noon.Add(time.Minute)}},
		{"listenbrainz", shaky}:  {{State: transport.BreakerHalfOpen, Endpoint: shaky}}}
	remarks := b.page().Services[0].Remarks
	require.Len(t, remarks, 2, "one for listens, one for the rest")
	require.Contains(t, remarks[0].Text, "Reading listens: failed several times in a row. Next try: ")
	require.NotContains(t, remarks[0].Text, "%")
	require.NotContains(t, remarks[0].Text, "0001", "an hour that is known")
	require.Equal(t, []string{paused, shaky}, remarks[0].Reset)
	require.Equal(t, "GET /1/user/{name}/listens\nGET /1/user/{name}/listen-count", remarks[0].Requests)
	require.Contains(t, remarks[1].Text, "a request takes 80 ms")
}

// Where several services have trouble, a person chooses which to look at.
func TestOnlyTheOneTroubledServiceIsOpen(t *testing.T) {
	t.Parallel()
	slow := func(provider string) metrics.Health {
		h := endpoint(provider, "GET y/z", fine)
		h.Trend = metrics.Slower
		return h
	}
	open := func(all ...metrics.Health) (names []string) {
		for _, s := range build(words.English, all...).page().Services {
			if s.Open {
				names = append(names, s.ID)
			}
		}
		return names
	}
	well := endpoint("lastfm", "GET y/z", fine)
	require.Empty(t, open(well))
	require.Equal(t, []string{"spotify"}, open(well, slow("spotify")))
	require.Empty(t, open(well, slow("spotify"), slow("youtube")))
}

func TestAStoppedServiceWithoutCallsIsListed(t *testing.T) {
	t.Parallel()
	b := build(words.English)
	b.standings = map[string]standing{"lastfm": {state: "needs_admin", why: "Its key is suspended."},
		"spotify": {state: "healthy"}}
	v := b.page()
	require.Len(t, v.Services, 1)
	require.Equal(t, "lastfm needs the administrator", v.Title)
	require.Empty(t, v.Services[0].Why, "the banner says it")
	require.Equal(t, "–", v.Services[0].Answered)
}

// The page counts in the words of the start page, and what only fails more often is not counted with it.
func TestHealthCountsAsTheStartPageDoes(t *testing.T) {
	t.Parallel()
	for l, want := range map[*words.Language]string{
		words.English: "2 services need you; Reprise is waiting for 2 others",
		words.German:  "2 Dienste brauchen dich; Reprise wartet auf 2 weitere"} {
		slow := endpoint("youtube", "GET y/z", fine)
		slow.Trend = metrics.Slower
		b := build(l, slow)
		b.standings = map[string]standing{"lastfm": {"needs_admin", "", true}, "spotify": {"needs_reconnect", "", true},
			"navidrome": {"waiting", "", true}, "listenbrainz": {"held", "", true}, "youtube": {"healthy", "", true}}
		v := b.page()
		require.Equal(t, want, v.Title)
		require.Equal(t, needsReconnect, v.Shape)
		delete(b.standings, "lastfm")
		delete(b.standings, "spotify")
		waits := connections.Needs{Time: []string{"listenbrainz", "navidrome"}}
		require.Equal(t, waits.Words(true).In(l), b.page().Title)
	}
}

func TestLastProblemAndTheFortnight(t *testing.T) {
	t.Parallel()
	b := build(words.English, endpoint("spotify", "GET y/z", fine))
	hour := func(ago int, t metrics.Tally) metrics.Quarter {
		return metrics.Quarter{Provider: "spotify", Start: noon.Add(-time.Duration(ago) * time.Hour), Tally: t}
	}
	b.hours = []metrics.Quarter{hour(200, metrics.Tally{Attempts: 4, Failures: 4, Open: 50 * time.Minute}),
		hour(100, metrics.Tally{Attempts: 12, Failures: 6}), hour(50, metrics.Tally{Attempts: 12, Failures: 1}),
		hour(1, metrics.Tally{Attempts: 12})}
	s := b.page().Services[0]
	require.Equal(t, noon.Add(-99*time.Hour), s.Trouble, "one failure of twelve is no problem")
	b.endpoints[0].Quarters = make([]metrics.Tally, 96)
	b.from = noon.Add(-24 * time.Hour)
	b.endpoints[0].Quarters[95] = metrics.Tally{Attempts: 4, Failures: 3}
	require.Equal(t, noon, b.page().Services[0].Trouble, "a short outage in a busy hour")
	looks := map[string]int{}
	for _, slot := range s.Fortnight.Slots {
		looks[slot.Outcome]++
	}
	require.Equal(t, map[string]int{"": 11, "full": 1, "fatal": 2, "retriable": 1}, looks)
	require.Contains(t, s.Fortnight.Slots[14].Words, "20 November 2026: 12 requests, 0 failed")
}

func TestOtherDaysAreShort(t *testing.T) {
	t.Parallel()
	for l, want := range map[*words.Language][]string{words.English: {"Now", "19 Nov", "18 Nov"},
		words.German: {"Jetzt", "19. Nov.", "18. Nov."}} {
		var labels []string
		for _, link := range build(l, endpoint("spotify", "GET y/z", fine)).page().Days[:3] {
			labels = append(labels, link.Label)
		}
		require.Equal(t, want, labels)
	}
}

func TestHealthSpeaksGerman(t *testing.T) {
	t.Parallel()
	v := build(words.German, endpoint("spotify", "GET y/z", metrics.Tally{Attempts: 40, Failures: 1,
		Took: time.Minute})).page()
	require.Equal(t, "Alle Dienste laufen", v.Title)
	require.Equal(t, []string{"Läuft", "97,5 %", "1,5 s"}, []string{v.Services[0].Mark.Word, v.Services[0].Answered,
		v.Services[0].Typical})
}

func TestNumbersOfHealthInWords(t *testing.T) {
	t.Parallel()
	b := build(words.English)
	for share, want := range map[float64]string{0: "0%", 0.0001: "0.1%", 0.013: "1.3%", 0.04: "4%", 0.0996: "10%",
		0.34: "34%", 0.996: "100%", 1: "100%"} {
		require.Equal(t, want, b.percent(share))
	}
	require.Equal(t, "99.9%", b.answered(metrics.Tally{Attempts: 100_000, Failures: 1}), "not all of them")
	require.Equal(t, "–", b.mean(metrics.Tally{}))
	for endpoint, want := range map[string]string{"GET api.spotify.com/v1/me": "GET /v1/me",
		"POST ws.audioscrobbler.com track.scrobble": "POST track.scrobble", "SMTP email": "SMTP email",
		"GET navidrome/rest/ping": "GET /rest/ping"} {
		require.Equal(t, want, withoutHost(endpoint))
	}
}

// A server that is gone comes last, with the time at which it was heard of: "just now" would say that it is there.
func TestLostServersComeLast(t *testing.T) {
	t.Parallel()
	ago := func(name string, d time.Duration) cluster.Server {
		return cluster.Server{ID: name, Name: name, Started: noon.Add(-time.Hour), Seen: noon.Add(-d)}
	}
	leader := ago("leader", time.Second)
	leader.Leads = true
	all := []cluster.Server{leader, ago("lost", 20*time.Second), ago("other", 0)}
	g := new(Handler).serversTable(t.Context(), all, noon)
	var b strings.Builder
	for _, row := range g.Rows {
		require.NoError(t, row.Cells[0].Render(t.Context(), &b))
		require.NoError(t, row.Cells[5].Render(t.Context(), &b))
	}
	require.Regexp(t, `(?s)leader.*"ago".*other.*"ago".*lost.*"at"`, b.String())
}
